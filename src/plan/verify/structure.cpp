#include "plan/verify/structure.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "plan/verify/layout.hpp"
#include "plan/verify/machine.hpp"

namespace rondo::plan::detail {

namespace {

bool is_message(const Operand& operand) { return operand.place == Place::Inbox || operand.place == Place::Outbox; }

/// Checks one plan; knows where it is.
class PlanChecker {
public:
    PlanChecker(const Plan& plan, std::int32_t operation) : plan_(plan) {
        where_.operation = operation;
        where_.rank = plan.rank;
    }

    void check() {
        require(plan_.parts >= 1 && plan_.parts <= kMaxRepeat, "parts", plan_.parts, 1, kMaxRepeat);
        require(plan_.message_parts >= 1 && plan_.message_parts <= kMaxRepeat, "message_parts", plan_.message_parts, 1,
                kMaxRepeat);
        require(plan_.scratch_blocks >= 0 && plan_.scratch_blocks <= kMaxRepeat, "scratch_blocks", plan_.scratch_blocks,
                0, kMaxRepeat);
        const auto channels = static_cast<std::int64_t>(plan_.channels.size());
        require(channels >= 1 && channels <= kMaxChannels, "the number of channels", channels, 1, kMaxChannels);
        for (std::size_t c = 0; c < plan_.channels.size(); ++c) {
            where_.channel = static_cast<std::int32_t>(c);
            where_.lane = -1;
            const auto lanes = static_cast<std::int64_t>(plan_.channels[c].lanes.size());
            require(lanes <= kMaxLanes, "the number of lanes", lanes, 0, kMaxLanes);
            for (std::size_t l = 0; l < plan_.channels[c].lanes.size(); ++l) {
                where_.lane = static_cast<std::int32_t>(l);
                check_lane(plan_.channels[c].lanes[l]);
            }
        }
    }

private:
    [[noreturn]] void refuse(std::string what) const { throw Violation{where_, std::move(what)}; }

    void require(bool holds, std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) const {
        if (!holds) refuse(fmt::format("{} is {}, allowed are {} to {}", name, value, least, most));
    }

    void check_lane(const Lane& lane) {
        for (std::size_t b = 0; b < lane.blocks.size(); ++b) {
            const Block& block = lane.blocks[b];
            where_.block = static_cast<std::int32_t>(b);
            where_.step = -1;
            const bool counts =
                block.loop >= 0 && block.loop < kMaxLoops && (block.loop == 0 || block.when == When::EachTile);
            require(counts, "loop", block.loop, 0, block.when == When::EachTile ? kMaxLoops - 1 : 0);
            require(block.repeat >= 0 && block.repeat <= kMaxRepeat, "repeat", block.repeat, 0, kMaxRepeat);
            repeat_ = block.repeat;
            when_ = block.when;
            for (std::size_t s = 0; s < block.steps.size(); ++s) {
                where_.step = static_cast<std::int32_t>(s);
                check_step(block.steps[s]);
            }
        }
        where_.block = where_.step = -1;
    }

    void check_step(const Step& step) {
        require(step.rows >= 1 && step.rows <= kMaxRepeat, "rows", step.rows, 1, kMaxRepeat);
        require(step.width >= 1 && step.width <= plan_.parts, "width", step.width, 1, plan_.parts);
        rows_ = step.rows;
        if (step.kind == Kind::Move) {
            check_move(step);
        } else {
            check_sync(step);
        }
        check_operands(step, step.srcs, true);
        check_operands(step, step.dsts, false);
    }

    void check_move(const Step& step) const {
        if (when_ != When::EachTile) refuse("a move outside the tile loop has no tile to move");
        if (step.dsts.empty() || step.srcs.empty()) refuse("a move needs at least one source and one destination");
        check_index(step.part, 1, "part", 0, plan_.parts - step.width);
        std::int64_t sources = 0;
        for (const Operand& operand : step.srcs) sources += operand.place == Place::Multicast ? 2 : operand.fan;
        if (!reduces(plan_.collective) && sources > 1) {
            refuse(fmt::format("combines {} sources, but {} reduces nothing", sources, name_of(plan_.collective)));
        }
        if (!reduces(plan_.collective) && step.post) {
            refuse(fmt::format("applies the final factor, but {} reduces nothing", name_of(plan_.collective)));
        }
    }

