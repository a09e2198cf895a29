#pragma once
// Plans of all ranks with launches that exercise them: whole tiles, tails, and tables with unequal and empty blocks.
// For tests, sweeps and `rondo-plan verify`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/shapes.hpp"
#include "plan/verify/verify.hpp"

namespace rondo::plan {

/// The plans of all ranks.
std::vector<Plan> build_all(const Shape& shape, const Facts& facts);

/// The facts with which a shape is tried at `nranks`: roots 0, 1 and n-1, one and two channels, built for one slot and
/// for `slots`, hosts in every equal division (ranks in blocks, and dealt in turn). Only those that the shape serves.
std::vector<Facts> standard_facts(const Shape& shape, Rank nranks, std::int32_t slots);

/// The first of them: one channel, root 0, built for one slot.  Nothing where the shape serves none of them.
std::optional<Facts> plain_facts(const Shape& shape, Rank nranks);

/// "all_reduce/ring".
std::string name_of(const Shape& shape);

/// How large a launch is.
struct LaunchSize {
    std::int64_t tiles = 1;  ///< whole tiles of every channel
    std::int64_t tail = 0;   ///< elements beyond them
    std::int64_t chunk = 2;
    std::int32_t align = 1;
    bool in_place = false;
};

/// A launch of that size. all_to_all_v gets tables whose blocks go from nothing to that size. Not for send_recv.
Launch make_launch(std::span<const Plan> plans, const LaunchSize& size);

/// Tile counts that fill, just overfill and twice overfill the slots of a FIFO: 0, 1, 2, S, S+1 and 2S+1.
std::vector<std::int64_t> standard_tiles(std::int32_t slots);

/// The launches with which a plan must be verified before it may run: each of the tile counts, the least and the
/// greatest of them with tails too, out of place and (where the collective has it) in place.
std::vector<Launch> standard_launches(std::span<const Plan> plans, std::span<const std::int64_t> tiles);
inline std::vector<Launch> standard_launches(std::span<const Plan> plans, std::int32_t slots) {
    return standard_launches(plans, standard_tiles(slots));
}

/// True where the collective has an in-place rule.
bool has_in_place(Collective collective) noexcept;

}  // namespace rondo::plan
