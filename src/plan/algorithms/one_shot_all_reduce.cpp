// One-shot all-reduce: everyone sends its input to everyone and reduces all n of them. One hop, for small vectors.
//
// Steps, for each tile, on rank r:
//   1. send the input, as it is, to the n-1 others
//   2. output = reduce(inputs 0, 1, ..., n-1), the own one read in its place, the others from their messages
// All ranks evaluate the same expression, so they hold the same bits. The premultiplier is applied at this one place:
// applied before sending, a peer's product would be rounded to the element type and the own one not.
// Bytes: each rank sends (n-1) times the vector.
// Cost: T = alpha + (n-1) (overhead + bytes * beta).
// In place: one lane, so a tile of the input is sent before the output overwrites it. A rank waits for messages only
// after it has sent its own, and for a free slot only until the peer has ended the previous tile: one slot suffices.
// Source: the concatenation in one round, with n-1 ports, of Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient
// algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS 8 (1997); reduced on
// arrival.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

Plan build_one_shot_all_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllReduce, Algorithm::OneShot, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    return with_lane(std::move(plan), facts,
                     {{each_tile({{.dsts = {fan(n - 1, send(others(rank, n)))}, .srcs = {input()}},
                                  {.post = true, .dsts = {output()}, .srcs = in_rank_order(rank, n)}})}});
}

Cost cost_one_shot_all_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = n == 1 ? 0.0 : 1.0, .bytes = (n - 1) * bytes, .messages = n - 1};
}

}  // namespace rondo::plan
