#pragma once
// Words that the builders share: operands and plans with the usual fields set.

#include <bit>
#include <utility>

#include "plan/plan.hpp"
#include "plan/shapes.hpp"

namespace rondo::plan {

inline Operand input(Index block = fixed(0)) { return {.place = Place::Local, .buffer = Buffer::Input, .block = block}; }

/// This rank's input as a contribution to a reduction: its first read.
inline Operand contribution(Index block = fixed(0)) {
    return {.place = Place::Local, .buffer = Buffer::Input, .pre = true, .block = block};
}

inline Operand output(Index block = fixed(0)) {
    return {.place = Place::Local, .buffer = Buffer::Output, .block = block};
}

inline Operand scratch(Index block = fixed(0)) {
    return {.place = Place::Local, .buffer = Buffer::Scratch, .block = block};
}

/// A whole message from `peer`: acquired and given back by one step.
inline Operand receive(Index peer, int tag = 0) {
    return {.place = Place::Inbox,
            .tag = static_cast<std::uint8_t>(tag),
            .acquire = true,
            .publish = true,
            .peer = peer};
}

/// A whole message to `peer`: acquired and posted by one step.
inline Operand send(Index peer, int tag = 0) {
    return {.place = Place::Outbox,
            .tag = static_cast<std::uint8_t>(tag),
            .acquire = true,
            .publish = true,
            .peer = peer};
}

/// (c0 + cs*s) mod n.
inline Index cyclic(std::int32_t c0, std::int32_t cs, std::int32_t n) { return {.c0 = c0, .cs = cs, .mod = n}; }

inline Block each_tile(std::vector<Step> steps, std::int32_t repeat = 1) {
    return {.when = When::EachTile, .repeat = repeat, .steps = std::move(steps)};
}

/// An empty plan with the fields that follow from the facts; the builder sets parts, messages and channels.
inline Plan start_plan(Collective collective, Algorithm algorithm, const Facts& facts, Rank rank) {
    return {.collective = collective,
            .algorithm = algorithm,
            .nranks = facts.nranks,
            .rank = rank,
            .root = rooted(collective) ? facts.root : 0};
}

/// The plan with the same single lane on each of its channels.
inline Plan with_lane(Plan plan, const Facts& facts, const Lane& lane) {
    plan.channels.assign(static_cast<std::size_t>(facts.channels), Channel{{lane}});
    return plan;
}

inline bool always(const Facts&) { return true; }

/// ceil(log2(n)), n >= 1.
inline int log2_ceil(Rank n) { return std::bit_width(static_cast<std::uint32_t>(n - 1)); }

}  // namespace rondo::plan
