// Barriers: no rank leaves before every rank has entered.
//
// Dissemination, over FIFOs and so over any transport. Launched with count 1 and a readable byte as input:
//   for k = 0..ceil(log2 n)-1: send the byte to rank r + 2^k; receive one from rank r - 2^k into scratch
//   After round k a rank knows that the 2^(k+1) ranks up to itself have entered, for a message of round k is sent only
//   after the rounds before. The byte itself says nothing: the messages do.
// Cost: T = ceil(log2 n) (alpha + 1 byte * beta).
// No rank waits before it has sent, and a slot is free once the peer has ended the round: one slot suffices.
//
// Direct, on counters that all ranks can see: post the own, await all others. Cost: T = alpha + (n-1) overhead.
//
// Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", International Journal of Parallel
// Programming 17 (1988).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/direct.hpp"

namespace rondo::plan {

Plan build_dissemination_barrier(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::Barrier, Algorithm::Dissemination, facts, rank);
    plan.scratch_blocks = 1;
    std::vector<Step> steps;
    for (int k = 0; k < log2_ceil(n); ++k) {
        const Rank distance = Rank{1} << k;
        steps.push_back({.dsts = {send(fixed((rank + distance) % n))}, .srcs = {input()}});
        steps.push_back({.dsts = {scratch()}, .srcs = {receive(fixed((rank - distance + n) % n))}});
    }
    // One channel: there is nothing to share out.
    return with_lane(std::move(plan), {.nranks = n}, {{each_tile(std::move(steps))}});
}

Plan build_direct_barrier(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::Barrier, Algorithm::Direct, facts, rank);
    Lane lane;
    if (n > 1) lane.blocks = {meet(When::Before, rank, n)};
    return with_lane(std::move(plan), {.nranks = n}, std::move(lane));
}

Cost cost_dissemination_barrier(const Facts& facts, double) {
    const double rounds = log2_ceil(facts.nranks);
    return {.hops = rounds, .bytes = rounds, .messages = rounds};
}

Cost cost_direct_barrier(const Facts& facts, double) {
    return {.hops = facts.nranks == 1 ? 0.0 : 1.0, .messages = facts.nranks - 1.0};
}

}  // namespace rondo::plan
