// FIFOs and counters of the verifying machine.

#include <fmt/format.h>
#include <algorithm>

#include "plan/verify/machine.hpp"

namespace rondo::plan::detail {

std::uint32_t Machine::fifo_id(std::int32_t channel, Rank source, Rank target, std::uint8_t tag) {
    const std::uint64_t key = (static_cast<std::uint64_t>(source) << 32U) ^
                              (static_cast<std::uint64_t>(target) << 12U) ^
                              (static_cast<std::uint64_t>(channel) << 2U) ^ tag;
    return fifo_index_.find_or_add(
        key,
        [&](std::uint32_t id) {
            const Fifo& fifo = fifos_[id];
            return fifo.source == source && fifo.target == target && fifo.channel == channel && fifo.tag == tag;
        },
        [&] {
            fifos_.push_back(
                {.source = source, .target = target, .channel = static_cast<std::int16_t>(channel), .tag = tag});
            return static_cast<std::uint32_t>(fifos_.size() - 1);
        });
}

std::uint32_t Machine::fifo_of(LaneState& lane, const Operand& operand, std::int64_t peer) {
    const auto other = static_cast<Rank>(peer);
    const bool in = operand.place == Place::Inbox;
    LaneState::LastFifo& last = lane.last_fifo[in ? 0 : 1];
    if (last.peer != other || last.tag != operand.tag) {
        const std::uint32_t id = in ? fifo_id(lane.channel, other, lane.rank, operand.tag)
                                    : fifo_id(lane.channel, lane.rank, other, operand.tag);
        last = {.peer = other, .tag = operand.tag, .id = id};
    }
    return last.id;
}

bool Machine::acquire(std::uint32_t id, const Step& step) {
    LaneState& lane = lanes_[id];
    std::size_t first = 0;  // of the operand's fan, in the numbering of lane.acquired
    for (const std::vector<Operand>* side : {&step.srcs, &step.dsts}) {
        for (const Operand& operand : *side) {
            const auto fan = static_cast<std::size_t>(operand.fan);
            if (operand.acquire && lane.acquired < first + fan) {
                for (std::size_t f = std::max(lane.acquired, first) - first; f < fan; ++f) {
                    const std::int64_t peer = operand.peer.at(lane.repeat, 0, static_cast<std::int64_t>(f));
                    Fifo& fifo = fifos_[fifo_of(lane, operand, peer)];
                    const bool done =
                        operand.place == Place::Inbox ? acquire_message(lane, fifo) : acquire_slot(lane, fifo);
                    if (!done) return false;
                    lane.acquired = first + f + 1;
                }
            }
            first += fan;
            lane.acquired = std::max(lane.acquired, first);
        }
    }
    return true;
}

bool Machine::acquire_slot(LaneState& lane, Fifo& fifo) {
    if (fifo.writing) {
        refuse(lane, fmt::format("acquires a slot to rank {} (tag {}) while it is still writing a message to it",
                                 fifo.target, fifo.tag));
    }
    if (fifo.producer_operation == lane.operation && fifo.producer_lane != lane.index) {
        refuse(lane, fmt::format("sends to rank {} (tag {}), whose sending end belongs to lane {}", fifo.target,
                                 fifo.tag, fifo.producer_lane));
    }
    fifo.producer_operation = lane.operation;
    fifo.producer_lane = static_cast<std::int8_t>(lane.index);
    if (fifo.acquired - fifo.consumed == static_cast<std::uint32_t>(options_.slots)) {
        fifo.producer_waits = true;
        return false;
    }
    if (fifo.listed == static_cast<std::uint32_t>(options_.slots)) {
        // The slot's last message was given back; this write comes after that.
        const std::uint32_t old = fifo.head;
        clocks_->join(lane.thread, messages_[old].released);
        clocks_->drop(messages_[old].released);
        fifo.head = messages_[old].next;
        if (fifo.head == kNone) fifo.tail = kNone;
        --fifo.listed;
        free_message(old);
    }
    const std::uint32_t id = new_message();
    if (fifo.tail == kNone) {
        fifo.head = id;
    } else {
        messages_[fifo.tail].next = id;
    }
    fifo.tail = id;
    if (fifo.front == kNone) fifo.front = id;
    ++fifo.listed;
    ++fifo.acquired;
    fifo.writing = true;
    return true;
}

bool Machine::acquire_message(LaneState& lane, Fifo& fifo) {
    if (fifo.reading) {
        refuse(lane,
               fmt::format("acquires a message from rank {} (tag {}) while it still holds one", fifo.source, fifo.tag));
    }
    if (fifo.consumer_operation == lane.operation && fifo.consumer_lane != lane.index) {
        refuse(lane, fmt::format("receives from rank {} (tag {}), whose receiving end belongs to lane {}", fifo.source,
                                 fifo.tag, fifo.consumer_lane));
    }
    fifo.consumer_operation = lane.operation;
    fifo.consumer_lane = static_cast<std::int8_t>(lane.index);
    if (fifo.consumed == fifo.posted) {
        fifo.consumer_waits = true;
        return false;
    }
    Message& message = messages_[fifo.front];
    if (message.operation != lane.operation) {
        refuse(lane, fmt::format("takes a message that rank {} posted in operation {} (tag {})", fifo.source,
                                 message.operation, fifo.tag));
    }
    if (clocks_) {
        clocks_->join(lane.thread, message.posted);
        clocks_->drop(message.posted);
    }
    lane.hops = std::max(lane.hops, message.hops + (fifo.source != fifo.target ? 1 : 0));
    fifo.reading = true;
    fifo.read_end = 0;
    return true;
}

void Machine::publish(LaneState& lane, const Step& step) {
    Clocks::Snapshot snapshot = Clocks::kNone;
    for (const std::vector<Operand>* side : {&step.srcs, &step.dsts}) {
        for (const Operand& operand : *side) {
            if (!operand.publish) continue;
            for (std::int64_t f = 0; f < operand.fan; ++f) {
                Fifo& fifo = fifos_[fifo_of(lane, operand, operand.peer.at(lane.repeat, 0, f))];
                if (operand.place == Place::Inbox) {
                    release_slot(lane, fifo, snapshot);
                } else {
                    post_message(lane, fifo, snapshot);
                }
            }
        }
    }
    if (options_.fingerprints) note_syncs(lane, step);
}

Clocks::Snapshot Machine::take_snapshot(const LaneState& lane, Clocks::Snapshot& shared) {
    if (!clocks_) return Clocks::kNone;
    if (shared == Clocks::kNone) {
        shared = clocks_->publish(lane.thread);
    } else {
        clocks_->share(shared, 1);
    }
    return shared;
}

void Machine::post_message(LaneState& lane, Fifo& fifo, Clocks::Snapshot& snapshot) {
    // The same operand was accessed in this step, so the message is this lane's.
    if (!fifo.writing) {
        refuse(lane, fmt::format("posts the same message to rank {} (tag {}) twice", fifo.target, fifo.tag));
    }
    Message& message = messages_[fifo.tail];
    if (message.length == 0) {
        refuse(lane, fmt::format("posts an empty message to rank {} (tag {})", fifo.target, fifo.tag));
    }
    message.operation = lane.operation;
    message.hops = lane.hops;
    message.posted = take_snapshot(lane, snapshot);
    fifo.writing = false;
    ++fifo.posted;
    fifo.elements += message.length;
    if (fifo.source != fifo.target) ranks_[static_cast<std::size_t>(lane.rank)].sent += message.length;
    if (options_.fingerprints) {
        fifo.lengths = mix(fifo.lengths, static_cast<std::uint64_t>(message.length));
        fifo.hash = mix(fifo.hash, static_cast<std::uint64_t>(message.length));
        for (const Fragment& fragment : message.fragments) {
            fifo.hash = mix(fifo.hash, static_cast<std::uint64_t>(fragment.begin));
            fifo.hash = mix(fifo.hash, static_cast<std::uint64_t>(fragment.end));
            fifo.hash = mix(fifo.hash, static_cast<std::uint64_t>(fragment.value.shift));
            fifo.hash = mix(fifo.hash, static_cast<std::uint64_t>(fragment.value.element));
            fifo.hash = mix(fifo.hash, expressions_[fragment.value.expr].hash);
        }
    }
    if (fifo.consumer_waits) {
        fifo.consumer_waits = false;
        wake(lane_id(fifo.target, fifo.channel, fifo.consumer_lane));
    }
}

void Machine::release_slot(LaneState& lane, Fifo& fifo, Clocks::Snapshot& snapshot) {
    if (!fifo.reading) {
        refuse(lane, fmt::format("gives the same message of rank {} (tag {}) back twice", fifo.source, fifo.tag));
    }
    const std::uint32_t id = fifo.front;
    Message& message = messages_[id];
    if (fifo.read_end != message.length) {
        refuse(lane, fmt::format("reads {} elements of a message from rank {} (tag {}) that has {}", fifo.read_end,
                                 fifo.source, fifo.tag, message.length));
    }
    fifo.reading = false;
    fifo.front = message.next;
    ++fifo.consumed;
    if (clocks_) {
        message.released = take_snapshot(lane, snapshot);
        message.fragments.clear();
    } else {
        fifo.head = message.next;
        if (fifo.head == kNone) fifo.tail = kNone;
        --fifo.listed;
        free_message(id);
    }
    if (fifo.producer_waits) {
        fifo.producer_waits = false;
        wake(lane_id(fifo.source, fifo.channel, fifo.producer_lane));
    }
}

std::uint32_t Machine::new_message() {
    if (free_messages_.empty()) {
        messages_.emplace_back();
        return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    const std::uint32_t id = free_messages_.back();
    free_messages_.pop_back();
    return id;
}

void Machine::free_message(std::uint32_t id) {
    Message& message = messages_[id];
    message.fragments.clear();
    message.length = 0;
    message.next = kNone;
    free_messages_.push_back(id);
}

CounterUse& Machine::use_of(const LaneState& lane, Rank owner, std::uint8_t tag) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(owner) << 32U) ^ (static_cast<std::uint64_t>(lane.channel) << 2U) ^ tag;
    const std::uint32_t id = counter_index_.find_or_add(
        key, [](std::uint32_t) { return true; },  // keys are unique
        [&] {
            counters_.push_back({.owner = owner, .channel = static_cast<std::int16_t>(lane.channel), .tag = tag});
            counters_.back().uses.resize(operations_.size());
            return static_cast<std::uint32_t>(counters_.size() - 1);
        });
    return counters_[id].uses[static_cast<std::size_t>(lane.operation)];
}

