#pragma once
// Where the blocks of the user's buffers are, for each collective.

#include <cstdint>

#include "plan/verify/verify.hpp"

namespace rondo::plan::detail {

constexpr bool has_tables(Collective collective) {
    return collective == Collective::AllToAllV || collective == Collective::SendRecv;
}

/// The table of a user buffer of `rank`; has_tables() holds.
const ExtentTable& table_of(const Launch& launch, Rank rank, Buffer buffer);

/// Blocks of a user buffer, 0 where the collective does not use the buffer on this rank.
std::int64_t block_count(const Plan& plan, const Launch& launch, Buffer buffer);

std::int64_t block_length(const Plan& plan, const Launch& launch, Buffer buffer, std::int64_t block);
std::int64_t block_offset(const Plan& plan, const Launch& launch, Buffer buffer, std::int64_t block);

/// In place: input element e is output element e + shift. Without an in-place rule, or where one of the buffers does
/// not exist on this rank: aliased is false.
struct Alias {
    bool aliased = false;
    std::int64_t shift = 0;
};
Alias alias_of(const Plan& plan, const Launch& launch);

/// Tiles that the lanes of a channel run: enough for the longest extent that the rank knows.
std::int64_t tiles_of(const Plan& plan, const Launch& launch, std::int32_t channel);

inline Cut cut_of(const Plan& plan, const Launch& launch) {
    return {.chunk = launch.chunk,
            .parts = plan.parts,
            .channels = static_cast<std::int32_t>(plan.channels.size()),
            .align = launch.align};
}

}  // namespace rondo::plan::detail
