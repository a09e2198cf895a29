// Direct all-gather, broadcast and all-to-all: blocks are copied straight between the ranks' buffers.
//
// Steps:
//   all_gather:  entry of all; rank r stores its input to block r of everyone's output; exit of all
//   all_to_all:  entry of all; for s = 0..n-1 rank r loads block r of the input of rank r+s into its block r+s, so that
//                at any moment each input is read by about one rank; exit of all
//   broadcast:   the root posts its counter and copies to its own output; the others await it, load the root's input
//                and post theirs; the root awaits all of these. Nobody else need meet: only the root is read
// Bytes: all_gather and all_to_all (n-1)/n of the vector of n blocks for each rank; broadcast the vector.
// Cost: T = 2 alpha + 2(n-1) overhead (broadcast: n-1) + bytes moved * beta.
// In place: all_gather stores block r to where it is; broadcast: the root copies onto itself. all_to_all has none.
// Source: the direct exchange in one hop of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19 (2005), with loads and stores in the place of messages.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/direct.hpp"

namespace rondo::plan {

Plan build_direct_all_gather(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllGather, Algorithm::Direct, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    // The own output first, then the successors: ranks do not all store to rank 0 at once.
    const Index peers{.c0 = rank, .cf = 1, .mod = n};
    return met(std::move(plan), facts, {.dsts = {fan(n, peer_output(peers, fixed(rank)))}, .srcs = {input()}});
}

Plan build_direct_all_to_all(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllToAll, Algorithm::Direct, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    const Index peer = cyclic(rank, 1, n);
    return met(std::move(plan), facts, {.dsts = {output(peer)}, .srcs = {peer_input(peer, fixed(rank))}}, n);
}

Plan build_direct_broadcast(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Index root = fixed(facts.root);
    Plan plan = start_plan(Collective::Broadcast, Algorithm::Direct, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    Lane lane;
    if (rank == facts.root) {
        lane.blocks = {{.when = When::Before, .steps = {post_to(others(rank, n), n - 1)}},
                       each_tile({{.dsts = {output()}, .srcs = {input()}}}),
                       {.when = When::After, .steps = {wait_for(others(rank, n), n - 1)}}};
    } else {
        lane.blocks = {{.when = When::Before, .steps = {wait_for(root, 1)}},
                       each_tile({{.dsts = {output()}, .srcs = {peer_input(root)}}}),
                       {.when = When::After, .steps = {post_to(root, 1)}}};
    }
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_direct_exchange(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = (n - 1) / n * bytes, .messages = 2 * (n - 1)};
}

Cost cost_direct_broadcast(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 2.0, .bytes = n == 1 ? 0 : bytes, .messages = n - 1};
}

}  // namespace rondo::plan