void Machine::post(LaneState& lane, const Step& step) {
    Clocks::Snapshot snapshot = Clocks::kNone;
    for (std::uint8_t tag = 0; tag < kMaxTags; ++tag) {
        std::vector<Rank> peers;
        for (const Operand& operand : step.dsts) {
            if (operand.tag != tag) continue;
            for (std::int64_t f = 0; f < operand.fan; ++f) {
                peers.push_back(static_cast<Rank>(operand.peer.at(lane.repeat, 0, f)));
            }
        }
        if (!peers.empty()) post_counter(lane, tag, std::move(peers), snapshot);
    }
    if (options_.fingerprints) note_syncs(lane, step);
}

void Machine::post_counter(LaneState& lane, std::uint8_t tag, std::vector<Rank> peers, Clocks::Snapshot& snapshot) {
    std::ranges::sort(peers);
    if (std::ranges::adjacent_find(peers) != peers.end()) {
        refuse(lane, fmt::format("names rank {} twice in one post (tag {})", *std::ranges::adjacent_find(peers), tag));
    }
    CounterUse& use = use_of(lane, lane.rank, tag);
    if (use.posts.empty()) {
        use.lane = static_cast<std::int8_t>(lane.index);
        use.peers = std::move(peers);
    } else if (use.lane != lane.index) {
        refuse(lane, fmt::format("posts a counter (tag {}) that belongs to lane {}", tag, use.lane));
    } else if (use.peers != peers) {
        refuse(lane,
               fmt::format("posts for {} ranks a counter (tag {}) whose other posts are for {} ranks, not all the "
                           "same: which post a rank awaits would be ambiguous",
                           peers.size(), tag, use.peers.size()));
    }
    use.posts.push_back({.clock = take_snapshot(lane, snapshot), .hops = lane.hops});
    for (const std::uint32_t waiter : use.waiting) wake(waiter);
    use.waiting.clear();
}