    void check_sync(const Step& step) const {
        const bool posts = step.kind == Kind::Post;
        const auto& used = posts ? step.dsts : step.srcs;
        const auto& unused = posts ? step.srcs : step.dsts;
        if (used.empty() || !unused.empty() || step.rows != 1 || step.post) {
            refuse(posts ? "a post needs counters as destinations, and nothing else"
                         : "a wait needs counters as sources, and nothing else");
        }
        for (std::size_t i = 0; posts && i < used.size(); ++i) {
            for (std::size_t k = i + 1; k < used.size(); ++k) {
                if (used[i].tag == used[k].tag)
                    refuse(fmt::format("a post advances the same counter (tag {}) twice", used[i].tag));
            }
        }
    }

    void check_operands(const Step& step, const std::vector<Operand>& operands, bool sources) {
        for (std::size_t i = 0; i < operands.size(); ++i) {
            name_ = fmt::format("{}[{}]", sources ? "srcs" : "dsts", i);
            const Operand& operand = operands[i];
            if (operand.fan < 1 || operand.fan > kMaxRepeat) {
                refuse(fmt::format("{}: fan is {}, allowed are 1 to {}", name_, operand.fan, kMaxRepeat));
            }
            if (operand.tag >= kMaxTags) {
                refuse(fmt::format("{}: tag is {}, allowed are 0 to {}", name_, operand.tag, kMaxTags - 1));
            }
            check_place(step, operand, sources);
            check_flags(operand, sources);
            if (operand.place != Place::Local && operand.place != Place::Multicast) {
                check_index(operand.peer, operand.fan, name_ + ".peer", 0, plan_.nranks - 1);
            }
            if (is_message(operand)) {
                check_index(operand.piece, operand.fan, name_ + ".piece", 0, plan_.message_parts - 1);
            } else {
                check_fields(operand.block, name_ + ".block");
            }
        }
    }

    void check_place(const Step& step, const Operand& operand, bool source) const {
        if ((operand.place == Place::Counter) != (step.kind != Kind::Move)) {
            refuse(fmt::format("{}: counters belong to posts and waits, everything else to moves", name_));
        }
        if (operand.place == (source ? Place::Outbox : Place::Inbox)) {
            refuse(fmt::format("{}: {} cannot be a {}", name_, source ? "an outbox" : "an inbox",
                               source ? "source" : "destination"));
        }
        const bool buffer =
            operand.place == Place::Local || operand.place == Place::Peer || operand.place == Place::Multicast;
        if (buffer && !source && operand.buffer == Buffer::Input) {
            refuse(fmt::format("{}: an input is never written", name_));
        }
        if (buffer && operand.buffer != Buffer::Scratch && operand.element != Element::Data) {
            refuse(fmt::format("{}: the user's buffers hold data elements", name_));
        }
        if (operand.place == Place::Multicast && has_tables(plan_.collective)) {
            refuse(fmt::format("{}: no multicast where the extents differ between ranks", name_));
        }
        if (is_message(operand) && step.rows > 1 && operand.peer.cj != 0) {
            refuse(fmt::format("{}: the rows of a step share their messages, so the peer cannot depend on the row",
                               name_));
        }
    }

    void check_flags(const Operand& operand, bool source) const {
        if ((operand.acquire || operand.publish) && !is_message(operand)) {
            refuse(fmt::format("{}: only inboxes and outboxes are acquired and published", name_));
        }
        if (!operand.pre) return;
        if (!source || !reduces(plan_.collective)) {
            refuse(fmt::format("{}: the premultiplier belongs to a source in a reduction", name_));
        }
    }

