#pragma once
// Words that the builders share: operands, steps and plans with the usual fields set.

#include <bit>
#include <utility>

#include "plan/plan.hpp"
#include "plan/shapes.hpp"

namespace rondo::plan {

inline Operand input(Index block = fixed(0)) {
    return {.place = Place::Local, .buffer = Buffer::Input, .block = block};
}

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
    return {
        .place = Place::Inbox, .tag = static_cast<std::uint8_t>(tag), .acquire = true, .publish = true, .peer = peer};
}

/// A whole message to `peer`: acquired and posted by one step.
inline Operand send(Index peer, int tag = 0) {
    return {
        .place = Place::Outbox, .tag = static_cast<std::uint8_t>(tag), .acquire = true, .publish = true, .peer = peer};
}

/// The operand `fan` times; its indices count them in f.
inline Operand fan(std::int32_t count, Operand operand) {
    operand.fan = count;
    return operand;
}

/// The operand as piece `piece` of its message.
inline Operand at_piece(Index piece, Operand operand) {
    operand.piece = piece;
    return operand;
}

/// (c0 + cs*s) mod n.
inline Index cyclic(std::int32_t c0, std::int32_t cs, std::int32_t n) { return {.c0 = c0, .cs = cs, .mod = n}; }

/// All ranks but `rank`, from its successor on, by f = 0..n-2.
inline Index others(Rank rank, Rank n) { return {.c0 = rank + 1, .cf = 1, .mod = n}; }

/// Everyone's contribution to a reduction in rank order: the own input in its place, the others' raw inputs as the
/// messages in which they arrive.
inline std::vector<Operand> in_rank_order(Rank rank, Rank n) {
    const auto raw = [](Rank first, Rank count) {
        Operand operand = fan(count, receive({.base = first, .cf = 1}));
        operand.pre = true;
        return operand;
    };
    std::vector<Operand> operands;
    if (rank > 0) operands.push_back(raw(0, rank));
    operands.push_back(contribution());
    if (rank < n - 1) operands.push_back(raw(rank + 1, n - 1 - rank));
    return operands;
}

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

/// The plan with the same lanes on each of its channels. Blocks that repeat no time are left out.
inline Plan with_lanes(Plan plan, const Facts& facts, std::vector<Lane> lanes) {
    for (Lane& lane : lanes) std::erase_if(lane.blocks, [](const Block& block) { return block.repeat <= 0; });
    plan.channels.assign(static_cast<std::size_t>(facts.channels), Channel{std::move(lanes)});
    return plan;
}

/// The plan with the same single lane on each of its channels.
inline Plan with_lane(Plan plan, const Facts& facts, Lane lane) {
    std::vector<Lane> lanes;
    lanes.push_back(std::move(lane));
    return with_lanes(std::move(plan), facts, std::move(lanes));
}

/// The plan of a collective with one rank: a copy, with the scalars of a reduction where it is one.
inline Plan alone(Plan plan, const Facts& facts) {
    const bool sum = reduces(plan.collective);
    return with_lane(std::move(plan), facts,
                     {{each_tile({{.post = sum, .dsts = {output()}, .srcs = {sum ? contribution() : input()}}})}});
}

/// What a rank of a ring does with a message that it sends on; the Outbox is the step's last destination.
///
/// Where every FIFO has a single slot and every rank has sent, all slots of the ring are full: a step that holds its
/// message while it waits for a free slot would wait for ever. There the result is put down first (in the step's first
/// destination where it has a local one, else on `shelf`), which frees the slot, and sent on in a second step. With two
/// slots one step does it all: a rank adds a message to the ring only after it took the last of the previous tile out,
/// so that at most n messages are under way and n of the 2n slots are free.
inline std::vector<Step> relay(const Facts& facts, Step step, const Operand& shelf = scratch()) {
    if (facts.slots > 1) return {std::move(step)};
    const Operand outbox = step.dsts.back();
    step.dsts.pop_back();
    if (step.dsts.empty()) step.dsts.push_back(shelf);
    Step onward{
        .rows = step.rows, .width = step.width, .part = step.part, .dsts = {outbox}, .srcs = {step.dsts.front()}};
    return {std::move(step), std::move(onward)};
}

/// Blocks of scratch that relay() needs without a shelf of its own.
inline std::int32_t relay_scratch(const Facts& facts) { return facts.slots > 1 ? 0 : 1; }

inline bool always(const Facts&) { return true; }

/// ceil(log2(n)), n >= 1.
inline int log2_ceil(Rank n) { return static_cast<int>(std::bit_width(static_cast<std::uint32_t>(n - 1))); }

/// floor(log2(n)), n >= 1.
inline int log2_floor(Rank n) { return static_cast<int>(std::bit_width(static_cast<std::uint32_t>(n))) - 1; }

}  // namespace rondo::plan
