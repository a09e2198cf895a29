// Staged all-reduce, reduce and reduce-scatter: every rank puts its input into its window, reduces its share of all
// inputs, and takes the other shares from the windows of those that reduced them.
//
// Steps, on rank r, for each tile of n parts (reduce_scatter: of n blocks):
//   1. every part but r of the input is copied to the window; all meet
//   2. part r of inputs 0, 1, ..., n-1 is reduced, in that order, into the output and into the second block of the
//      window; all meet
//   3. all_reduce: part p of the output is copied from the window of rank p, for every p but r
//      reduce: the root does so
//   After the last tile all meet: the windows are free for the next operation. reduce_scatter has no step 3.
// Bytes: a rank loads (n-1)/n of the vector from the others' windows in step 2 and again in step 3 (all_reduce); it
// stores and loads as much in its own window, which stays in its cache.
// Cost: T = 3 alpha + 3(n-1) overhead + bytes * beta (reduce_scatter: 2 alpha + 2(n-1) overhead).
// In place: part r is read and written by step 2 alone; every other part is in the window before the output is written.
// Races: step 1 of the next tile writes what step 2 of this tile read on all ranks, which is before their second
// meeting; step 2 of the next tile writes what step 3 read, which is before their next first meeting. The result has a
// block of its own because the last tile is cut otherwise than those before: what was part r is not then.
// Source: the reduce-scatter and all-gather of Rabenseifner, "Optimization of collective reduction operations", ICCS
// 2004, each in one hop through shared memory (copy in, copy out).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/staged.hpp"

namespace rondo::plan {

namespace {

// The blocks of a window: inputs as they are, and results.
constexpr Index kInputs = fixed(0);
constexpr Index kResults = fixed(1);

/// Part p of the output from the window of rank p, for p = r+1, r+2, ... around.
Step collect(Rank rank, Rank n) {
    const Index part{.c0 = rank + 1, .cj = 1, .mod = n};
    return {.rows = n - 1, .part = part, .dsts = {output()}, .srcs = {peer_scratch(part, kResults)}};
}

Plan staged(Plan plan, const Facts& facts, bool has_output, bool collects) {
    const Rank n = facts.nranks;
    const Rank rank = plan.rank;
    plan.parts = n;
    plan.scratch_blocks = 2;
    plan.window = true;
    std::vector<Step> steps = stage_all_but(rank, n);
    meet_in_tile(steps, rank, n);
    Step reduction{.post = true,
                   .part = fixed(rank),
                   .dsts = {scratch(kResults)},
                   .srcs = staged_in_rank_order(rank, n, fixed(0), kInputs)};
    if (has_output) reduction.dsts.insert(reduction.dsts.begin(), output());
    steps.push_back(std::move(reduction));
    meet_in_tile(steps, rank, n);
    if (collects) steps.push_back(collect(rank, n));
    return with_lane(std::move(plan), facts, {{each_tile(std::move(steps)), meet(When::After, rank, n)}});
}

}  // namespace

Plan build_staged_all_reduce(const Facts& facts, Rank rank) {
    Plan plan = start_plan(Collective::AllReduce, Algorithm::Staged, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    return staged(std::move(plan), facts, true, true);
}

Plan build_staged_reduce(const Facts& facts, Rank rank) {
    Plan plan = start_plan(Collective::Reduce, Algorithm::Staged, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    return staged(std::move(plan), facts, rank == facts.root, rank == facts.root);
}

Plan build_staged_reduce_scatter(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::ReduceScatter, Algorithm::Staged, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.scratch_blocks = n;
    plan.window = true;
    const Index block{.c0 = rank + 1, .cj = 1, .mod = n};
    std::vector<Step> steps{{.rows = n - 1, .dsts = {scratch(block)}, .srcs = {input(block)}}};
    meet_in_tile(steps, rank, n);
    steps.push_back(
        {.post = true, .dsts = {output()}, .srcs = staged_in_rank_order(rank, n, fixed(rank), fixed(rank))});
    meet_in_tile(steps, rank, n);
    return with_lane(std::move(plan), facts, {{each_tile(std::move(steps))}});
}

Cost cost_staged_all_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 3.0, .bytes = 2 * (n - 1) / n * bytes, .messages = 3 * (n - 1)};
}

Cost cost_staged_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 3.0, .bytes = 2 * (n - 1) / n * bytes, .messages = 3 * (n - 1)};
}

Cost cost_staged_exchange(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = (n - 1) / n * bytes, .messages = 2 * (n - 1)};
}

}  // namespace rondo::plan
