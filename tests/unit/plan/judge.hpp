#pragma once
// Judges mutants of a plan. Every mutant must be refused by the verifier on one of the launches, or be shown to be no
// fault by an argument that does not rest on the verifier's checks of results and races:
//
//   - identical trace: every lane of every rank does the same, the same addresses, messages and flags in the same
//   order;
//   - equal values: the same acquires and publishes in each lane, the same messages and outputs, expression by
//     expression; only where an operand was read from, or the order of two summands, differs;
//   - exchanged steps: the same messages in every FIFO, the same posts, the same outputs; only the order within lanes
//     differs;
//   - unread contents: the same messages by number and length, the same posts and outputs; what differs in a message
//     reaches no output (the byte of a barrier);
//   - another order of sums: the same messages by number and length and the same posts, each contribution once.
//
// All but the first must moreover compute the right values on the reference machine (integers, several schedules, the
// same slots), which shares no code with the verifier.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "mutants.hpp"
#include "plan/verify/cases.hpp"
#include "plan/verify/expression.hpp"
#include "plan/verify/layout.hpp"
#include "reference_machine.hpp"

namespace rondo::plan::mutation {

/// A launch and the number of slots to run it with.
struct Trial {
    Launch launch;
    std::int32_t slots = 1;
};

/// Launches that tell mutants apart: one tile, several with a tail that leaves parts empty, in place.
inline std::vector<Trial> trials(std::span<const Plan> plans, std::int32_t least_slots) {
    std::vector<Trial> list;
    const std::int64_t parts = plans[0].parts;
    for (const std::int32_t slots : {least_slots, least_slots + 1}) {
        list.push_back({make_launch(plans, {.tiles = 2 * slots + 1, .tail = 3 * parts - 1, .chunk = 3}), slots});
        list.push_back({make_launch(plans, {.tiles = 1, .chunk = 4, .align = 2}), slots});
        list.push_back({make_launch(plans, {.tiles = 1, .tail = 1, .chunk = 3}), slots});
        if (has_in_place(plans[0].collective)) {
            list.push_back(
                {make_launch(plans, {.tiles = slots + 1, .tail = parts + 1, .chunk = 3, .in_place = true}), slots});
        }
    }
    return list;
}

/// Runs plans on the reference machine and compares every output with its definition.
class ReferenceCheck {
public:
    ReferenceCheck(std::span<const Plan> plans, const Trial& trial) : plans_(plans), trial_(trial) {}

    /// Empty where all is right, else what is wrong.
    std::string operator()() {
        using reference::Order;
        for (const Order order : {Order::RoundRobin, Order::FirstLanes, Order::LastLanes, Order::Random}) {
            try {
                run(order);
            } catch (const std::exception& error) {
                return error.what();
            }
        }
        return {};
    }

private:
    using Word = reference::Word;

    static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
    static Word input_word(Rank rank, std::int64_t element) {
        return detail::mix(static_cast<Word>(rank) << 32U | static_cast<Word>(element));
    }
    [[nodiscard]] const Launch& launch() const { return trial_.launch; }

    void run(reference::Order order) {
        const bool tables = detail::has_tables(plans_[0].collective);
        std::vector<std::vector<Word>> first;
        std::vector<std::vector<Word>> second;
        std::vector<reference::Buffers> buffers;
        for (const Plan& plan : plans_) {
            const auto in = input_size(plan, launch());
            const auto out = output_size(plan, launch());
            const detail::Alias alias = detail::alias_of(plan, launch());
            const std::int64_t in_base = std::max<std::int64_t>(alias.shift, 0);
            const std::int64_t out_base = std::max<std::int64_t>(-alias.shift, 0);
            first.emplace_back(at(alias.aliased ? std::max(in_base + in, out_base + out) : in), kUntouched);
            second.emplace_back(at(alias.aliased ? 0 : out), kUntouched);
            for (std::int64_t e = 0; e < in; ++e) first.back()[at(in_base + e)] = input_word(plan.rank, e);
            auto& mine = buffers.emplace_back();
            mine.input = std::span(first.back()).subspan(at(in_base), at(in));
            mine.output =
                alias.aliased ? std::span(first.back()).subspan(at(out_base), at(out)) : std::span(second.back());
            if (!tables) continue;
            const RankTables& table = launch().tables[at(plan.rank)];
            mine.input_extents = {table.input.length, table.input.offset};
            mine.output_extents = {table.output.length, table.output.offset};
        }
        reference::Machine machine(plans_, buffers,
                                   {.count = launch().count,
                                    .chunk = launch().chunk,
                                    .align = launch().align,
                                    .slots = static_cast<std::size_t>(trial_.slots)});
        machine.run(order, 17);
        for (const Plan& plan : plans_) check_output(plan.rank, buffers[at(plan.rank)].output);
        for (const Plan& plan : plans_) {
            if (detail::alias_of(plan, launch()).aliased) continue;
            const auto input = buffers[at(plan.rank)].input;
            for (std::int64_t e = 0; e < static_cast<std::int64_t>(input.size()); ++e) {
                if (input[at(e)] != input_word(plan.rank, e)) throw std::runtime_error("an input has changed");
            }
        }
    }

