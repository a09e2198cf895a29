// Ring all-gather: every block travels once around the ring 0 -> 1 -> ... -> n-1 -> 0 and is written out at each rank.
//
// Steps, for each tile, on rank r:
//   s = 0         the own block is written out and sent
//   s = 1..n-2    block r-s: what arrives is written out and goes on
//   s = n-1       block r+1: what arrives is written out
// Bytes: each rank sends (n-1)/n of the vector of n blocks, the least possible without multicast.
// Cost: T = (n-1) alpha + (n-1)/n * bytes * beta.
// In place (input is block r of the output): the first step copies block r to itself.
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

Plan build_ring_all_gather(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Rank r = rank;
    Plan plan = start_plan(Collective::AllGather, Algorithm::Ring, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    const Index next = fixed((r + 1) % n);
    const Index prev = fixed((r + n - 1) % n);
    Lane lane;
    lane.blocks = {
        each_tile({{.dsts = {output(fixed(r)), send(next)}, .srcs = {input()}}}),
        each_tile(relay(facts, {.dsts = {output(cyclic(r - 1, -1, n)), send(next)}, .srcs = {receive(prev)}}), n - 2),
        each_tile({{.dsts = {output(cyclic(r + 1, 0, n))}, .srcs = {receive(prev)}}}),
    };
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_ring_all_gather(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n - 1, .bytes = (n - 1) / n * bytes, .messages = n - 1};
}

}  // namespace rondo::plan
