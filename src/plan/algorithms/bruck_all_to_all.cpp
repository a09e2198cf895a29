// Bruck all-to-all: blocks travel in ceil(log2 n) rounds, many in one message. For short blocks.
//
// Steps, for each tile, on rank r:
//   rotate     scratch j = block r+j of the input, j = 0..n-1: it has j ranks to go
//   round k    send all scratch blocks j with bit k of j set to rank r + 2^k, as one message, and put what arrives from
//              rank r - 2^k in their places
//   rotate     block r-j of the output = scratch j, which comes from rank r-j
// Bytes: in each round the blocks with the bit set, about n/2 of n: about log2(n)/2 times the vector of n blocks.
// Cost: T = ceil(log2 n) (alpha + about bytes/2 * beta).
// A rank waits for a message only after it has sent its own of the round: one slot suffices.
//
// The numbers j < n with bit k set, as rows of few steps: each binary digit b > k of n that is 1 gives an aligned
// interval h..h+2^b-1, and what remains is less than 2^(k+1) numbers, whose upper ones from 2^k on have the bit set. In
// an interval, the numbers h + x with bit k of x set are those with bit k of y = 2^b-1 - x clear. The even numbers 2i,
// i < 2^(b-1), have bit 0 clear, and multiplication by 2^k modulo 2^b-1 rotates b-bit numbers by k places: so
// y = 2^(k+1) i mod (2^b-1) runs through all of them. A round takes one step for each such digit of n, and one for the
// rest: one where n is a power of two, log2 n at most.
//
// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", IEEE TPDS 8 (1997).

#include <span>

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

namespace {

/// Numbers that a step's rows run through.
struct Rows {
    std::int32_t count = 0;
    Index numbers{};
};

/// The numbers below n with bit k set, as described above.
std::vector<Rows> with_bit(Rank n, int k) {
    std::vector<Rows> all;
    const std::int32_t bit = std::int32_t{1} << k;
    std::int32_t first = 0;
    for (int b = log2_floor(n); b > k; --b) {
        const std::int32_t size = std::int32_t{1} << b;
        if ((n & size) == 0) continue;
        all.push_back({size / 2, {.base = first + size - 1, .scale = -1, .cj = 2 * bit, .mod = size - 1}});
        first += size;
    }
    if (n - first > bit) all.push_back({n - first - bit, {.base = first + bit, .cj = 1}});
    return all;
}

std::int32_t total_of(std::span<const Rows> rows) {
    std::int32_t total = 0;
    for (const Rows& each : rows) total += each.count;
    return total;
}

/// One message of the scratch blocks in `rows`, row after row: packed (into an Outbox) or unpacked (from an Inbox).
void add_message(std::vector<Step>& steps, std::span<const Rows> rows, const Operand& message) {
    std::int32_t piece = 0;
    for (const Rows& each : rows) {
        Operand end = at_piece({.base = piece, .cj = 1}, message);
        end.acquire = piece == 0;
        end.publish = &each == &rows.back();
        const Operand block = scratch(each.numbers);
        const bool packs = message.place == Place::Outbox;
        steps.push_back({.rows = each.count, .dsts = {packs ? end : block}, .srcs = {packs ? block : end}});
        piece += each.count;
    }
}

}  // namespace

Plan build_bruck_all_to_all(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllToAll, Algorithm::Bruck, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    plan.scratch_blocks = n;
    const Index number{.cj = 1};
    std::vector<Step> steps{{.rows = n, .dsts = {scratch(number)}, .srcs = {input({.c0 = rank, .cj = 1, .mod = n})}}};
    for (int k = 0; k < log2_ceil(n); ++k) {
        const std::vector<Rows> rows = with_bit(n, k);
        const Rank distance = Rank{1} << k;
        plan.message_parts = std::max(plan.message_parts, total_of(rows));
        add_message(steps, rows, send(fixed((rank + distance) % n)));
        add_message(steps, rows, receive(fixed((rank - distance + n) % n)));
    }
    steps.push_back({.rows = n, .dsts = {output({.c0 = rank, .cj = -1, .mod = n})}, .srcs = {scratch(number)}});
    return with_lane(std::move(plan), facts, {{each_tile(std::move(steps))}});
}

Cost cost_bruck_all_to_all(const Facts& facts, double bytes) {
    const double trips = log2_ceil(facts.nranks);
    double blocks = 0;
    for (int k = 0; k < log2_ceil(facts.nranks); ++k) blocks += total_of(with_bit(facts.nranks, k));
    return {.hops = trips, .bytes = blocks / facts.nranks * bytes, .messages = trips};
}

}  // namespace rondo::plan
