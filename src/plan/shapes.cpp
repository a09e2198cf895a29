#include "plan/shapes.hpp"

#include <algorithm>
#include <array>

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"
#include "plan/algorithms/hierarchical.hpp"

namespace rondo::plan {

namespace {

using enum Collective;

constexpr Needs kPeers{.peer_memory = true};
constexpr Needs kReads{.peer_reads = true};
constexpr Needs kWindows{.windows = true};
constexpr Needs kSwitch{.multicast = true};

constexpr std::array kShapes{
    Shape{AllReduce, Algorithm::Ring, {}, always, build_ring_all_reduce, cost_ring_all_reduce},
    Shape{AllReduce, Algorithm::Tree, {}, always, build_tree_all_reduce, cost_tree_all_reduce},
    Shape{AllReduce,
          Algorithm::HalvingDoubling,
          {},
          always,
          build_halving_doubling_all_reduce,
          cost_halving_doubling_all_reduce},
    Shape{AllReduce, Algorithm::Pat, {}, always, build_pat_all_reduce, cost_pat_all_reduce},
    Shape{AllReduce,
          Algorithm::Hierarchical,
          {},
          equal_hosts,
          build_hierarchical_all_reduce,
          cost_hierarchical_all_reduce},
    Shape{AllReduce, Algorithm::OneShot, {}, always, build_one_shot_all_reduce, cost_one_shot_all_reduce},
    Shape{AllReduce, Algorithm::TwoShot, {}, always, build_two_shot_all_reduce, cost_two_shot_all_reduce},
    Shape{AllReduce, Algorithm::Direct, kPeers, always, build_direct_all_reduce, cost_direct_all_reduce},
    Shape{AllReduce, Algorithm::Staged, kWindows, always, build_staged_all_reduce, cost_staged_all_reduce},
    Shape{AllReduce, Algorithm::Nvls, kSwitch, always, build_nvls_all_reduce, cost_nvls_all_reduce},

    Shape{Reduce, Algorithm::Ring, {}, always, build_ring_reduce, cost_ring_rooted},
    Shape{Reduce, Algorithm::Tree, {}, always, build_tree_reduce, cost_tree_rooted},
    Shape{Reduce, Algorithm::Direct, kPeers, always, build_direct_reduce, cost_direct_reduce},
    Shape{Reduce, Algorithm::Staged, kWindows, always, build_staged_reduce, cost_staged_reduce},

    Shape{Broadcast, Algorithm::Ring, {}, always, build_ring_broadcast, cost_ring_rooted},
    Shape{Broadcast, Algorithm::Tree, {}, always, build_tree_broadcast, cost_tree_rooted},
    Shape{Broadcast, Algorithm::Direct, kReads, always, build_direct_broadcast, cost_direct_broadcast},
    Shape{Broadcast, Algorithm::Staged, kWindows, always, build_staged_broadcast, cost_staged_broadcast},
    Shape{Broadcast, Algorithm::Nvls, kSwitch, always, build_nvls_broadcast, cost_nvls_broadcast},

    Shape{AllGather, Algorithm::Ring, {}, always, build_ring_all_gather, cost_ring_all_gather},
    Shape{AllGather, Algorithm::Pat, {}, always, build_pat_all_gather, cost_pat},
    Shape{
        AllGather, Algorithm::Hierarchical, {}, regular_hosts, build_hierarchical_all_gather, cost_hierarchical_blocks},
    Shape{AllGather, Algorithm::Direct, kPeers, always, build_direct_all_gather, cost_direct_exchange},
    Shape{AllGather, Algorithm::Staged, kWindows, always, build_staged_all_gather, cost_staged_exchange},
    Shape{AllGather, Algorithm::Nvls, kSwitch, always, build_nvls_all_gather, cost_nvls_blocks},

    Shape{ReduceScatter, Algorithm::Ring, {}, always, build_ring_reduce_scatter, cost_ring_reduce_scatter},
    Shape{ReduceScatter, Algorithm::Pat, {}, always, build_pat_reduce_scatter, cost_pat},
    Shape{ReduceScatter,
          Algorithm::Hierarchical,
          {},
          regular_hosts,
          build_hierarchical_reduce_scatter,
          cost_hierarchical_blocks},
    Shape{ReduceScatter, Algorithm::Direct, kPeers, always, build_direct_reduce_scatter, cost_direct_reduce_scatter},
    Shape{ReduceScatter, Algorithm::Staged, kWindows, always, build_staged_reduce_scatter, cost_staged_exchange},
    Shape{ReduceScatter, Algorithm::Nvls, kSwitch, always, build_nvls_reduce_scatter, cost_nvls_blocks},

    Shape{AllToAll, Algorithm::Pairwise, {}, always, build_pairwise_all_to_all, cost_pairwise},
    Shape{AllToAll, Algorithm::Bruck, {}, always, build_bruck_all_to_all, cost_bruck_all_to_all},
    Shape{AllToAll, Algorithm::Direct, kReads, always, build_direct_all_to_all, cost_direct_exchange},
    Shape{AllToAll, Algorithm::Staged, kWindows, always, build_staged_all_to_all, cost_staged_exchange},

    Shape{AllToAllV, Algorithm::Pairwise, {}, always, build_pairwise_all_to_all_v, cost_pairwise},

    Shape{Barrier, Algorithm::Dissemination, {}, always, build_dissemination_barrier, cost_dissemination_barrier},
    Shape{Barrier, Algorithm::Direct, kPeers, always, build_direct_barrier, cost_direct_barrier},
};

}  // namespace

std::span<const Shape> shapes() { return kShapes; }

const Shape* find_shape(Collective collective, Algorithm algorithm) {
    const auto* found = std::ranges::find_if(
        kShapes, [&](const Shape& shape) { return shape.collective == collective && shape.algorithm == algorithm; });
    return found == kShapes.end() ? nullptr : found;
}

}  // namespace rondo::plan
