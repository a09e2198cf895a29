#pragma once
// Which shape serves a call, and with how long chunks. The order of preference is a table measured on host memory.

#include <cstdint>

#include "comm/call.hpp"
#include "comm/options.hpp"
#include "comm/placement.hpp"
#include "plan/shapes.hpp"

namespace rondo::comm {

/// How the ranks of a communicator reach each other.
enum class Reach : std::uint8_t {
    Threads,  ///< every rank addresses every other's buffers
    Host,     ///< all ranks share memory for messages, windows and counters
    Pull,     ///< the same, and every rank may copy out of every other's buffers
    Network,  ///< some pairs have a network between them
};

/// `pulls`: the test of copies out of other processes went well everywhere.
Reach reach_of(const Placement& placement, bool pulls) noexcept;

/// The shape for a call of `bytes` bytes (total_bytes) on `facts`: the first of the order of preference that the
/// filter allows and that serves; else any such shape of the catalogue.
/// Errors: InvalidUsage naming the setting and the collective where none is left.
const plan::Shape& choose_shape(plan::Collective collective, std::int64_t bytes, const plan::Facts& facts, Reach reach,
                                const AlgorithmFilter& filter);

/// Channels of a plan of this shape: those of the options, or what suits the shape.
std::int32_t channels_for(const plan::Shape& shape, Rank nranks, const Options& options) noexcept;

/// Bytes of a part of a full tile: as large as a slot allows (or, with protocol LL, a line; or a window).
/// Errors: InvalidUsage where a slot, line or window is too short for the plan.
std::int64_t chunk_bytes_for(const plan::Plan& plan, const Options& options);

}  // namespace rondo::comm
