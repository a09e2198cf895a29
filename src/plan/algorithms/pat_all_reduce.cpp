// Parallel aggregated trees all-reduce: the reduce-scatter and then the all-gather of the two files beside this one, on
// the n parts of each tile instead of blocks. As few rounds as recursive doubling, for any number of ranks.
//
// Steps, for each tile of n parts, on rank r (part numbers modulo n):
//   d = 1, 2, 4, ... < n:   send the partial sums of parts r-x, x = d, 3d, 5d, ..., to rank r-d;
//                           add what comes from rank r+d to those of parts r-x, x = 0, 2d, 4d, ...
//   d = ..., 4, 2, 1:       send parts r-x, x = 0, 2d, 4d, ... with x + d < n, to rank r+d;
//                           write out parts r-d-x that come from rank r-d
// Bytes: each rank sends 2(n-1)/n of the vector, the least possible without multicast.
// Cost: T = 2m alpha + 2(n-1)/n * bytes * beta, with m = ceil(log2 n) messages up to 64 ranks, and about n/32 far
// above. In place: partial sums are kept in the output; an input part is read by the step that overwrites it, or sent
// before. Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
// 2506.20252 (2025).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/pat.hpp"

namespace rondo::plan {

Plan build_pat_all_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    const Rank r = rank;
    Plan plan = start_plan(Collective::AllReduce, Algorithm::Pat, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.parts = n;
    plan.message_parts = pat_message_parts(n);
    Lane lane;
    const auto neighbour = [&](Rank distance) { return fixed((r + distance + n) % n); };
    for (Rank d = 1; d < n; d *= 2) {
        const Operand own = d == 1 ? contribution() : output();
        add_round(lane, pat_rows(n, d), [&](PatRows rows) -> std::vector<Step> {
            return {{.rows = rows.count,
                     .part = rows.at(r - d, -2 * d, n),
                     .dsts = {row(send(neighbour(-d)))},
                     .srcs = {own}},
                    {.post = 2 * d >= n,
                     .rows = rows.count,
                     .part = rows.at(r, -2 * d, n),
                     .dsts = {output()},
                     .srcs = {row(receive(neighbour(d))), own}}};
        });
        if (d == 1 && n % 2 == 1) {
            lane.blocks.push_back(
                each_tile({{.part = fixed((r + 1) % n), .dsts = {output()}, .srcs = {contribution()}}}));
        }
    }
    for (Rank d = pat_farthest(n); d > 0; d /= 2) {
        add_round(lane, pat_rows(n, d), [&](PatRows rows) -> std::vector<Step> {
            return {{.rows = rows.count,
                     .part = rows.at(r, -2 * d, n),
                     .dsts = {row(send(neighbour(d)))},
                     .srcs = {output()}},
                    {.rows = rows.count,
                     .part = rows.at(r - d, -2 * d, n),
                     .dsts = {output()},
                     .srcs = {row(receive(neighbour(-d)))}}};
        });
    }
    return with_lane(std::move(plan), facts, std::move(lane));
}

Cost cost_pat_all_reduce(const Facts& facts, double bytes) {
    const double n = facts.nranks;
    const double trips = 2 * pat_trips(facts.nranks);
    return {.hops = trips, .bytes = 2 * (n - 1) / n * bytes, .messages = trips};
}

}  // namespace rondo::plan
