// Two-shot all-reduce: a reduce-scatter and an all-gather, each in one hop between all pairs.
//
// Steps, for each tile of n parts, on rank r:
//   1. for s = 1..n-1: send part r+s of the input, as it is, to rank r+s
//   2. part r = reduce(part r of inputs 0, 1, ..., n-1), the own one read in its place; written out and sent to all
//   3. for s = 1..n-1: write part r-s out as it arrives from rank r-s
// Bytes: each rank sends 2(n-1)/n of the vector.
// Cost: T = 2 alpha + 2(n-1) overhead + 2(n-1)/n * bytes * beta.
// In place: one lane; part r+s of the input is sent before step 3 overwrites it.
// With one slot per FIFO step 2 must give the slots of step 1 back before it can send: see relay().
// Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004 (reduce-scatter, then all-gather).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

Plan build_two_shot_all_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllReduce, Algorithm::TwoShot, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.parts = n;
    const Index after = cyclic(rank + 1, 1, n);
    const Index before = cyclic(rank - 1, -1, n);
    Lane lane;
    lane.blocks = {
        each_tile({{.part = after, .dsts = {send(after)}, .srcs = {input()}}}, n - 1),
        each_tile(relay(facts, {.post = true,
                                .part = fixed(rank),
                                .dsts = {output(), fan(n - 1, send(others(rank, n)))},
                                .srcs = in_rank_order(rank, n)})),
        each_tile({{.part = before, .dsts = {output()}, .srcs = {receive(before)}}}, n - 1),
    };
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_two_shot_all_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = 2 * (n - 1) / n * bytes, .messages = 2 * (n - 1)};
}

}  // namespace rondo::plan