bool Machine::wait(std::uint32_t id, const Step& step) {
    LaneState& lane = lanes_[id];
    std::size_t at = 0;
    for (const Operand& operand : step.srcs) {
        for (std::int64_t f = 0; f < operand.fan; ++f, ++at) {
            if (at < lane.acquired) continue;
            if (!wait_for(id, operand, static_cast<Rank>(operand.peer.at(lane.repeat, 0, f)))) return false;
            lane.acquired = at + 1;
        }
    }
    if (options_.fingerprints) note_syncs(lane, step);
    return true;
}

bool Machine::wait_for(std::uint32_t id, const Operand& operand, Rank owner) {
    LaneState& lane = lanes_[id];
    CounterUse& use = use_of(lane, owner, operand.tag);
    if (use.waits.empty()) use.waits.resize(ranks_.size());
    CounterUse::WaitRecord& record = use.waits[static_cast<std::size_t>(lane.rank)];
    if (record.lane == -1) record.lane = static_cast<std::int8_t>(lane.index);
    if (record.lane != lane.index) {
        refuse(lane, fmt::format("awaits rank {}'s counter (tag {}), which lane {} awaits too: which of them takes "
                                 "which post would be ambiguous",
                                 owner, operand.tag, record.lane));
    }
    if (record.done == use.posts.size()) {
        use.waiting.push_back(id);
        return false;
    }
    const CounterUse::PostRecord& post = use.posts[record.done++];
    if (clocks_) clocks_->join(lane.thread, post.clock);
    lane.hops = std::max(lane.hops, post.hops + (owner != lane.rank ? 1 : 0));
    return true;
}

