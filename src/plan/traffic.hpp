#pragma once
// What a plan moves, by its own arithmetic: computed from the steps and range() alone, without running anything.

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"
#include "plan/range.hpp"

namespace rondo::plan {

/// The sizes of one launch.
struct Sizes {
    std::int64_t count = 0;  ///< elements of a block
    std::int64_t element_bytes = 1;
    Cut cut{};
    std::span<const std::int64_t> input_extents{};   ///< elements of each block, where Input has a table
    std::span<const std::int64_t> output_extents{};  ///< likewise for Output
};

/// Payload from this rank to each peer: arrays of one element for each rank.
struct PlannedTraffic {
    std::vector<std::uint64_t> sent_bytes;
    std::vector<std::uint64_t> sent_messages;
    std::vector<std::uint64_t> direct_bytes;  ///< loaded from or stored to the peer's own buffers
};

PlannedTraffic traffic_of(const Plan& plan, const Sizes& sizes);

}  // namespace rondo::plan