    void check_output(Rank rank, std::span<const Word> output) const {
        std::vector<Word> expected(output.size(), kUntouched);
        const Plan& plan = plans_[at(rank)];
        const std::int64_t count = launch().count;
        switch (plan.collective) {
            case Collective::AllReduce:
            case Collective::Reduce: sum(expected, 0); break;
            case Collective::ReduceScatter: sum(expected, rank * count); break;
            case Collective::Broadcast: copy(expected, 0, plan.root, 0, count); break;
            case Collective::AllGather:
                for (Rank q = 0; q < plan.nranks; ++q) copy(expected, q * count, q, 0, count);
                break;
            case Collective::AllToAll:
                for (Rank q = 0; q < plan.nranks; ++q) copy(expected, q * count, q, rank * count, count);
                break;
            case Collective::AllToAllV:
                for (Rank q = 0; q < plan.nranks; ++q) {
                    const ExtentTable& out = launch().tables[at(rank)].output;
                    copy(expected, out.offset[at(q)], q, launch().tables[at(q)].input.offset[at(rank)],
                         out.length[at(q)]);
                }
                break;
            case Collective::SendRecv: throw std::logic_error("groups are judged elsewhere");
            case Collective::Barrier: break;
        }
        if (!std::ranges::equal(expected, output))
            throw std::runtime_error("wrong output on rank " + std::to_string(rank));
    }

    void sum(std::vector<Word>& expected, std::int64_t from) const {
        for (std::size_t e = 0; e < expected.size(); ++e) {
            expected[e] = 0;
            for (const Plan& plan : plans_) {
                expected[e] += input_word(plan.rank, from + static_cast<std::int64_t>(e)) * reference::kPre;
            }
            expected[e] *= reference::kPost;
        }
    }

    static void copy(std::vector<Word>& expected, std::int64_t to, Rank rank, std::int64_t from, std::int64_t length) {
        for (std::int64_t e = 0; e < length; ++e) expected[at(to + e)] = input_word(rank, from + e);
    }

    static constexpr Word kUntouched = 0x5a5a5a5a5a5a5a5aU;

    std::span<const Plan> plans_;
    const Trial& trial_;
};

struct Judgement {
    bool refused = false;
    std::string reason{};  ///< why it is no fault; empty where there is no argument
    std::string note{};    ///< the violation, or what the reference machine says
};

/// Counts of one shape.
struct Counts {
    std::int64_t mutants = 0;
    std::int64_t refused = 0;
    std::map<std::string, std::int64_t> equivalent{};  ///< by reason
    std::vector<std::string> unexplained{};

    void add(const std::string& what, const Judgement& judgement) {
        ++mutants;
        if (judgement.refused) {
            ++refused;
        } else if (!judgement.reason.empty()) {
            ++equivalent[judgement.reason];
        } else {
            unexplained.push_back(what + ": " + judgement.note);
        }
    }
};

class Judge {
public:
    /// `plans` verify for all FIFOs with at least `least_slots` slots.
    Judge(std::vector<Plan> plans, std::int32_t least_slots)
        : plans_(std::move(plans)), trials_(trials(plans_, least_slots)) {
        for (const Trial& trial : trials_) {
            originals_.push_back(run(trial));
            if (!originals_.back().ok)
                throw std::runtime_error("the original is refused: " + originals_.back().violation);
        }
    }

    Judgement judge(const Plan& mutant) {
        const auto rank = static_cast<std::size_t>(mutant.rank);
        const Plan original = std::exchange(plans_[rank], mutant);
        const Judgement judgement = judge();
        plans_[rank] = original;
        return judgement;
    }

    /// Judges all mutants of the plan of `rank`.
    void count(Rank rank, Counts& counts) {
        const Plan original = plans_[static_cast<std::size_t>(rank)];
        for (const Mutant& mutant : mutants_of(original)) {
            counts.add("n=" + std::to_string(plans_.size()) + " rank " + std::to_string(rank) + ", " + mutant.what,
                       judge(mutant.plan));
        }
    }

private:
    [[nodiscard]] Report run(const Trial& trial) const {
        const Operation operation{plans_, trial.launch};
        return verify(std::span(&operation, 1), {.slots = trial.slots, .fingerprints = true, .max_operands = 1 << 20});
    }

    Judgement judge() {
        int level = 0;
        std::vector<Report> reports;
        for (const Trial& trial : trials_) {
            reports.push_back(run(trial));
            if (!reports.back().ok) return {.refused = true, .note = reports.back().violation};
        }
        for (std::size_t t = 0; t < trials_.size(); ++t) {
            level = std::max(level, difference(originals_[t].fingerprints, reports[t].fingerprints));
        }
        if (level == 0) return {.reason = "identical trace"};
        if (level > 4) return {.note = "accepted, although its messages or posts differ"};
        for (const Trial& trial : trials_) {
            const std::string wrong = ReferenceCheck(plans_, trial)();
            if (!wrong.empty()) return {.note = "accepted, but on the reference machine: " + wrong};
        }
        static constexpr std::array kReasons{"", "equal values", "exchanged steps", "unread contents",
                                             "another order of sums"};
        return {.reason = kReasons[static_cast<std::size_t>(level)]};
    }

    static int difference(const Fingerprints& a, const Fingerprints& b) {
        if (a.lengths != b.lengths || a.counters != b.counters) return 5;
        if (a.outputs != b.outputs) return 4;
        if (a.messages != b.messages) return 3;
        if (a.syncs != b.syncs) return 2;
        return a.trace != b.trace ? 1 : 0;
    }

    std::vector<Plan> plans_;
    std::vector<Trial> trials_;
    std::vector<Report> originals_;
};

}  // namespace rondo::plan::mutation
