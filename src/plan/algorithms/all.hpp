#pragma once
// Declarations of every builder and its cost, one pair for each file of this folder. The catalogue (shapes.cpp) is the
// only user; everyone else goes through it.

#include "plan/plan.hpp"

namespace rondo::plan {

Plan build_ring_all_reduce(const Facts& facts, Rank rank);
Cost cost_ring_all_reduce(const Facts& facts, double bytes);

}  // namespace rondo::plan
