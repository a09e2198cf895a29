// Recursive halving and doubling all-reduce: a reduce-scatter by halving and an all-gather by doubling, in log2 rounds.
//
// Let p be the highest power of two up to n. Of the first 2(n-p) ranks each odd one folds into the even one before it;
// the p ranks left over are numbered v = 0..p-1. Steps, for each tile of p parts:
//   fold       an odd rank sends its whole contribution; its even one adds its own
//   halving    k = 0..log2(p)-1: of the span that v still holds (at first all p parts), it sends one half to rank
//              v xor 2^k and adds what arrives to the other: the lower half where bit k of v is 0
//   doubling   k = log2(p)-1..0: send the span to v xor 2^k, write out the other half of the pair's span as it arrives
//   unfold     the even rank sends the whole result back
// Partners are near in the first round, where the messages are long.
// Bytes: 2(p-1)/p of the vector for each rank, and the whole once more for those that unfold.
// Cost: T = 2 log2(p) alpha + 2(p-1)/p * bytes * beta; if n is no power of two, + 2 alpha + bytes * beta.
// In place: partial sums are kept in the output; an input part is read by the step that overwrites it, or sent before.
// A rank waits for a message only after it has sent its own of the round: one slot suffices.
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
// (2005), which calls it Rabenseifner's algorithm.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

namespace {

/// The ranks that take part in the rounds, after folding.
struct Core {
    Rank size = 1;   ///< p
    Rank extra = 0;  ///< n - p ranks fold into others

    explicit Core(Rank n) : size(Rank{1} << log2_floor(n)), extra(n - size) {}
    [[nodiscard]] bool folds(Rank rank) const { return rank < 2 * extra && rank % 2 == 1; }
    [[nodiscard]] bool unfolds(Rank rank) const { return rank < 2 * extra && rank % 2 == 0; }
    [[nodiscard]] Rank number_of(Rank rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
    [[nodiscard]] Rank rank_of(Rank number) const { return number < extra ? 2 * number : number + extra; }
};

/// Neighbouring parts.
struct Span {
    std::int32_t first = 0;
    std::int32_t width = 1;
};

Step over(Span span, Operand dst, std::vector<Operand> srcs) {
    return {.width = span.width, .part = fixed(span.first), .dsts = {dst}, .srcs = std::move(srcs)};
}

/// Halving and doubling of core rank `number`; the first halving reads `own`, the later ones the output.
std::vector<Step> rounds(const Core& core, Rank number, Operand own) {
    std::vector<Step> steps;
    std::vector<std::pair<Span, Span>> halves;  // kept, sent, by round
    Span span{0, core.size};
    for (Rank bit = 1; bit < core.size; bit *= 2) {
        const Index partner = fixed(core.rank_of(number ^ bit));
        const Span lower{span.first, span.width / 2};
        const Span upper{span.first + span.width / 2, span.width / 2};
        const bool low = (number & bit) == 0;
        const Span kept = low ? lower : upper;
        const Span sent = low ? upper : lower;
        steps.push_back(over(sent, send(partner), {own}));
        steps.push_back(over(kept, output(), {receive(partner), own}));
        halves.emplace_back(kept, sent);
        span = kept;
        own = output();
    }
    steps.back().post = true;
    for (Rank bit = core.size / 2; bit > 0; bit /= 2) {
        const Index partner = fixed(core.rank_of(number ^ bit));
        steps.push_back(over(halves.back().first, send(partner), {output()}));
        steps.push_back(over(halves.back().second, output(), {receive(partner)}));
        halves.pop_back();
    }
    return steps;
}

}  // namespace

Plan build_halving_doubling_all_reduce(const Facts& facts, Rank rank) {
    const Core core(facts.nranks);
    Plan plan = start_plan(Collective::AllReduce, Algorithm::HalvingDoubling, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    plan.parts = core.size;
    plan.message_parts = core.extra > 0 ? core.size : core.size / 2;
    const Span all{0, core.size};
    std::vector<Step> steps;
    if (core.folds(rank)) {
        steps = {over(all, send(fixed(rank - 1)), {contribution()}), over(all, output(), {receive(fixed(rank - 1))})};
    } else if (core.unfolds(rank)) {
        steps = rounds(core, core.number_of(rank), output());
        steps.insert(steps.begin(), over(all, output(), {receive(fixed(rank + 1)), contribution()}));
        steps.push_back(over(all, send(fixed(rank + 1)), {output()}));
    } else {
        steps = rounds(core, core.number_of(rank), contribution());
    }
    return with_lane(std::move(plan), facts, {{each_tile(std::move(steps))}});
}

Cost cost_halving_doubling_all_reduce(const Facts& facts, double bytes) {
    const Core core(facts.nranks);
    const double p = core.size;
    const double folded = core.extra > 0 ? 1 : 0;
    const double trips = 2.0 * log2_floor(core.size);
    return {.hops = trips + 2 * folded, .bytes = (2 * (p - 1) / p + folded) * bytes, .messages = trips + folded};
}

}  // namespace rondo::plan
