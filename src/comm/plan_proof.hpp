#pragma once
// Proofs of plans at run time: of those that the library builds, and of those that the user brings.

#include <string>
#include <vector>

#include "base/types.hpp"
#include "plan/plan.hpp"

namespace rondo::comm {

/// Proves plans (of all ranks, in rank order) for launches that meet every case of the tile loop. Errors: InvalidUsage
/// with the verifier's text.
void prove(const std::vector<plan::Plan>& plans, std::uint32_t slots);

/// The plans in a file, proved; none for an empty name. Errors: InvalidArgument naming the file.
std::vector<plan::Plan> load_plans(const std::string& file, Rank nranks, std::uint32_t slots);

}  // namespace rondo::comm