    void check_fields(const Index& index, std::string_view name) const {
        for (const std::int32_t field : {index.base, index.scale, index.c0, index.cs, index.cj, index.cf, index.mod}) {
            if (field < -kMaxIndexField || field > kMaxIndexField) {
                refuse(fmt::format("{}: a coefficient is {}, allowed are -{} to {}", name, field, kMaxIndexField,
                                   kMaxIndexField));
            }
        }
        if (index.mod < 0) refuse(fmt::format("{}: mod is {}, allowed are 0 (none) and more", name, index.mod));
    }

    /// True where the remainder alone keeps the index in [least, most], whatever s, j and f are.
    static bool within(const Index& index, std::int64_t least, std::int64_t most) {
        if (index.mod == 0) return false;
        const std::int64_t last = index.base + std::int64_t{index.scale} * (index.mod - 1);
        return std::min<std::int64_t>(index.base, last) >= least && std::max<std::int64_t>(index.base, last) <= most;
    }

    /// Every value of the index lies in [least, most].
    void check_index(const Index& index, std::int64_t fan, std::string_view name, std::int64_t least,
                     std::int64_t most) const {
        check_fields(index, name);
        const std::int64_t repeats = index.cs != 0 ? repeat_ : std::min(repeat_, 1);
        const std::int64_t rows = index.cj != 0 ? rows_ : 1;
        const std::int64_t fans = index.cf != 0 ? fan : 1;
        if (repeats * rows > kMaxIndexField || repeats * rows * fans > kMaxIndexField) {
            refuse(fmt::format("{}: takes more than {} values", name, kMaxIndexField));
        }
        if (within(index, least, most)) return;
        for (std::int64_t s = 0; s < repeats; ++s) {
            for (std::int64_t j = 0; j < rows; ++j) {
                for (std::int64_t f = 0; f < fans; ++f) {
                    const std::int64_t value = index.at(s, j, f);
                    if (value >= least && value <= most) continue;
                    refuse(fmt::format("{} is {} (s={}, j={}, f={}), allowed are {} to {}", name, value, s, j, f, least,
                                       most));
                }
            }
        }
    }

    const Plan& plan_;
    PlanLocation where_{};
    When when_ = When::EachTile;
    std::int32_t repeat_ = 1;
    std::int32_t rows_ = 1;
    std::string name_;
};

void check_together(std::span<const Plan> plans, std::int32_t operation) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        const Plan& plan = plans[rank];
        const Plan& first = plans[0];
        const PlanLocation where{.operation = operation, .rank = static_cast<Rank>(rank)};
        const auto same = [&](std::string_view name, std::int64_t value, std::int64_t expected) {
            if (value != expected) throw Violation{where, fmt::format("{} is {}, expected {}", name, value, expected)};
        };
        same("nranks", plan.nranks, static_cast<std::int64_t>(plans.size()));
        same("rank", plan.rank, static_cast<std::int64_t>(rank));
        same("collective", static_cast<int>(plan.collective), static_cast<int>(first.collective));
        same("algorithm", static_cast<int>(plan.algorithm), static_cast<int>(first.algorithm));
        same("root", plan.root, first.root);
        same("parts", plan.parts, first.parts);
        same("message_parts", plan.message_parts, first.message_parts);
        same("the number of channels", static_cast<std::int64_t>(plan.channels.size()),
             static_cast<std::int64_t>(first.channels.size()));
        for (int tag = 0; tag < kMaxTags; ++tag) {
            same("protocol", static_cast<int>(plan.protocol[static_cast<std::size_t>(tag)]),
                 static_cast<int>(first.protocol[static_cast<std::size_t>(tag)]));
        }
        if (plan.root < 0 || plan.root >= plan.nranks) {
            throw Violation{where, fmt::format("root is {}, allowed are 0 to {}", plan.root, plan.nranks - 1)};
        }
    }
}

