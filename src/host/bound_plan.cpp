#include "host/bound_plan.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "transport/memory/domain.hpp"

namespace rondo::host {

namespace {

using plan::Place;

[[noreturn]] void refuse(const plan::Plan& plan, const std::string& reason) {
    throw Error(Code::InvalidUsage, "plan " + std::string(plan::name_of(plan.collective)) + "/" +
                                        std::string(plan::name_of(plan.algorithm)) +
                                        " cannot run on host memory: " + reason);
}

bool is_fifo(Place place) { return place == Place::Inbox || place == Place::Outbox; }

bool has_extent(const plan::Operand& operand) {
    return (operand.place == Place::Local || operand.place == Place::Peer) && operand.buffer != plan::Buffer::Scratch;
}

const BoundOperand* sizing_operand(const BoundStep& step) {
    for (const std::vector<BoundOperand>* side : {&step.dsts, &step.srcs}) {
        const auto found = std::ranges::find_if(*side, [](const BoundOperand& o) { return has_extent(o.op); });
        if (found != side->end()) return &*found;
    }
    return nullptr;
}

/// The lane of a group of transfers as one lane for each FIFO. The steps of a group share nothing but FIFOs, so less
/// order is no harm; and a peer that comes late, because it has grouped its calls in another way, holds up no other.
std::vector<plan::Lane> by_fifo(const plan::Lane& lane) {
    std::map<std::pair<Place, std::int64_t>, plan::Lane> lanes;
    for (const plan::Block& block : lane.blocks) {
        for (const plan::Step& step : block.steps) {
            const bool sends = step.dsts.front().place == Place::Outbox;
            const plan::Operand& end = sends ? step.dsts.front() : step.srcs.front();
            const std::int64_t peer = is_fifo(end.place) ? end.peer.at(0, 0, 0) : -1;  // -1: from this rank to itself
            std::vector<plan::Block>& blocks = lanes[{end.place, peer}].blocks;
            if (blocks.empty() || blocks.back().loop != block.loop) {
                blocks.push_back(block);
                blocks.back().steps.clear();
            }
            blocks.back().steps.push_back(step);
        }
    }
    std::vector<plan::Lane> made;
    for (auto& [fifo, own] : lanes) made.push_back(std::move(own));
    return made;
}

/// The ends at `place` of those operands of one side for which `wanted` is set.
Ports ports_of(const std::vector<BoundOperand>& side, Place place, bool plan::Operand::*wanted, std::int32_t repeat) {
    const auto chosen = [&](const BoundOperand& operand) { return operand.op.place == place && operand.op.*wanted; };
    const bool constant =
        std::ranges::all_of(side, [&](const BoundOperand& o) { return !chosen(o) || o.op.peer.cs == 0; });
    std::vector<Port> all;
    for (std::int64_t s = 0; s < (constant ? 1 : repeat); ++s) {
        for (const BoundOperand& operand : side) {
            if (!chosen(operand)) continue;
            for (std::int64_t f = 0; f < operand.op.fan; ++f) {
                const auto peer = static_cast<Rank>(operand.op.peer.at(s, 0, f));
                all.push_back({operand.fifos[peer], peer});
            }
        }
    }
    Ports ports;
    ports.set(std::move(all), repeat, constant);
    return ports;
}

std::size_t operands_of(const std::vector<BoundOperand>& side) {
    std::size_t total = 0;
    for (const BoundOperand& operand : side) total += static_cast<std::size_t>(operand.op.fan);
    return total;
}

}  // namespace

BoundPlan::BoundPlan(plan::Plan plan, std::int64_t chunk_bytes, transport::FifoSource& source)
    : plan_(std::move(plan)),
      chunk_bytes_(chunk_bytes),
      inlines_(std::ranges::find(plan_.protocol, plan::Protocol::Simple) == plan_.protocol.end()),
      long_messages_(!inlines_ ||
                     chunk_bytes * plan_.message_parts > static_cast<std::int64_t>(transport::memory::kInline)) {
    if (plan_.channels.size() > static_cast<std::size_t>(transport::memory::kMaxChannels)) {
        refuse(plan_, "it has " + std::to_string(plan_.channels.size()) + " channels, the limit is " +
                          std::to_string(transport::memory::kMaxChannels));
    }
    if (plan_.window) bind_windows(source);
    for (std::size_t channel = 0; channel < plan_.channels.size(); ++channel) {
        for (const plan::Lane& lane : plan_.channels[channel].lanes) {
            if (plan_.collective != plan::Collective::SendRecv) {
                lanes_.push_back(bind_lane(lane, static_cast<int>(channel), source));
                continue;
            }
            for (const plan::Lane& part : by_fifo(lane)) {
                lanes_.push_back(bind_lane(part, static_cast<int>(channel), source));
            }
        }
    }
    if (!tables_.empty() && chunk_bytes_ * plan_.message_parts > static_cast<std::int64_t>(source.slot_bytes())) {
        refuse(plan_, "its messages take " + std::to_string(chunk_bytes_ * plan_.message_parts) +
                          " bytes, a slot holds " + std::to_string(source.slot_bytes()) +
                          "; raise RONDO_BUFFSIZE or lower RONDO_NSLOTS");
    }
}

void BoundPlan::bind_windows(transport::FifoSource& source) {
    for (Rank rank = 0; rank < plan_.nranks; ++rank) {
        std::byte* const window = source.window(rank);
        if (window == nullptr)
            refuse(plan_, "it addresses memory of rank " + std::to_string(rank) + " on another host");
        windows_.push_back(window);
    }
    const std::int64_t tile = plan_.scratch_blocks * chunk_bytes_ * plan_.parts;
    const std::int64_t needed = tile * static_cast<std::int64_t>(plan_.channels.size());
    if (needed > static_cast<std::int64_t>(source.window_bytes())) {
        refuse(plan_, "its scratch takes " + std::to_string(needed) + " bytes, a window holds " +
                          std::to_string(source.window_bytes()) + "; raise RONDO_BUFFSIZE or lower RONDO_NCHANNELS");
    }
}

BoundLane BoundPlan::bind_lane(const plan::Lane& lane, int channel, transport::FifoSource& source) {
    BoundLane bound{.channel = channel};
    bound.loops.resize(static_cast<std::size_t>(lane.loops()));
    for (const plan::Block& block : lane.blocks) {
        if (block.repeat <= 0 || block.steps.empty()) continue;
        std::vector<BoundBlock>& list = block.when == plan::When::Before ? bound.before
                                        : block.when == plan::When::After
                                            ? bound.after
                                            : bound.loops[static_cast<std::size_t>(block.loop)];
        BoundBlock& made = list.emplace_back(BoundBlock{.repeat = block.repeat});
        made.steps.reserve(block.steps.size());
        for (const plan::Step& step : block.steps) {
            made.steps.push_back(bind_step(step, channel, block.repeat, source));
            // The operands stay where they are from here on: only the vectors that hold them move.
            made.steps.back().sizing = sizing_operand(made.steps.back());
        }
    }
    std::erase_if(bound.loops, [](const std::vector<BoundBlock>& loop) { return loop.empty(); });
    return bound;
}

BoundStep BoundPlan::bind_step(const plan::Step& step, int channel, std::int32_t repeat,
                               transport::FifoSource& source) {
    BoundStep bound{.kind = step.kind, .post = step.post, .rows = step.rows, .width = step.width, .part = step.part};
    for (const plan::Operand& operand : step.dsts) {
        bound.dsts.push_back(bind_operand(operand, channel, repeat, source));
    }
    for (const plan::Operand& operand : step.srcs) {
        bound.srcs.push_back(bind_operand(operand, channel, repeat, source));
    }
    for (const std::vector<BoundOperand>* side : {&bound.dsts, &bound.srcs}) {
        widest_ = std::max(widest_, operands_of(*side));
    }
    const auto of_peer = [](const BoundOperand& o) { return o.op.place == Place::Peer && has_extent(o.op); };
    bound.reads_peer = std::ranges::any_of(bound.srcs, of_peer);
    const bool stores = std::ranges::any_of(bound.dsts, of_peer);
    const bool copy = operands_of(bound.srcs) == 1 && operands_of(bound.dsts) == 1 && !bound.post;
    if (stores || (bound.reads_peer && !copy)) copies_only_ = false;
    bound.awaited = ports_of(bound.srcs, Place::Inbox, &plan::Operand::acquire, repeat);
    bound.granted = ports_of(bound.dsts, Place::Outbox, &plan::Operand::acquire, repeat);
    bound.posted = ports_of(bound.dsts, Place::Outbox, &plan::Operand::publish, repeat);
    bound.released = ports_of(bound.srcs, Place::Inbox, &plan::Operand::publish, repeat);
    return bound;
}

BoundOperand BoundPlan::bind_operand(const plan::Operand& operand, int channel, std::int32_t repeat,
                                     transport::FifoSource& source) {
    if (operand.place == Place::Multicast) refuse(plan_, "it uses a multicast switch");
    if (operand.element == plan::Element::Accumulator) refuse(plan_, "it sends accumulator elements");
    uses_peers_ = uses_peers_ || (operand.place == Place::Peer && has_extent(operand));
    uses_counters_ = uses_counters_ || operand.place == Place::Counter;
    BoundOperand bound{.op = operand};
    if (!is_fifo(operand.place)) return bound;

    const bool inbox = operand.place == Place::Inbox;
    FifoTable& fifos = table(inbox, channel, operand.tag);
    for (std::int64_t s = 0; s < repeat; ++s) {
        for (std::int64_t f = 0; f < operand.fan; ++f) {
            const auto peer = static_cast<Rank>(operand.peer.at(s, 0, f));
            if (peer < 0 || peer >= plan_.nranks) refuse(plan_, "it names rank " + std::to_string(peer));
            transport::memory::Fifo*& fifo = fifos[static_cast<std::size_t>(peer)];
            if (fifo != nullptr) continue;
            fifo = inbox ? &source.fifo(channel, peer, plan_.rank, operand.tag, long_messages_)
                         : &source.fifo(channel, plan_.rank, peer, operand.tag, long_messages_);
        }
    }
    bound.fifos = fifos.data();
    return bound;
}

BoundPlan::FifoTable& BoundPlan::table(bool inbox, int channel, int tag) {
    const auto found = std::ranges::find_if(tables_, [&](const TableEntry& entry) {
        return entry.inbox == inbox && entry.channel == channel && entry.tag == tag;
    });
    if (found != tables_.end()) return found->fifos;
    tables_.push_back({inbox, channel, tag, FifoTable(static_cast<std::size_t>(plan_.nranks), nullptr)});
    return tables_.back().fifos;
}

}  // namespace rondo::host
