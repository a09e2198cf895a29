// NVLS: all-reduce, reduce-scatter, all-gather and broadcast through a switch that loads the sum of all ranks' buffers
// and stores to all of them (NVLink SHARP).
//
// Steps, on rank r: entry counters; then for each tile one step; exit counters.
//   all_reduce:      part r of all outputs = part r of all inputs, reduced by the switch        (n parts)
//   reduce_scatter:  output = block r of all inputs, reduced by the switch
//   all_gather:      block r of all outputs = input
//   broadcast:       the root: all outputs = input. It awaits the others' entry; they await its exit
// Bytes through a rank's link, in its busier direction: all_reduce (1 + 1/n) of the vector (the switch loads all of it
// from each rank, and the rank stores its part; the same back); the others the vector.
// Cost: T = 2 alpha + 2(n-1) overhead + those bytes * beta (broadcast: n-1 overhead).
// In place: part (block) r is read and written by rank r alone, in one step. The order of a switch's sum is not
// specified, so all ranks hold the same bits (one rank loads each part), but not those of another run.
// Source: Klenk, Jiang, Thorson and Dennison, "An in-network architecture for accelerating shared-memory
// multiprocessor collectives", ISCA 2020.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/direct.hpp"

namespace rondo::plan {

namespace {

/// All ranks' inputs, reduced by the switch.
Operand all_contributions(Index block = fixed(0)) {
    return {.place = Place::Multicast, .buffer = Buffer::Input, .pre = true, .block = block};
}

/// All ranks' outputs.
Operand all_outputs(Index block = fixed(0)) {
    return {.place = Place::Multicast, .buffer = Buffer::Output, .block = block};
}

}  // namespace

Plan build_nvls_all_reduce(const Facts& facts, Rank rank) {
    Plan plan = start_plan(Collective::AllReduce, Algorithm::Nvls, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    plan.parts = facts.nranks;
    return met(std::move(plan), facts,
               {.post = true, .part = fixed(rank), .dsts = {all_outputs()}, .srcs = {all_contributions()}});
}

Plan build_nvls_reduce_scatter(const Facts& facts, Rank rank) {
    Plan plan = start_plan(Collective::ReduceScatter, Algorithm::Nvls, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    return met(std::move(plan), facts, {.post = true, .dsts = {output()}, .srcs = {all_contributions(fixed(rank))}});
}

Plan build_nvls_all_gather(const Facts& facts, Rank rank) {
    Plan plan = start_plan(Collective::AllGather, Algorithm::Nvls, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    return met(std::move(plan), facts, {.dsts = {all_outputs(fixed(rank))}, .srcs = {input()}});
}

Plan build_nvls_broadcast(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Index root = fixed(facts.root);
    Plan plan = start_plan(Collective::Broadcast, Algorithm::Nvls, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    Lane lane;
    if (rank == facts.root) {
        lane.blocks = {{.when = When::Before, .steps = {wait_for(others(rank, n), n - 1)}},
                       each_tile({{.dsts = {all_outputs()}, .srcs = {input()}}}),
                       {.when = When::After, .steps = {post_to(others(rank, n), n - 1)}}};
    } else {
        lane.blocks = {{.when = When::Before, .steps = {post_to(root, 1)}},
                       {.when = When::After, .steps = {wait_for(root, 1)}}};
    }
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_nvls_all_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    if (facts.nranks == 1) return {};
    return {.hops = 2, .bytes = (1 + 1 / n) * bytes, .messages = 2 * (n - 1)};
}

Cost cost_nvls_blocks(const Facts& facts, double bytes) {
    if (facts.nranks == 1) return {};
    return {.hops = 2, .bytes = bytes, .messages = 2.0 * (facts.nranks - 1)};
}

Cost cost_nvls_broadcast(const Facts& facts, double bytes) {
    if (facts.nranks == 1) return {};
    return {.hops = 2, .bytes = bytes, .messages = facts.nranks - 1.0};
}

}  // namespace rondo::plan
