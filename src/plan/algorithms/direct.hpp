#pragma once
// Words of the shapes that address other ranks' buffers: operands and the two rounds of counters around the data.
//
// No rank may touch another's buffers before that rank has entered the operation, nor after it has left it. So each
// plan has one lane: counters posted and awaited before the tiles (entry), and again after them (exit). A lane runs in
// order, and a wait makes visible what the poster did before its post, so data needs no flags of its own.

#include "plan/algorithms/common.hpp"

namespace rondo::plan {

inline Operand peer_input(Index peer, Index block = fixed(0)) {
    return {.place = Place::Peer, .buffer = Buffer::Input, .peer = peer, .block = block};
}

inline Operand peer_output(Index peer, Index block = fixed(0)) {
    return {.place = Place::Peer, .buffer = Buffer::Output, .peer = peer, .block = block};
}

/// Another rank's input as its contribution to a reduction.
inline Operand peer_contribution(Index peer, Index block = fixed(0)) {
    return {.place = Place::Peer, .buffer = Buffer::Input, .pre = true, .peer = peer, .block = block};
}

/// Rank f, for f = 0, 1, ...
inline Index rank_f() { return {.cf = 1}; }

/// Advances the own counter, which the `count` ranks `peers` await.
inline Step post_to(Index peers, std::int32_t count) {
    return {.kind = Kind::Post, .dsts = {fan(count, {.place = Place::Counter, .peer = peers})}};
}

/// Waits for the counters of the `count` ranks `peers`.
inline Step wait_for(Index peers, std::int32_t count) {
    return {.kind = Kind::Wait, .srcs = {fan(count, {.place = Place::Counter, .peer = peers})}};
}

/// Everyone waits for everyone.
inline Block meet(When when, Rank rank, Rank n) {
    return {.when = when, .steps = {post_to(others(rank, n), n - 1), wait_for(others(rank, n), n - 1)}};
}

/// Entry of all, `step` on each tile, exit of all.
inline Plan met(Plan plan, const Facts& facts, Step step, std::int32_t repeat = 1) {
    Lane lane;
    lane.blocks.push_back(meet(When::Before, plan.rank, plan.nranks));
    lane.blocks.push_back(each_tile({std::move(step)}, repeat));
    lane.blocks.push_back(meet(When::After, plan.rank, plan.nranks));
    return with_lane(std::move(plan), facts, std::move(lane));
}

}  // namespace rondo::plan
