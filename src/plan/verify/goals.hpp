#pragma once
// What the buffers must hold when the plans have run.

#include <span>

#include "plan/verify/machine.hpp"

namespace rondo::plan::detail {

/// Throws Violation where an output is wrong; fills the report's rounding depths and the fingerprint of the outputs.
void check_goals(const Machine& machine, std::span<const Operation> operations, const VerifyOptions& options,
                 Report& report);

}  // namespace rondo::plan::detail
