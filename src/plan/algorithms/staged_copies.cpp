// Staged all-gather, all-to-all and broadcast: blocks go through the window of the rank that has them.
//
// Steps, on rank r, for each tile:
//   all_gather:  the input is copied to the window and to block r of the output; all meet; block p of the output is
//                copied from the window of rank p, for p = r+1, r+2, ... around; all meet
//   all_to_all:  every block but r of the input is copied to the window, block r to the output; all meet; block p of
//                the output is block r of the window of rank p, for every other p; all meet
//   broadcast:   the root copies its input to the window and to its output and posts; the others await that, copy the
//                root's window to their outputs and post; the root awaits them all. The others need not meet
// Bytes: all_gather and all_to_all load (n-1)/n of the vector of n blocks from the others' windows, broadcast the
// vector.
// Cost: T = 2 alpha + 2(n-1) overhead (broadcast, root: n-1) + bytes * beta.
// In place: all_gather and broadcast copy the own block onto itself. all_to_all has none.
// Races: a window is written again after the second meeting of the tile, in this operation or the next.
// Source: the copy-in, copy-out exchange of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19 (2005), with one shared copy of what a rank has for all.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/staged.hpp"

namespace rondo::plan {

Plan build_staged_all_gather(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllGather, Algorithm::Staged, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.scratch_blocks = 1;
    plan.window = true;
    std::vector<Step> steps{{.dsts = {scratch(), output(fixed(rank))}, .srcs = {input()}}};
    meet_in_tile(steps, rank, n);
    const Index peer{.c0 = rank + 1, .cj = 1, .mod = n};
    steps.push_back({.rows = n - 1, .dsts = {output(peer)}, .srcs = {peer_scratch(peer)}});
    meet_in_tile(steps, rank, n);
    return with_lane(std::move(plan), facts, {{each_tile(std::move(steps))}});
}

Plan build_staged_all_to_all(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllToAll, Algorithm::Staged, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.scratch_blocks = n;
    plan.window = true;
    const Index peer{.c0 = rank + 1, .cj = 1, .mod = n};
    std::vector<Step> steps{{.rows = n - 1, .dsts = {scratch(peer)}, .srcs = {input(peer)}},
                            {.dsts = {output(fixed(rank))}, .srcs = {input(fixed(rank))}}};
    meet_in_tile(steps, rank, n);
    steps.push_back({.rows = n - 1, .dsts = {output(peer)}, .srcs = {peer_scratch(peer, fixed(rank))}});
    meet_in_tile(steps, rank, n);
    return with_lane(std::move(plan), facts, {{each_tile(std::move(steps))}});
}

Plan build_staged_broadcast(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Index root = fixed(facts.root);
    Plan plan = start_plan(Collective::Broadcast, Algorithm::Staged, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.scratch_blocks = 1;
    plan.window = true;
    if (rank == facts.root) {
        return with_lane(std::move(plan), facts,
                         {{each_tile({{.dsts = {scratch(), output()}, .srcs = {input()}},
                                      post_to(others(rank, n), n - 1),
                                      wait_for(others(rank, n), n - 1)})}});
    }
    return with_lane(
        std::move(plan), facts,
        {{each_tile({wait_for(root, 1), {.dsts = {output()}, .srcs = {peer_scratch(root)}}, post_to(root, 1)})}});
}

Cost cost_staged_broadcast(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = n == 1 ? 0 : bytes, .messages = n - 1};
}

}  // namespace rondo::plan
