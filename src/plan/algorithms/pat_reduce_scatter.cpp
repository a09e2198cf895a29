// Parallel aggregated trees reduce-scatter: the all-gather of pat_all_gather.cpp backwards in time. n binomial trees,
// one to each rank, run at once; what the trees send over the same link in the same round is one message.
//
// Steps, for each tile, on rank r, for the distances d = 1, 2, 4, ... below n. Before the round a rank has partial sums
// of the blocks r-x for all multiples x of d below n (block numbers modulo n; at first its own contributions):
//   send those of x = d, 3d, 5d, ... to rank r-d; add what comes from rank r+d to those of x = 0, 2d, 4d, ...
// In the last round x = 0 alone arrives: block r, complete. Where n is odd, nothing arrives in the first round for
// x = n-1, and the own contribution is kept as it is. The partial sum of x is kept in block x/2 of scratch: n/2 tiles,
// where the paper, which runs the trees one after another for long vectors, needs log2 n.
// Bytes: each rank sends (n-1)/n of the vector of n blocks, the least possible.
// Cost: T = m alpha + (n-1)/n * bytes * beta, with m = ceil(log2 n) messages up to 64 ranks, and about n/32 far above.
// In place (output is block r of the input): block r is read in the first round and written in the last.
// Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252
// (2025).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/pat.hpp"

namespace rondo::plan {

Plan build_pat_reduce_scatter(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Rank r = rank;
    Plan plan = start_plan(Collective::ReduceScatter, Algorithm::Pat, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.message_parts = pat_message_parts(n);
    plan.scratch_blocks = (n + 1) / 2;
    Lane lane;
    for (Rank d = 1; d < n; d *= 2) {
        const Operand to = row(send(fixed((r - d + n) % n)));
        const Operand from = row(receive(fixed((r + d) % n)));
        const bool last = 2 * d >= n;
        add_round(lane, pat_rows(n, d), [&](PatRows rows) -> std::vector<Step> {
            const Operand sent = d == 1 ? contribution(rows.at(r - 1, -2, n)) : scratch(rows.at(d / 2, d));
            const Operand kept = d == 1 ? contribution(rows.at(r, -2, n)) : scratch(rows.at(0, d));
            return {{.rows = rows.count, .dsts = {to}, .srcs = {sent}},
                    {.post = last,
                     .rows = rows.count,
                     .dsts = {last ? output() : scratch(rows.at(0, d))},
                     .srcs = {from, kept}}};
        });
        if (d == 1 && n % 2 == 1) {
            lane.blocks.push_back(
                each_tile({{.dsts = {scratch(fixed(n / 2))}, .srcs = {contribution(fixed((r + 1) % n))}}}));
        }
    }
    return with_lane(std::move(plan), facts, std::move(lane));
}

}  // namespace rondo::plan
