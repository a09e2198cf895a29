// Rows of a step in the verifying machine: where their operands are, and what is legal there. Data: machine_data.cpp.

#include <fmt/format.h>
#include <algorithm>
#include <functional>

#include "plan/format.hpp"
#include "plan/verify/layout.hpp"
#include "plan/verify/machine.hpp"

namespace rondo::plan::detail {

namespace {

bool is_message(const Operand& operand) { return operand.place == Place::Inbox || operand.place == Place::Outbox; }

bool is_addressed(const Operand& operand) { return operand.place == Place::Local || operand.place == Place::Peer; }

}  // namespace

std::int64_t Machine::extent_of(const LaneState& lane, const Step& step, std::int64_t j) const {
    const Launch& launch = launch_of(lane);
    if (!has_tables(plan_of(lane).collective)) return launch.count;
    for (const std::vector<Operand>* side : {&step.dsts, &step.srcs}) {
        for (const Operand& operand : *side) {
            if (!is_addressed(operand) || operand.buffer == Buffer::Scratch) continue;
            const std::int64_t owner = operand.place == Place::Local ? lane.rank : operand.peer.at(lane.repeat, j, 0);
            const Plan& plan = plan_of(lane.operation, static_cast<Rank>(owner));
            const std::int64_t block = operand.block.at(lane.repeat, j, 0);
            const std::int64_t blocks = block_count(plan, launch, operand.buffer);
            if (block < 0 || block >= blocks) {
                refuse(lane, fmt::format("names block {} of a buffer of {} blocks", block, blocks));
            }
            return block_length(plan, launch, operand.buffer, block);
        }
    }
    return launch.count;
}

Machine::Row Machine::row_of(const LaneState& lane, const Step& step, std::int64_t j) const {
    Row row;
    row.extent = extent_of(lane, step, j);
    const Cut cut = cut_of(plan_of(lane), launch_of(lane));
    const std::int64_t part = step.part.at(lane.repeat, j, 0);
    row.range = range(row.extent, cut, lane.channel, lane.tile, part, step.width);
    const Range first = range(row.extent, cut, lane.channel, lane.tile, 0, step.width);
    row.tile_begin = first.begin;
    row.stride = first.size();
    return row;
}

bool Machine::empty(const LaneState& lane, const Step& step) {
    for (std::int64_t j = 0; j < step.rows; ++j) {
        row_ = row_of(lane, step, j);
        if (!row_.range.empty()) return false;
    }
    return true;
}

void Machine::move(LaneState& lane, const Step& step) {
    for (std::int64_t j = 0; j < step.rows; ++j) {
        if (step.rows > 1) row_ = row_of(lane, step, j);
        if (!row_.range.empty()) move_row(lane, step, row_, j);
    }
}

void Machine::move_row(LaneState& lane, const Step& step, const Row& row, std::int64_t j) {
    locate_all(lane, step, row, j, true);
    locate_all(lane, step, row, j, false);
    const std::int64_t length = row.range.size();
    if (options_.fingerprints) note_row(lane, step, length);
    drop_copies_onto_themselves(step);
    if (targets_.empty()) return;
    check_overlaps(lane, length);
    count_peers(lane, length);
    if (options_.window.empty()) {
        move_data(lane, step, 0, length);
        return;
    }
    for (const Range& window : options_.window) {
        const Range both{std::max(window.begin, row.range.begin), std::min(window.end, row.range.end)};
        if (!both.empty()) move_data(lane, step, both.begin - row.range.begin, both.size());
    }
}

void Machine::locate_all(LaneState& lane, const Step& step, const Row& row, std::int64_t j, bool sources) {
    std::vector<Spot>& spots = sources ? sources_ : targets_;
    spots.clear();
    for (const Operand& operand : sources ? step.srcs : step.dsts) {
        for (std::int64_t f = 0; f < operand.fan; ++f) {
            Spot spot{.operand = &operand};
            spot.peer = operand.place == Place::Local || operand.place == Place::Multicast
                            ? lane.rank
                            : static_cast<Rank>(operand.peer.at(lane.repeat, j, f));
            if (is_message(operand)) {
                locate_message(lane, step, row, operand.piece.at(lane.repeat, j, f), sources, spot);
            } else {
                locate_buffer(lane, row, operand.block.at(lane.repeat, j, f), spot);
            }
            spots.push_back(spot);
        }
    }
}

Memory& Machine::memory_of(const LaneState& lane, Buffer buffer, Rank rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    if (buffer == Buffer::Scratch) return state.scratch[static_cast<std::size_t>(lane.channel)];
    return state.user[static_cast<std::size_t>(lane.operation)].memory(buffer);
}

std::int64_t Machine::base_of(const LaneState& lane, Buffer buffer, Rank rank) const {
    return buffer == Buffer::Scratch ? 0 : user(lane.operation, rank).base(buffer);
}

void Machine::locate_buffer(const LaneState& lane, const Row& row, std::int64_t block, Spot& spot) {
    const Operand& operand = *spot.operand;
    const Plan& owner = plan_of(lane.operation, spot.peer);
    const Launch& launch = launch_of(lane);
    if (operand.buffer == Buffer::Scratch) {
        if (block < 0 || block >= owner.scratch_blocks) {
            refuse(lane, fmt::format("names scratch block {}, rank {} has {}", block, spot.peer, owner.scratch_blocks));
        }
        if (spot.peer != lane.rank && !owner.window) {
            refuse(lane, fmt::format("addresses the scratch of rank {}, which is no window", spot.peer));
        }
        spot.begin = block * launch.chunk * owner.parts + (row.range.begin - row.tile_begin);
    } else {
        const std::int64_t blocks = block_count(owner, launch, operand.buffer);
        const char* name = operand.buffer == Buffer::Input ? "input" : "output";
        if (blocks == 0) refuse(lane, fmt::format("uses the {} of rank {}, which has none", name, spot.peer));
        if (block < 0 || block >= blocks) {
            refuse(lane, fmt::format("names block {} of rank {}'s {}, which has {}", block, spot.peer, name, blocks));
        }
        const std::int64_t length = block_length(owner, launch, operand.buffer, block);
        if (length != row.extent) {
            refuse(lane, fmt::format("moves a block of {} elements where block {} of rank {}'s {} has {}", row.extent,
                                     block, spot.peer, name, length));
        }
        spot.begin = block_offset(owner, launch, operand.buffer, block) + row.range.begin;
    }
    if (operand.place == Place::Multicast) {
        check_multicast(lane, operand.buffer, block);
        return;
    }
    spot.begin += base_of(lane, operand.buffer, spot.peer);
    spot.memory = &memory_of(lane, operand.buffer, spot.peer);
}

/// Every rank has the block: the switch addresses them all.
void Machine::check_multicast(const LaneState& lane, Buffer buffer, std::int64_t block) const {
    for (Rank rank = 0; rank < nranks_; ++rank) {
        const Plan& plan = plan_of(lane.operation, rank);
        const std::int64_t blocks =
            buffer == Buffer::Scratch ? plan.scratch_blocks : block_count(plan, launch_of(lane), buffer);
        if (block >= blocks) {
            refuse(lane, fmt::format("addresses block {} of all ranks' {}, but rank {} has {}", block, name_of(buffer),
                                     rank, blocks));
        }
    }
}

void Machine::locate_message(LaneState& lane, const Step& step, const Row& row, std::int64_t piece, bool source,
                             Spot& spot) {
    const Operand& operand = *spot.operand;
    spot.fifo = fifo_of(lane, operand, spot.peer);
    spot.begin = piece * row.stride;
    Fifo& fifo = fifos_[spot.fifo];
    const bool mine =
        source ? fifo.reading && fifo.consumer_operation == lane.operation && fifo.consumer_lane == lane.index
               : fifo.writing && fifo.producer_operation == lane.operation && fifo.producer_lane == lane.index;
    if (!mine) {
        refuse(lane, fmt::format("{} a message {} rank {} (tag {}) that it has not acquired",
                                 source ? "reads" : "writes", source ? "from" : "to", spot.peer, operand.tag));
    }
    const Plan& plan = plan_of(lane);
    const std::int64_t end = spot.begin + row.range.size();
    if ((piece + 1) * step.width > plan.message_parts || end > plan.message_parts * launch_of(lane).chunk) {
        refuse(lane, fmt::format("uses piece {} of {} parts in a message {} rank {} that holds {} parts", piece,
                                 step.width, source ? "from" : "to", spot.peer, plan.message_parts));
    }
    Message& message = messages_[source ? fifo.front : fifo.tail];
    if (!source) {
        message.length = std::max(message.length, end);
    } else if (end > message.length) {
        refuse(lane, fmt::format("reads elements {}..{} of a message from rank {} (tag {}) that has {}", spot.begin,
                                 end, spot.peer, operand.tag, message.length));
    } else {
        fifo.read_end = std::max(fifo.read_end, end);
    }
}

/// In place, a copy from a place to itself moves nothing: executors skip it, and so it is no access either.
void Machine::drop_copies_onto_themselves(const Step& step) {
    if (sources_.size() != 1 || step.post || sources_[0].operand->pre || sources_[0].memory == nullptr) return;
    std::erase_if(targets_, [&](const Spot& target) {
        return target.memory == sources_[0].memory && target.begin == sources_[0].begin;
    });
}

/// No destination may overlap another, nor a source except one at the same place (which is read before it is written).
void Machine::check_overlaps(const LaneState& lane, std::int64_t length) {
    by_place_.clear();
    for (const std::vector<Spot>* spots : {&sources_, &targets_}) {
        for (const Spot& spot : *spots) {
            if (spot.memory != nullptr) by_place_.push_back(&spot);
        }
    }
    const auto is_target = [&](const Spot* spot) {
        return spot >= targets_.data() && spot < targets_.data() + targets_.size();
    };
    std::ranges::sort(by_place_, [](const Spot* a, const Spot* b) {
        if (a->memory != b->memory) return std::less<>()(a->memory, b->memory);
        return a->begin < b->begin;
    });
    // All have the same length, so whatever overlaps something overlaps a neighbour or lies in a run of equal places.
    for (std::size_t i = 0; i < by_place_.size(); ++i) {
        for (std::size_t k = i + 1; k < by_place_.size(); ++k) {
            const Spot& a = *by_place_[i];
            const Spot& b = *by_place_[k];
            if (a.memory != b.memory || b.begin >= a.begin + length) break;
            const bool both = is_target(&a) && is_target(&b);
            if (!both && (a.begin == b.begin || (!is_target(&a) && !is_target(&b)))) continue;
            refuse(lane,
                   fmt::format("{} {} and {}, which overlap", both ? "writes" : "reads and writes",
                               text(lane, a, a.begin, a.begin + length), text(lane, b, b.begin, b.begin + length)));
        }
    }
}

void Machine::count_peers(const LaneState& lane, std::int64_t length) {
    std::int64_t& peer = ranks_[static_cast<std::size_t>(lane.rank)].peer;
    for (const std::vector<Spot>* spots : {&sources_, &targets_}) {
        for (const Spot& spot : *spots) {
            const Place place = spot.operand->place;
            if (place == Place::Multicast || (place == Place::Peer && spot.peer != lane.rank)) peer += length;
        }
    }
}

void Machine::note_row(LaneState& lane, const Step& step, std::int64_t length) {
    std::uint64_t& trace = lane.trace;
    trace = mix(trace, static_cast<std::uint64_t>(length) * 2 + (step.post ? 1 : 0));
    for (const std::vector<Spot>* spots : {&sources_, &targets_}) {
        for (const Spot& spot : *spots) {
            const Operand& operand = *spot.operand;
            const bool own = operand.place == Place::Peer && spot.peer == lane.rank;  // the same address
            const Place place = own ? Place::Local : operand.place;
            trace = mix(trace, static_cast<std::uint64_t>(place) | static_cast<std::uint64_t>(operand.buffer) << 4U |
                                   static_cast<std::uint64_t>(operand.element) << 8U |
                                   static_cast<std::uint64_t>(operand.tag) << 12U | (operand.acquire ? 1U << 16U : 0U) |
                                   (operand.publish ? 1U << 17U : 0U) | (operand.pre ? 1U << 18U : 0U));
            trace = mix(mix(trace, static_cast<std::uint64_t>(spot.peer)), static_cast<std::uint64_t>(spot.begin));
        }
        trace = mix(trace, spots->size());
    }
}

std::string Machine::text(const LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t end) const {
    const Operand& operand = *spot.operand;
    const bool source = std::ranges::any_of(sources_, [&](const Spot& other) { return &other == &spot; });
    const std::vector<Operand>& side = source ? lane.lane->blocks[lane.block].steps[lane.step].srcs
                                              : lane.lane->blocks[lane.block].steps[lane.step].dsts;
    const auto index = &operand - side.data();
    const std::string which = fmt::format("{}[{}]", source ? "srcs" : "dsts", index);
    if (spot.fifo != kNone) {
        return fmt::format("elements {}..{} of the message {} rank {} (tag {}, {})", begin, end, source ? "from" : "to",
                           spot.peer, operand.tag, which);
    }
    const char* name = operand.buffer == Buffer::Input    ? "input"
                       : operand.buffer == Buffer::Output ? "output"
                                                          : "scratch";
    if (operand.place == Place::Multicast) {
        return fmt::format("elements {}..{} of all ranks' {} ({})", begin, end, name, which);
    }
    const std::int64_t base = base_of(lane, operand.buffer, spot.peer);
    return fmt::format("elements {}..{} of rank {}'s {} ({})", begin - base, end - base, spot.peer, name, which);
}

}  // namespace rondo::plan::detail
