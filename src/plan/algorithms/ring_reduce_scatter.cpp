// Ring reduce-scatter: every block travels once around the ring 0 -> 1 -> ... -> n-1 -> 0, gathering contributions,
// and ends at the rank that it belongs to.
//
// Steps, for each tile, on rank r:
//   s = 0         send block r-1
//   s = 1..n-2    block r-1-s: what arrives plus the own contribution goes on
//   s = n-1       block r: the sum is complete and written out
// Bytes: each rank sends (n-1)/n of the vector of n blocks, the least possible.
// Cost: T = (n-1) alpha + (n-1)/n * bytes * beta.
// In place (output is block r of the input): block r is read by the step that overwrites it.
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

Plan build_ring_reduce_scatter(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Rank r = rank;
    Plan plan = start_plan(Collective::ReduceScatter, Algorithm::Ring, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.scratch_blocks = relay_scratch(facts);
    const Index next = fixed((r + 1) % n);
    const Index prev = fixed((r + n - 1) % n);
    Lane lane;
    lane.blocks = {
        each_tile({{.dsts = {send(next)}, .srcs = {contribution(cyclic(r - 1, 0, n))}}}),
        each_tile(relay(facts, {.dsts = {send(next)}, .srcs = {receive(prev), contribution(cyclic(r - 2, -1, n))}}),
                  n - 2),
        each_tile({{.post = true, .dsts = {output()}, .srcs = {receive(prev), contribution(fixed(r))}}}),
    };
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_ring_reduce_scatter(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n - 1, .bytes = (n - 1) / n * bytes, .messages = n - 1};
}

}  // namespace rondo::plan
