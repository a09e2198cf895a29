// Broadcast and reduce along the chain root -> root+1 -> ... -> root-1 (reduce: root+1 -> ... -> root). The tiles
// follow each other through the chain, so a long vector takes hardly longer than a send to one neighbour.
//
// Steps, for each tile:
//   broadcast: the root writes out and sends its input; every rank writes out what arrives and sends it on, but the
//              last, which only writes it out
//   reduce:    rank root+1 sends its contribution; every rank adds its own to what arrives and sends it on; the root
//              writes the sum out
// Bytes: a rank sends the vector once.
// Cost: T = (n-1 + tiles-1) (alpha + tile * beta), about (n-1) alpha + bytes * beta.
// A chain is no cycle: no rank waits for itself, with any number of slots.
// Source: the pipelined chain of van de Geijn and Watts, "SUMMA: scalable universal matrix multiplication algorithm",
// Concurrency: Practice and Experience 9 (1997).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

Plan build_ring_broadcast(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::Broadcast, Algorithm::Ring, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    const Rank position = (rank - facts.root + n) % n;
    const Operand source = position == 0 ? input() : receive(fixed((rank + n - 1) % n));
    Step step{.dsts = {output()}, .srcs = {source}};
    if (position != n - 1) step.dsts.push_back(send(fixed((rank + 1) % n)));
    return with_lane(std::move(plan), facts, {{each_tile({step})}});
}

Plan build_ring_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::Reduce, Algorithm::Ring, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    const Rank position = (rank - facts.root - 1 + n) % n;
    const bool last = position == n - 1;
    Step step{.post = last, .dsts = {last ? output() : send(fixed((rank + 1) % n))}};
    if (position != 0) step.srcs.push_back(receive(fixed((rank + n - 1) % n)));
    step.srcs.push_back(contribution());
    return with_lane(std::move(plan), facts, {{each_tile({step})}});
}

Cost cost_ring_rooted(const Facts& facts, double bytes) {
    if (facts.nranks == 1) return {};
    return {.hops = facts.nranks - 1.0, .bytes = bytes, .messages = 1};
}

}  // namespace rondo::plan
