#pragma once
// Declarations of every builder and its cost. The catalogue (shapes.cpp) is the only user; everyone else goes through
// it.

#include "plan/plan.hpp"

namespace rondo::plan {

Plan build_ring_all_reduce(const Facts& facts, Rank rank);
Plan build_ring_reduce_scatter(const Facts& facts, Rank rank);
Plan build_ring_all_gather(const Facts& facts, Rank rank);
Plan build_ring_broadcast(const Facts& facts, Rank rank);
Plan build_ring_reduce(const Facts& facts, Rank rank);
Cost cost_ring_all_reduce(const Facts& facts, double bytes);
Cost cost_ring_reduce_scatter(const Facts& facts, double bytes);
Cost cost_ring_all_gather(const Facts& facts, double bytes);
Cost cost_ring_rooted(const Facts& facts, double bytes);

Plan build_direct_all_reduce(const Facts& facts, Rank rank);
Plan build_direct_reduce(const Facts& facts, Rank rank);
Plan build_direct_reduce_scatter(const Facts& facts, Rank rank);
Plan build_direct_all_gather(const Facts& facts, Rank rank);
Plan build_direct_all_to_all(const Facts& facts, Rank rank);
Plan build_direct_broadcast(const Facts& facts, Rank rank);
Plan build_direct_barrier(const Facts& facts, Rank rank);
Cost cost_direct_all_reduce(const Facts& facts, double bytes);
Cost cost_direct_reduce(const Facts& facts, double bytes);
Cost cost_direct_reduce_scatter(const Facts& facts, double bytes);
Cost cost_direct_exchange(const Facts& facts, double bytes);
Cost cost_direct_broadcast(const Facts& facts, double bytes);
Cost cost_direct_barrier(const Facts& facts, double bytes);

Plan build_staged_all_reduce(const Facts& facts, Rank rank);
Plan build_staged_reduce(const Facts& facts, Rank rank);
Plan build_staged_reduce_scatter(const Facts& facts, Rank rank);
Plan build_staged_all_gather(const Facts& facts, Rank rank);
Plan build_staged_all_to_all(const Facts& facts, Rank rank);
Plan build_staged_broadcast(const Facts& facts, Rank rank);
Cost cost_staged_all_reduce(const Facts& facts, double bytes);
Cost cost_staged_reduce(const Facts& facts, double bytes);
Cost cost_staged_exchange(const Facts& facts, double bytes);
Cost cost_staged_broadcast(const Facts& facts, double bytes);

Plan build_one_shot_all_reduce(const Facts& facts, Rank rank);
Plan build_two_shot_all_reduce(const Facts& facts, Rank rank);
Cost cost_one_shot_all_reduce(const Facts& facts, double bytes);
Cost cost_two_shot_all_reduce(const Facts& facts, double bytes);

Plan build_tree_all_reduce(const Facts& facts, Rank rank);
Plan build_tree_broadcast(const Facts& facts, Rank rank);
Plan build_tree_reduce(const Facts& facts, Rank rank);
Cost cost_tree_all_reduce(const Facts& facts, double bytes);
Cost cost_tree_rooted(const Facts& facts, double bytes);

Plan build_halving_doubling_all_reduce(const Facts& facts, Rank rank);
Cost cost_halving_doubling_all_reduce(const Facts& facts, double bytes);

Plan build_bruck_all_to_all(const Facts& facts, Rank rank);
Cost cost_bruck_all_to_all(const Facts& facts, double bytes);

Plan build_pat_all_gather(const Facts& facts, Rank rank);
Plan build_pat_reduce_scatter(const Facts& facts, Rank rank);
Plan build_pat_all_reduce(const Facts& facts, Rank rank);
Cost cost_pat(const Facts& facts, double bytes);
Cost cost_pat_all_reduce(const Facts& facts, double bytes);

Plan build_hierarchical_all_reduce(const Facts& facts, Rank rank);
Plan build_hierarchical_all_gather(const Facts& facts, Rank rank);
Plan build_hierarchical_reduce_scatter(const Facts& facts, Rank rank);
Cost cost_hierarchical_all_reduce(const Facts& facts, double bytes);
Cost cost_hierarchical_blocks(const Facts& facts, double bytes);

Plan build_nvls_all_reduce(const Facts& facts, Rank rank);
Plan build_nvls_reduce_scatter(const Facts& facts, Rank rank);
Plan build_nvls_all_gather(const Facts& facts, Rank rank);
Plan build_nvls_broadcast(const Facts& facts, Rank rank);
Cost cost_nvls_all_reduce(const Facts& facts, double bytes);
Cost cost_nvls_blocks(const Facts& facts, double bytes);
Cost cost_nvls_broadcast(const Facts& facts, double bytes);

Plan build_pairwise_all_to_all(const Facts& facts, Rank rank);
Plan build_pairwise_all_to_all_v(const Facts& facts, Rank rank);
Cost cost_pairwise(const Facts& facts, double bytes);

Plan build_dissemination_barrier(const Facts& facts, Rank rank);
Cost cost_dissemination_barrier(const Facts& facts, double bytes);

}  // namespace rondo::plan
