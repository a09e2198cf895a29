// Ring all-reduce: a reduce-scatter pass and an all-gather pass around the ring 0 -> 1 -> ... -> n-1 -> 0.
//
// Steps, for each tile of n parts, on rank r:
//   s = 0         send part r-1
//   s = 1..n-2    part r-1-s: what arrives plus the own contribution goes on
//   s = n-1       part r: the sum is complete; it is written out and goes on
//   n-2 times     parts r-1, r-2, ...: what arrives is written out and goes on
//   once          part r+1: what arrives is written out
// Bytes: each rank sends 2(n-1)/n of the vector, the least that any all-reduce without multicast can do.
// Cost: T = 2(n-1) alpha + 2(n-1)/n * bytes * beta.
// In place: a part is overwritten by the step that reads the own contribution to it, or later.
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

Plan build_ring_all_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Rank r = rank;
    Plan plan = start_plan(Collective::AllReduce, Algorithm::Ring, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.parts = n;
    plan.scratch_blocks = relay_scratch(facts);
    const Index next = fixed((r + 1) % n);
    const Index prev = fixed((r + n - 1) % n);
    Lane lane;
    lane.blocks = {
        each_tile({{.part = cyclic(r - 1, 0, n), .dsts = {send(next)}, .srcs = {contribution()}}}),
        each_tile(
            relay(facts, {.part = cyclic(r - 2, -1, n), .dsts = {send(next)}, .srcs = {receive(prev), contribution()}}),
            n - 2),
        each_tile(relay(
            facts,
            {.post = true, .part = fixed(r), .dsts = {output(), send(next)}, .srcs = {receive(prev), contribution()}})),
        each_tile(relay(facts, {.part = cyclic(r - 1, -1, n), .dsts = {output(), send(next)}, .srcs = {receive(prev)}}),
                  n - 2),
        each_tile({{.part = cyclic(r + 1, 0, n), .dsts = {output()}, .srcs = {receive(prev)}}}),
    };
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_ring_all_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = 2 * (n - 1), .bytes = 2 * (n - 1) / n * bytes, .messages = 2 * (n - 1)};
}

}  // namespace rondo::plan
