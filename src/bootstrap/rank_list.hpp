#pragma once
// Ranks as people write them.

#include <string>
#include <vector>

#include "base/types.hpp"

namespace rondo::bootstrap {

/// "0-2, 5": ranks in ascending order as ranges.
std::string rank_list(const std::vector<Rank>& ranks);

}  // namespace rondo::bootstrap
