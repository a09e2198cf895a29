#include "plan/verify/goals.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "plan/verify/layout.hpp"

namespace rondo::plan::detail {

namespace {

/// An interval of a block of an output, positions relative to the output, with what it holds.
struct Piece {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Value value{};  ///< element x of the output holds element x + shift
};

class Checker {
public:
    Checker(const Machine& machine, const Operation& operation, std::int32_t index, const VerifyOptions& options,
            Report& report)
        : machine_(machine),
          operation_(operation),
          index_(index),
          options_(options),
          report_(report),
          launch_(operation.launch),
          nranks_(static_cast<Rank>(operation.plans.size())) {}

    void check() {
        switch (operation_.plans[0].collective) {
            case Collective::AllReduce: all_ranks_alike(); break;
            case Collective::Reduce: reduction(operation_.plans[0].root, 0); break;
            case Collective::Broadcast: broadcast(); break;
            case Collective::AllGather: all_gather(); break;
            case Collective::ReduceScatter:
                for (Rank rank = 0; rank < nranks_; ++rank) reduction(rank, rank * launch_.count);
                break;
            case Collective::AllToAll: all_to_all(); break;
            case Collective::AllToAllV: all_to_all_v(); break;
            case Collective::SendRecv: send_recv(); break;
            case Collective::Barrier: break;
        }
    }

private:
    [[noreturn]] void refuse(Rank rank, std::string what) const {
        throw Violation{{.operation = index_, .rank = rank}, std::move(what)};
    }

    /// What `length` elements of the output of `rank` from `begin` on hold, as far as the window goes.
    std::vector<Piece> pieces(Rank rank, std::int64_t begin, std::int64_t length) const {
        std::vector<Piece> found;
        const UserBuffers& user = machine_.user(index_, rank);
        const std::int64_t base = user.base(Buffer::Output);
        const auto look = [&](std::int64_t from, std::int64_t to) {
            user.memory(Buffer::Output).visit(base + from, base + to, [&](std::int64_t b, std::int64_t e, Value value) {
                value.shift += base;
                b -= base;
                e -= base;
                if (!found.empty() && found.back().end == b && found.back().value == value) {
                    found.back().end = e;
                } else {
                    found.push_back({b, e, value});
                }
            });
        };
        if (options_.window.empty()) {
            look(begin, begin + length);
        } else {
            for (const Range& window : options_.window) {
                const Range both{std::max<std::int64_t>(window.begin, 0), std::min(window.end, length)};
                if (!both.empty()) look(begin + both.begin, begin + both.end);
            }
        }
        return found;
    }

    void note(Rank rank, const Piece& piece) {
        if (!options_.fingerprints) return;
        std::uint64_t hash = mix(static_cast<std::uint64_t>(index_), static_cast<std::uint64_t>(rank));
        for (const std::int64_t field : {piece.begin, piece.end, piece.value.shift}) {
            hash = mix(hash, static_cast<std::uint64_t>(field));
        }
        report_.fingerprints.outputs += mix(hash, machine_.expressions()[piece.value.expr].hash);
    }

    /// Output element x holds the whole reduction of element x + shift of the inputs.
    std::vector<Piece> reduction(Rank rank, std::int64_t shift) {
        const Expressions& expressions = machine_.expressions();
        std::vector<Piece> found = pieces(rank, 0, launch_.count);
        for (const Piece& piece : found) {
            const Expr& expr = expressions[piece.value.expr];
            if (expr.kind == ExprKind::Unfollowed && !followed(rank)) continue;
            if (expr.kind != ExprKind::Post || expr.leaves != nranks_ || expr.operation != index_) {
                refuse(rank, fmt::format("output elements {}..{} hold {}; expected is the sum of all {} contributions "
                                         "with the final factor{}",
                                         piece.begin, piece.end, expressions.text(piece.value.expr), nranks_,
                                         missing(piece.value.expr)));
            }
            if (piece.value.shift != shift) {
                refuse(rank,
                       fmt::format("output elements {}..{} hold the sum of elements {}..{} of the inputs; expected "
                                   "are {}..{}",
                                   piece.begin, piece.end, piece.begin + piece.value.shift,
                                   piece.end + piece.value.shift, piece.begin + shift, piece.end + shift));
            }
            report_.rounding_nodes = std::max(report_.rounding_nodes, expr.nodes);
            report_.rounding_adds = std::max(report_.rounding_adds, expr.adds);
            note(rank, piece);
        }
        return found;
    }

    std::string missing(ExprId id) const {
        const std::vector<Rank> ranks = machine_.expressions().contributors(id);
        if (ranks.empty() || ranks.size() == static_cast<std::size_t>(nranks_)) return {};
        for (Rank rank = 0; rank < nranks_; ++rank) {
            if (!std::ranges::binary_search(ranks, rank)) return fmt::format("; rank {}'s is missing", rank);
        }
        return {};
    }

