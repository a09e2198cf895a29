// Direct all-reduce, reduce-scatter and reduce: every rank reduces its share straight from all ranks' inputs.
//
// Steps, on rank r: entry counters of all; then for each tile one step; exit counters of all.
//   all_reduce:      part r of everyone's output = the sum of part r of inputs 0, 1, ..., n-1    (n parts)
//   reduce:          part r of the root's output = the same                                      (n parts)
//   reduce_scatter:  output = the sum of block r of inputs 0, 1, ..., n-1
// Bytes: a rank loads (n-1)/n of the vector from its peers; all_reduce stores as much, reduce 1/n (but the root).
// Cost: T = 2 alpha + 2(n-1) overhead + loads and stores * beta, for the two rounds of counters and the data.
// In place: part (block) r is read and written by rank r alone, in one step.
// Source: the all-to-all reduce-scatter and all-gather of Rabenseifner, "Optimization of collective reduction
// operations", ICCS 2004, with loads and stores in the place of messages.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/direct.hpp"

namespace rondo::plan {

Plan build_direct_all_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllReduce, Algorithm::Direct, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.parts = n;
    return met(std::move(plan), facts,
               {.post = true,
                .part = fixed(rank),
                .dsts = {fan(n, peer_output(rank_f()))},
                .srcs = {fan(n, peer_contribution(rank_f()))}});
}

Plan build_direct_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::Reduce, Algorithm::Direct, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.parts = n;
    return met(std::move(plan), facts,
               {.post = true,
                .part = fixed(rank),
                .dsts = {peer_output(fixed(facts.root))},
                .srcs = {fan(n, peer_contribution(rank_f()))}});
}

Plan build_direct_reduce_scatter(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::ReduceScatter, Algorithm::Direct, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    return met(std::move(plan), facts,
               {.post = true, .dsts = {output()}, .srcs = {fan(n, peer_contribution(rank_f(), fixed(rank)))}});
}

Cost cost_direct_all_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = 2 * (n - 1) / n * bytes, .messages = 2 * (n - 1)};
}

Cost cost_direct_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = n == 1 ? 0 : bytes, .messages = 2 * (n - 1)};
}

Cost cost_direct_reduce_scatter(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = (n - 1) / n * bytes, .messages = 2 * (n - 1)};
}

}  // namespace rondo::plan
