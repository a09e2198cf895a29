// Pairwise all-to-all and all-to-all-v: every block goes straight from its source to its destination.
//
// Steps, for each tile, on rank r, in two lanes:
//   sends:     for s = 1..n-1 send block r+s of the input to rank r+s
//   receives:  copy the own block; for s = 1..n-1 write block r-s out as it arrives from rank r-s
// Bytes: each rank sends (n-1)/n of its vector of n blocks.
// Cost: T = alpha + (n-1) overhead + (n-1)/n * bytes * beta: no message waits for another.
// No deadlock with any number of slots: order sends and receives by (tile, s). The first receive that cannot end waits
// for a send of the same (tile, s), and that one waits in its lane only for earlier sends, or for a slot that an
// earlier receive frees; so there is no first one. In the v-form the blocks have their own extents, and both ends of
// a block skip the tiles that it does not reach.
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
// (2005), pairwise exchange.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

namespace {

Plan build(Collective collective, const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(collective, Algorithm::Pairwise, facts, rank);
    const Index after = cyclic(rank + 1, 1, n);
    const Index before = cyclic(rank - 1, -1, n);
    const Index own = fixed(rank);
    Lane sends;
    sends.blocks = {each_tile({{.dsts = {send(after)}, .srcs = {input(after)}}}, n - 1)};
    Lane receives;
    receives.blocks = {each_tile({{.dsts = {output(own)}, .srcs = {input(own)}}}),
                       each_tile({{.dsts = {output(before)}, .srcs = {receive(before)}}}, n - 1)};
    return with_lanes(std::move(plan), facts, {sends, receives});
}

}  // namespace

Plan build_pairwise_all_to_all(const Facts& facts, Rank rank) { return build(Collective::AllToAll, facts, rank); }

Plan build_pairwise_all_to_all_v(const Facts& facts, Rank rank) { return build(Collective::AllToAllV, facts, rank); }

Cost cost_pairwise(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 1.0, .bytes = (n - 1) / n * bytes, .messages = n - 1};
}

}  // namespace rondo::plan