    void all_ranks_alike() {
        const std::vector<Piece> first = reduction(0, 0);
        for (Rank rank = 1; rank < nranks_; ++rank) {
            const std::vector<Piece> here = reduction(rank, 0);
            std::size_t a = 0;
            std::size_t b = 0;
            while (a < first.size() && b < here.size()) {
                if (first[a].value != here[b].value) {
                    refuse(rank,
                           fmt::format("output elements {}..{} are added in another order than on rank 0: their bits "
                                       "may differ",
                                       std::max(first[a].begin, here[b].begin), std::min(first[a].end, here[b].end)));
                }
                const std::int64_t end = std::min(first[a].end, here[b].end);
                if (first[a].end == end) ++a;
                if (here[b].end == end) ++b;
            }
        }
    }

    /// `length` output elements of `rank` from `begin` on are input elements of `source` from `from` on.
    void copy(Rank rank, std::int64_t begin, std::int64_t length, Rank source, std::int64_t from) {
        const Expressions& expressions = machine_.expressions();
        for (const Piece& piece : pieces(rank, begin, length)) {
            const Expr& expr = expressions[piece.value.expr];
            if (piece.value.expr == kUnfollowed && !followed(source)) continue;
            const bool right = expr.kind == ExprKind::Leaf && expr.operation == index_ && expr.rank == source &&
                               piece.value.shift == from - begin && piece.value.element == Element::Data;
            if (!right) {
                const std::string held =
                    piece.value.expr == kNothing
                        ? std::string("nothing")
                        : fmt::format("elements {}..{} of {}", piece.begin + piece.value.shift,
                                      piece.end + piece.value.shift, expressions.text(piece.value.expr));
                refuse(rank,
                       fmt::format("output elements {}..{} hold {}; expected are elements {}..{} of rank {}'s input",
                                   piece.begin, piece.end, held, piece.begin + from - begin, piece.end + from - begin,
                                   source));
            }
            note(rank, piece);
        }
    }

    bool followed(Rank rank) const {
        return options_.followed.empty() || std::ranges::find(options_.followed, rank) != options_.followed.end();
    }

    void broadcast() {
        for (Rank rank = 0; rank < nranks_; ++rank) copy(rank, 0, launch_.count, operation_.plans[0].root, 0);
    }

    void all_gather() {
        for (Rank rank = 0; rank < nranks_; ++rank) {
            for (Rank source = 0; source < nranks_; ++source) {
                copy(rank, source * launch_.count, launch_.count, source, 0);
            }
        }
    }

    void all_to_all() {
        for (Rank rank = 0; rank < nranks_; ++rank) {
            for (Rank source = 0; source < nranks_; ++source) {
                copy(rank, source * launch_.count, launch_.count, source, rank * launch_.count);
            }
        }
    }

    void copy_block(Rank rank, std::size_t to, Rank source, std::size_t from) {
        const ExtentTable& out = table_of(launch_, rank, Buffer::Output);
        const ExtentTable& in = table_of(launch_, source, Buffer::Input);
        if (out.length[to] != in.length[from]) {
            refuse(rank, fmt::format("expects {} elements from rank {}, which sends {}", out.length[to], source,
                                     in.length[from]));
        }
        copy(rank, out.offset[to], out.length[to], source, in.offset[from]);
    }

    void all_to_all_v() {
        for (Rank rank = 0; rank < nranks_; ++rank) {
            for (Rank source = 0; source < nranks_; ++source) {
                copy_block(rank, static_cast<std::size_t>(source), source, static_cast<std::size_t>(rank));
            }
        }
    }

    /// The k-th send to a rank meets the k-th receive there.
    void send_recv() {
        std::map<std::pair<Rank, Rank>, std::vector<std::size_t>> sends;
        for (Rank rank = 0; rank < nranks_; ++rank) {
            const auto& ops = launch_.tables[static_cast<std::size_t>(rank)].ops;
            for (std::size_t i = 0; i < ops.size(); ++i) {
                if (ops[i].send) sends[{rank, ops[i].peer}].push_back(i);
            }
        }
        std::map<std::pair<Rank, Rank>, std::size_t> taken;
        for (Rank rank = 0; rank < nranks_; ++rank) {
            const auto& ops = launch_.tables[static_cast<std::size_t>(rank)].ops;
            for (std::size_t i = 0; i < ops.size(); ++i) {
                if (ops[i].send) continue;
                const std::vector<std::size_t>& from = sends[{ops[i].peer, rank}];
                const std::size_t k = taken[{ops[i].peer, rank}]++;
                if (k >= from.size())
                    refuse(rank, fmt::format("receives more often from rank {} than it sends", ops[i].peer));
                copy_block(rank, i, ops[i].peer, from[k]);
            }
        }
        for (const auto& [pair, list] : sends) {
            if (taken[pair] != list.size()) {
                refuse(pair.first, fmt::format("sends {} times to rank {}, which receives {} times", list.size(),
                                               pair.second, taken[pair]));
            }
        }
    }

    const Machine& machine_;
    const Operation& operation_;
    std::int32_t index_;
    const VerifyOptions& options_;
    Report& report_;
    const Launch& launch_;
    Rank nranks_;
};

}  // namespace

void check_goals(const Machine& machine, std::span<const Operation> operations, const VerifyOptions& options,
                 Report& report) {
    for (std::size_t o = 0; o < operations.size(); ++o) {
        Checker(machine, operations[o], static_cast<std::int32_t>(o), options, report).check();
    }
}

}  // namespace rondo::plan::detail
