// Parallel aggregated trees all-gather: n binomial trees, one from each rank, run at once; what the trees send over the
// same link in the same round is one message.
//
// Steps, for each tile, on rank r: write out the own block, then for the distances d = highest power of two below n,
// ..., 2, 1:
//   send blocks r-x, for x = 0, 2d, 4d, ... while x + d < n, to rank r+d; write out blocks r-d-x that come from rank
//   r-d
// (block numbers modulo n). After the round a rank has the blocks r-x for all multiples x of d below n. The farthest
// link is used first, for one block, and the long messages go to the next neighbour: Bruck's all-gather does it the
// other way round. A round of more than 32 blocks takes several messages.
// Bytes: each rank sends (n-1)/n of the vector of n blocks, the least possible without multicast.
// Cost: T = m alpha + (n-1)/n * bytes * beta, with m = ceil(log2 n) messages up to 64 ranks, and about n/32 far above.
// In place (input is block r of the output): the first step copies block r to itself.
// Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252
// (2025).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/pat.hpp"

namespace rondo::plan {

Plan build_pat_all_gather(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Rank r = rank;
    Plan plan = start_plan(Collective::AllGather, Algorithm::Pat, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.message_parts = pat_message_parts(n);
    Lane lane;
    lane.blocks.push_back(each_tile({{.dsts = {output(fixed(r))}, .srcs = {input()}}}));
    for (Rank d = pat_farthest(n); d > 0; d /= 2) {
        const Operand to = row(send(fixed((r + d) % n)));
        const Operand from = row(receive(fixed((r - d + n) % n)));
        add_round(lane, pat_rows(n, d), [&](PatRows rows) -> std::vector<Step> {
            return {{.rows = rows.count, .dsts = {to}, .srcs = {output(rows.at(r, -2 * d, n))}},
                    {.rows = rows.count, .dsts = {output(rows.at(r - d, -2 * d, n))}, .srcs = {from}}};
        });
    }
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_pat(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    return {.hops = pat_trips(facts.nranks), .bytes = (n - 1) / n * bytes, .messages = pat_trips(facts.nranks)};
}

}  // namespace rondo::plan
