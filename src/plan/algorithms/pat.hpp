#pragma once
// Rows of the parallel aggregated trees: messages of many blocks, none longer than kAggregate blocks.

#include <algorithm>

#include "plan/algorithms/common.hpp"

namespace rondo::plan {

/// Most blocks in one message: bounds the slots, 32 tiles long, and is past the point where the latency matters.
inline constexpr std::int32_t kAggregate = 32;

/// Some of a round's rows: rows first + kAggregate*s + j, for j = 0..count-1 and the repeats s of their block.
struct PatRows {
    std::int32_t count = 0;
    std::int32_t first = 0;

    /// start + stride * row, modulo `mod` where that is not 0.
    [[nodiscard]] Index at(std::int32_t start, std::int32_t stride, std::int32_t mod = 0) const {
        return {.c0 = start + stride * first, .cs = stride * kAggregate, .cj = stride, .mod = mod};
    }
};

/// Rows that a round over `distance` moves between n ranks: the multiples x of 2*distance with x + distance < n.
inline std::int32_t pat_rows(Rank n, Rank distance) { return (n - distance + 2 * distance - 1) / (2 * distance); }

/// Messages of the round.
inline std::int32_t pat_messages(Rank n, Rank distance) {
    return (pat_rows(n, distance) + kAggregate - 1) / kAggregate;
}

/// Messages of all rounds.
inline double pat_trips(Rank n) {
    double trips = 0;
    for (Rank distance = 1; distance < n; distance *= 2) trips += pat_messages(n, distance);
    return trips;
}

/// Most blocks in a message between n ranks.
inline std::int32_t pat_message_parts(Rank n) { return std::clamp(pat_rows(n, 1), 1, kAggregate); }

/// Appends a round of `rows` rows; steps_of(PatRows) makes the steps of one message. A rank sends a message before it
/// waits for the one of the same rows, so one slot suffices however many messages a round has.
template <class StepsOf>
void add_round(Lane& lane, std::int32_t rows, const StepsOf& steps_of) {
    const std::int32_t full = rows / kAggregate;
    const std::int32_t rest = rows % kAggregate;
    if (full > 0) lane.blocks.push_back(each_tile(steps_of(PatRows{kAggregate, 0}), full));
    if (rest > 0) lane.blocks.push_back(each_tile(steps_of(PatRows{rest, full * kAggregate})));
}

/// The operand as row j of its message.
inline Operand row(const Operand& message) { return at_piece({.cj = 1}, message); }

/// The highest power of two below n, n >= 2: the longest distance.
inline Rank pat_farthest(Rank n) { return Rank{1} << (log2_ceil(n) - 1); }

}  // namespace rondo::plan
