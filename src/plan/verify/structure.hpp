#pragma once
// Checks of plans and launches that need no execution.

#include <span>

#include "plan/verify/verify.hpp"

namespace rondo::plan::detail {

// Budgets. They keep all index arithmetic within 64 bits and bound what a plan from a file can ask for.
inline constexpr std::int32_t kMaxRanks = 1 << 20;
inline constexpr std::int32_t kMaxChannels = 256;
inline constexpr std::int32_t kMaxIndexField = 1 << 20;
inline constexpr std::int32_t kMaxRepeat = 1 << 20;  ///< of a block, rows of a step, fan of an operand
inline constexpr std::int32_t kMaxLoops = 4096;      ///< tile loops of a lane
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

/// Throws Violation (machine.hpp) at the first fault.
void check_structure(std::span<const Operation> operations, const VerifyOptions& options);

}  // namespace rondo::plan::detail