void check_table(const ExtentTable& table, std::size_t entries, const PlanLocation& where, std::string_view name) {
    if (table.length.size() != entries || table.offset.size() != entries) {
        throw Violation{where, fmt::format("the {} table has {} lengths and {} offsets, expected {}", name,
                                           table.length.size(), table.offset.size(), entries)};
    }
    for (std::size_t i = 0; i < entries; ++i) {
        if (table.length[i] < 0 || table.length[i] > kMaxCount || table.offset[i] < 0 || table.offset[i] > kMaxCount) {
            throw Violation{where, fmt::format("entry {} of the {} table is {} elements at {}, allowed are 0 to {}", i,
                                               name, table.length[i], table.offset[i], kMaxCount)};
        }
    }
}

void check_launch(const Operation& operation, std::int32_t index) {
    const Launch& launch = operation.launch;
    const PlanLocation where{.operation = index};
    if (launch.count < 0 || launch.count > kMaxCount) {
        throw Violation{where, fmt::format("count is {}, allowed are 0 to {}", launch.count, kMaxCount)};
    }
    if (launch.align < 1 || launch.chunk < 1 || launch.chunk > kMaxCount || launch.chunk % launch.align != 0) {
        throw Violation{where, fmt::format("chunk is {} and align is {}: chunk must be a positive multiple of align",
                                           launch.chunk, launch.align)};
    }
    for (const Plan& plan : operation.plans) {
        const std::int64_t blocks = std::int64_t{plan.parts} * (plan.scratch_blocks + std::int64_t{1});
        if (blocks > (std::int64_t{1} << 62) / launch.chunk) {
            throw Violation{where, fmt::format("a chunk of {} elements makes scratch too large", launch.chunk)};
        }
    }
    if (!has_tables(operation.plans[0].collective)) return;
    if (launch.tables.size() != operation.plans.size()) {
        throw Violation{where, fmt::format("the launch has tables for {} ranks, expected {}", launch.tables.size(),
                                           operation.plans.size())};
    }
    for (std::size_t rank = 0; rank < launch.tables.size(); ++rank) {
        const RankTables& tables = launch.tables[rank];
        const bool group = operation.plans[0].collective == Collective::SendRecv;
        const std::size_t entries = group ? tables.ops.size() : operation.plans.size();
        check_table(tables.input, entries, {.operation = index, .rank = static_cast<Rank>(rank)}, "input");
        check_table(tables.output, entries, {.operation = index, .rank = static_cast<Rank>(rank)}, "output");
    }
}

}  // namespace

void check_structure(std::span<const Operation> operations, const VerifyOptions& options) {
    if (operations.empty()) throw Violation{{}, "there is no operation"};
    if (options.slots < 1)
        throw Violation{{}, fmt::format("the number of slots is {}, at least 1 is needed", options.slots)};
    const std::size_t nranks = operations[0].plans.size();
    if (nranks < 1 || nranks > static_cast<std::size_t>(kMaxRanks)) {
        throw Violation{{}, fmt::format("there are plans for {} ranks, allowed are 1 to {}", nranks, kMaxRanks)};
    }
    for (const Rank rank : options.watched) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= nranks) {
            throw Violation{{}, fmt::format("rank {} is to be watched, there are {}", rank, nranks)};
        }
    }
    for (const Rank rank : options.followed) {
        if (rank >= 0 && static_cast<std::size_t>(rank) < nranks) continue;
        throw Violation{{}, fmt::format("rank {} is to be followed, there are {}", rank, nranks)};
    }
    for (std::size_t o = 0; o < operations.size(); ++o) {
        const auto index = static_cast<std::int32_t>(o);
        const Collective collective = operations[o].plans[0].collective;
        if (!options.followed.empty() && (collective == Collective::AllReduce || collective == Collective::Reduce)) {
            throw Violation{{.operation = index}, "all_reduce and reduce need every rank's data followed"};
        }
        if (operations[o].plans.size() != nranks) {
            throw Violation{
                {.operation = index},
                fmt::format("there are plans for {} ranks, expected {}", operations[o].plans.size(), nranks)};
        }
        check_together(operations[o].plans, index);
        check_launch(operations[o], index);
        for (const Plan& plan : operations[o].plans) PlanChecker(plan, index).check();
    }
}

}  // namespace rondo::plan::detail
