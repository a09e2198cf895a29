#include "plan/verify/machine.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "plan/verify/layout.hpp"

namespace rondo::plan::detail {

namespace {

/// Without shared memory, counters or several lanes there is nothing that two threads touch, so no clocks are needed.
bool needs_clocks(const Operation& operation) {
    for (const Plan& plan : operation.plans) {
        if (plan.collective == Collective::Barrier) return true;
        std::size_t lanes = 0;
        for (const Channel& channel : plan.channels) {
            lanes += channel.lanes.size();
            for (const Lane& lane : channel.lanes) {
                for (const Block& block : lane.blocks) {
                    for (const Step& step : block.steps) {
                        const auto shared = [](const Operand& operand) {
                            return operand.place == Place::Peer || operand.place == Place::Multicast ||
                                   operand.place == Place::Counter;
                        };
                        if (std::ranges::any_of(step.dsts, shared) || std::ranges::any_of(step.srcs, shared)) {
                            return true;
                        }
                    }
                }
            }
        }
        if (lanes > 1) return true;
    }
    return false;
}

}  // namespace

Machine::Machine(std::span<const Operation> operations, const VerifyOptions& options, Report& report)
    : operations_(operations),
      options_(options),
      report_(report),
      nranks_(static_cast<Rank>(operations.front().plans.size())),
      empty_(options.followed.empty() ? kNothing : kUnfollowed),
      expressions_(nranks_),
      ranks_(static_cast<std::size_t>(nranks_)) {
    make_threads();
    make_memory();
}

void Machine::make_threads() {
    std::vector<std::int32_t> widths;
    for (const Operation& operation : operations_) {
        for (const Plan& plan : operation.plans) {
            widths.resize(std::max(widths.size(), plan.channels.size()));
            for (std::size_t c = 0; c < plan.channels.size(); ++c) {
                widths[c] = std::max(widths[c], static_cast<std::int32_t>(plan.channels[c].lanes.size()));
            }
        }
    }
    for (const std::int32_t width : widths) {
        lane_base_.push_back(static_cast<std::int32_t>(lanes_per_rank_));
        lanes_per_rank_ += static_cast<std::uint32_t>(width);
    }
    lanes_.resize(ranks_.size() * lanes_per_rank_);
    for (std::uint32_t id = 0; id < lanes_.size(); ++id)
        lanes_[id].thread = static_cast<std::uint32_t>(ranks_.size()) + id;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ranks_[rank].thread = static_cast<std::uint32_t>(rank);

    if (std::ranges::none_of(operations_, needs_clocks)) return;
    std::vector<bool> watched(ranks_.size(), options_.watched.empty());
    for (const Rank rank : options_.watched) watched[static_cast<std::size_t>(rank)] = true;
    std::vector<std::uint32_t> entry_of(ranks_.size() + lanes_.size(), kUnwatched);
    for (std::uint32_t thread = 0; thread < entry_of.size(); ++thread) {
        const std::size_t rank = thread < ranks_.size() ? thread : (thread - ranks_.size()) / lanes_per_rank_;
        if (!watched[rank]) continue;
        entry_of[thread] = static_cast<std::uint32_t>(thread_of_entry_.size());
        thread_of_entry_.push_back(thread);
    }
    clocks_.emplace(std::move(entry_of), thread_of_entry_.size());
}

void Machine::make_memory() {
    for (Rank rank = 0; rank < nranks_; ++rank) {
        RankState& state = ranks_[static_cast<std::size_t>(rank)];
        std::size_t channels = 0;
        std::int64_t scratch = 0;
        for (std::int32_t o = 0; o < static_cast<std::int32_t>(operations_.size()); ++o) {
            const Plan& plan = plan_of(o, rank);
            const Launch& launch = operations_[static_cast<std::size_t>(o)].launch;
            channels = std::max(channels, plan.channels.size());
            scratch = std::max(scratch, plan.scratch_blocks * launch.chunk * plan.parts);

            const std::int64_t in = input_size(plan, launch);
            const std::int64_t out = output_size(plan, launch);
            const Alias alias = alias_of(plan, launch);
            UserBuffers user;
            user.aliased = alias.aliased;
            user.input_base = std::max<std::int64_t>(alias.shift, 0);
            user.output_base = std::max<std::int64_t>(-alias.shift, 0);
            user.first = Memory(alias.aliased ? std::max(user.input_base + in, user.output_base + out) : in, empty_);
            user.second = Memory(alias.aliased ? 0 : out, empty_);
            fill_input(user, plan, launch, expressions_.leaf(o, rank));
            state.user.push_back(std::move(user));
        }
        state.scratch.assign(channels, Memory(scratch, empty_));
    }
}

void Machine::fill_input(UserBuffers& user, const Plan& plan, const Launch& launch, ExprId leaf) const {
    const std::int64_t begin = user.input_base;
    const std::int64_t end = begin + input_size(plan, launch);
    const Value value{.expr = leaf, .shift = -begin};
    const auto& followed = options_.followed;
    if (followed.empty() || (!reduces(plan.collective) && std::ranges::find(followed, plan.rank) != followed.end())) {
        user.first.fill(begin, end, value);
        return;
    }
    user.first.fill(begin, end, {.expr = kUnfollowed});
    if (!reduces(plan.collective)) return;
    for (const Rank block : followed) {
        user.first.fill(begin + block * launch.count, begin + (block + 1) * launch.count, value);
    }
}

void Machine::run() {
    for (Rank rank = 0; rank < nranks_; ++rank) begin_operation(rank);
    while (!runnable_.empty()) {
        const std::uint32_t id = runnable_.front();
        runnable_.pop_front();
        run_lane(id);
    }
    const auto last = static_cast<std::int32_t>(operations_.size()) - 1;
    const bool done = std::ranges::all_of(
        ranks_, [&](const RankState& rank) { return rank.operation == last && rank.lanes_running == 0; });
    if (!done) report_deadlock();
    check_fifos();
    check_counters();
    finish_report();
}

void Machine::begin_operation(Rank rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    const std::int32_t operation = ++state.operation;
    const Plan& plan = plan_of(operation, rank);
    const Launch& launch = operations_[static_cast<std::size_t>(operation)].launch;
    const PlanLocation where{.operation = operation, .rank = rank};
    if (clocks_) {
        // The user writes the buffers before the operation: no peer may touch them before that.
        UserBuffers& user = state.user[static_cast<std::size_t>(operation)];
        for (Memory* memory : {&user.first, &user.second}) {
            const Race race = memory->touch(0, memory->size(), true, state.thread, *clocks_);
            if (race.found) {
                throw Violation{where, fmt::format("{} touches elements {}..{} of its buffers before it has entered",
                                                   describe(race.other), race.begin, race.end)};
            }
        }
        state.begun.push_back(clocks_->now(state.thread));
    }
    for (std::size_t c = 0; c < plan.channels.size(); ++c) {
        for (std::size_t l = 0; l < plan.channels[c].lanes.size(); ++l) {
            const std::uint32_t id = lane_id(rank, static_cast<std::int32_t>(c), static_cast<std::int32_t>(l));
            LaneState& lane = lanes_[id];
            lane.rank = rank;
            lane.channel = static_cast<std::int32_t>(c);
            lane.index = static_cast<std::int32_t>(l);
            lane.operation = operation;
            lane.lane = &plan.channels[c].lanes[l];
            lane.tiles = tiles_of(plan, launch, lane.channel);
            lane.phase = When::Before;
            lane.loop = 0;
            lane.loops = lane.lane->loops();
            lane.block = lane.step = lane.acquired = 0;
            lane.tile = lane.repeat = 0;
            lane.hops = state.hops;
            lane.running = true;
            if (clocks_) clocks_->join_thread(lane.thread, state.thread);
            ++state.lanes_running;
            wake(id);
        }
    }
    if (state.lanes_running == 0) end_operation(rank);
}

void Machine::end_operation(Rank rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    for (std::uint32_t l = 0; l < lanes_per_rank_; ++l) {
        const LaneState& lane = lanes_[static_cast<std::uint32_t>(rank) * lanes_per_rank_ + l];
        if (lane.lane == nullptr) continue;
        state.hops = std::max(state.hops, lane.hops);
        if (clocks_) clocks_->join_thread(state.thread, lane.thread);
    }
    if (clocks_) {
        // The user reads, writes or frees the buffers after the operation: no peer may touch them any more.
        UserBuffers& user = state.user[static_cast<std::size_t>(state.operation)];
        for (Memory* memory : {&user.first, &user.second}) {
            const Race race = memory->touch(0, memory->size(), true, state.thread, *clocks_);
            if (race.found) {
                throw Violation{
                    {.operation = state.operation, .rank = rank},
                    fmt::format("returns while {} may still {} elements {}..{} of its buffers", describe(race.other),
                                race.other_writes ? "write" : "read", race.begin, race.end)};
            }
        }
        if (plan_of(state.operation, rank).collective == Collective::Barrier) check_barrier(rank);
    }
    if (state.operation + 1 < static_cast<std::int32_t>(operations_.size())) begin_operation(rank);
}

void Machine::check_barrier(Rank rank) const {
    const RankState& state = ranks_[static_cast<std::size_t>(rank)];
    for (Rank other = 0; other < nranks_; ++other) {
        const RankState& peer = ranks_[static_cast<std::size_t>(other)];
        const bool entered = peer.operation >= state.operation &&
                             clocks_->ordered(peer.begun[static_cast<std::size_t>(state.operation)], state.thread);
        if (!entered) {
            throw Violation{{.operation = state.operation, .rank = rank},
                            fmt::format("leaves the barrier although rank {} may not have entered it", other)};
        }
    }
}

bool Machine::settle(LaneState& lane) {
    for (;;) {
        if (lane.block >= lane.lane->blocks.size()) {
            lane.block = 0;
            if (lane.phase == When::After) return false;
            if (lane.phase == When::EachTile && ++lane.tile == lane.tiles && ++lane.loop < lane.loops) lane.tile = 0;
            lane.phase = lane.tile < lane.tiles ? When::EachTile : When::After;
            continue;
        }
        const Block& block = lane.lane->blocks[lane.block];
        const bool elsewhere = block.when == When::EachTile && block.loop != lane.loop;
        if (block.when != lane.phase || elsewhere || lane.repeat >= block.repeat || block.steps.empty()) {
            ++lane.block;
            lane.repeat = 0;
            lane.step = 0;
            continue;
        }
        if (lane.step < block.steps.size()) return true;
        lane.step = 0;
        ++lane.repeat;
    }
}

void Machine::run_lane(std::uint32_t id) {
    LaneState& lane = lanes_[id];
    while (settle(lane)) {
        if (options_.max_operands > 0) spend(lane);
        if (!execute(id)) return;
        lane.acquired = 0;
        ++lane.step;
        ++report_.steps;
    }
    lane.running = false;
    RankState& rank = ranks_[static_cast<std::size_t>(lane.rank)];
    if (--rank.lanes_running == 0) end_operation(lane.rank);
}

void Machine::spend(const LaneState& lane) {
    const Step& step = lane.lane->blocks[lane.block].steps[lane.step];
    for (const std::vector<Operand>* side : {&step.dsts, &step.srcs}) {
        for (const Operand& operand : *side) operands_spent_ += std::int64_t{step.rows} * operand.fan;
    }
    if (operands_spent_ > options_.max_operands) {
        refuse(lane,
               fmt::format("the plans take more than {} operands, which is the limit here", options_.max_operands));
    }
}

bool Machine::execute(std::uint32_t id) {
    LaneState& lane = lanes_[id];
    const Step& step = lane.lane->blocks[lane.block].steps[lane.step];
    switch (step.kind) {
        case Kind::Post: post(lane, step); return true;
        case Kind::Wait: return wait(id, step);
        case Kind::Move: break;
    }
    if (empty(lane, step)) return true;
    if (!acquire(id, step)) return false;
    move(lane, step);
    publish(lane, step);
    return true;
}

void Machine::report_deadlock() const {
    std::string text;
    std::size_t blocked = 0;
    PlanLocation where;
    for (const LaneState& lane : lanes_) {
        if (!lane.running) continue;
        if (++blocked == 1) where = location(lane);
        if (blocked <= 4) {
            text += fmt::format("{}rank {} channel {} lane {} waits for {}", blocked == 1 ? "" : "; ", lane.rank,
                                lane.channel, lane.index, waits_for(lane));
        }
    }
    throw Violation{where, fmt::format("deadlock, {} lanes cannot go on: {}", blocked, text)};
}

std::string Machine::waits_for(const LaneState& lane) const {
    const Step& step = lane.lane->blocks[lane.block].steps[lane.step];
    std::size_t at = 0;
    for (const std::vector<Operand>* side : {&step.srcs, &step.dsts}) {
        for (const Operand& operand : *side) {
            for (std::int64_t f = 0; f < operand.fan; ++f, ++at) {
                if (at != lane.acquired) continue;
                const std::int64_t peer = operand.peer.at(lane.repeat, 0, f);
                if (operand.place == Place::Counter)
                    return fmt::format("a post by rank {} (tag {})", peer, operand.tag);
                if (operand.place == Place::Inbox)
                    return fmt::format("a message from rank {} (tag {})", peer, operand.tag);
                return fmt::format("a free slot to rank {} (tag {})", peer, operand.tag);
            }
        }
    }
    return "nothing";
}

void Machine::note_fifo(const Fifo& fifo) {
    const std::uint64_t key = (static_cast<std::uint64_t>(fifo.source) << 32U) ^
                              (static_cast<std::uint64_t>(fifo.target) << 12U) ^
                              (static_cast<std::uint64_t>(fifo.channel) << 2U) ^ fifo.tag;
    report_.fingerprints.messages += mix(fifo.hash, key);
    report_.fingerprints.lengths += mix(fifo.lengths, key);
}

void Machine::finish_report() {
    for (const Fifo& fifo : fifos_) {
        if (options_.fingerprints && fifo.posted > 0) note_fifo(fifo);
        if (fifo.source == fifo.target) continue;
        report_.messages += fifo.posted;
        report_.elements += fifo.elements;
        if (nranks_ <= kMaxEdgeRanks && fifo.posted > 0) {
            EdgeTraffic& edge = report_.edges[{fifo.source, fifo.target}];
            edge.messages += fifo.posted;
            edge.elements += fifo.elements;
        }
    }
    for (const RankState& rank : ranks_) {
        report_.hops = std::max(report_.hops, rank.hops);
        report_.max_sent = std::max(report_.max_sent, rank.sent);
        report_.peer_elements += rank.peer;
        report_.max_peer = std::max(report_.max_peer, rank.peer);
    }
    for (std::uint64_t id = 0; id < lanes_.size(); ++id) {
        report_.fingerprints.trace += mix(lanes_[id].trace, id);
        report_.fingerprints.syncs += mix(lanes_[id].syncs, id);
    }
    for (const Counter& counter : counters_) {
        for (std::size_t o = 0; o < counter.uses.size(); ++o) {
            const CounterUse& use = counter.uses[o];
            if (use.posts.empty()) continue;
            std::uint64_t hash = mix(mix(static_cast<std::uint64_t>(counter.owner), counter.tag), o);
            hash = mix(mix(hash, static_cast<std::uint64_t>(counter.channel)), use.posts.size());
            for (const Rank peer : use.peers) hash = mix(hash, static_cast<std::uint64_t>(peer));
            report_.fingerprints.counters += hash;
        }
    }
}

PlanLocation Machine::location(const LaneState& lane) {
    return {.operation = lane.operation,
            .rank = lane.rank,
            .channel = lane.channel,
            .lane = lane.index,
            .block = static_cast<std::int32_t>(lane.block),
            .step = static_cast<std::int32_t>(lane.step),
            .tile = lane.tile,
            .repeat = lane.repeat};
}

void Machine::refuse(const LaneState& lane, std::string what) { throw Violation{location(lane), std::move(what)}; }

std::string Machine::describe(Moment moment) const {
    const std::uint32_t thread = thread_of_entry_[moment.entry];
    if (thread < ranks_.size()) return fmt::format("rank {}'s caller", thread);
    const LaneState& lane = lanes_[thread - ranks_.size()];
    return fmt::format("rank {} (channel {}, lane {})", lane.rank, lane.channel, lane.index);
}

}  // namespace rondo::plan::detail