void Machine::note_syncs(LaneState& lane, const Step& step) {
    std::uint64_t sum = 0;
    for (const std::vector<Operand>* side : {&step.srcs, &step.dsts}) {
        for (const Operand& operand : *side) {
            const bool counter = operand.place == Place::Counter;
            if (!counter && !operand.acquire && !operand.publish) continue;
            for (std::int64_t f = 0; f < operand.fan; ++f) {
                const auto what = static_cast<std::uint64_t>(step.kind) | (operand.acquire ? 4U : 0U) |
                                  (operand.publish ? 8U : 0U) | (operand.place == Place::Inbox ? 16U : 0U) |
                                  static_cast<std::uint64_t>(operand.tag) << 8U;
                sum += mix(what, static_cast<std::uint64_t>(operand.peer.at(lane.repeat, 0, f)));
            }
        }
    }
    if (sum != 0) lane.syncs = mix(lane.syncs, sum);
}

void Machine::check_fifos() {
    for (const Fifo& fifo : fifos_) {
        PlanLocation where{.operation = fifo.producer_operation, .rank = fifo.source, .channel = fifo.channel};
        if (fifo.writing) {
            throw Violation{
                where, fmt::format("ends without having posted a message to rank {} (tag {})", fifo.target, fifo.tag)};
        }
        if (fifo.posted != fifo.consumed) {
            where.rank = fifo.target;
            throw Violation{where,
                            fmt::format("ends with {} messages from rank {} (tag {}) not taken or not given back",
                                        fifo.posted - fifo.consumed, fifo.source, fifo.tag)};
        }
    }
}

void Machine::check_counters() const {
    for (const Counter& counter : counters_) {
        for (std::size_t o = 0; o < counter.uses.size(); ++o) check_use(counter, static_cast<std::int32_t>(o));
    }
}

void Machine::check_use(const Counter& counter, std::int32_t operation) const {
    const CounterUse& use = counter.uses[static_cast<std::size_t>(operation)];
    const auto refuse_for = [&](Rank rank, std::string what) {
        throw Violation{{.operation = operation, .rank = rank, .channel = counter.channel}, std::move(what)};
    };
    for (const Rank peer : use.peers) {
        const std::uint32_t done = use.waits.empty() ? 0 : use.waits[static_cast<std::size_t>(peer)].done;
        if (done != use.posts.size()) {
            refuse_for(peer, fmt::format("awaits {} of {} posts of rank {} (tag {})", done, use.posts.size(),
                                         counter.owner, counter.tag));
        }
    }
    for (std::size_t waiter = 0; waiter < use.waits.size(); ++waiter) {
        const auto rank = static_cast<Rank>(waiter);
        if (use.waits[waiter].lane != -1 && !std::ranges::binary_search(use.peers, rank)) {
            refuse_for(rank,
                       fmt::format("awaits rank {} (tag {}), whose posts do not name it", counter.owner, counter.tag));
        }
    }
}

}  // namespace rondo::plan::detail
