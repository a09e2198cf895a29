// Hierarchical all-gather and reduce-scatter. H hosts with L ranks each; rank i of host h, whose rail is the ranks i of
// all hosts. Blocks cross from host to host along the rails, once, and go round inside the hosts H at a time.
//
// Steps, for each tile, in two lanes, so that tiles overlap:
//   all_gather       lane 0   ring all-gather in the rail; each block is also a row of a message to lane 1
//                    lane 1   ring all-gather inside the host of messages of H blocks, one rail's
//   reduce_scatter   lane 0   ring reduce-scatter inside the host of messages of H blocks, one rail's; the sums for
//                             the own rail are a message to lane 1
//                    lane 1   ring reduce-scatter in the rail, adding the rows of that message
// Bytes: each rank sends (H-1)/(HL) of the vector of n blocks to another host and (L-1)/L inside its own.
// Cost: T = (L-1) alpha_inside + (L-1)/L * bytes * beta_inside + (H-1) alpha_rail + (H-1)/(HL) * bytes * beta_rail.
// In place: all_gather copies the own block to itself first; reduce_scatter writes the own block last, after lane 0 has
// read the contribution to it.
// Source: Cho, Finkler and Kung, "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
// hierarchy", MLSys 2019.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/hierarchical.hpp"

namespace rondo::plan {

namespace {

/// The blocks of the rail `steps` places after (before) the own one in the ring of the host, as rows by host.
Index rail_blocks(const Facts& facts, const Seat& seat, Rank steps) {
    return rail_of(facts, (seat.local + steps + seat.locals) % seat.locals).block(seat.hosts, 0, 0, 1);
}

Operand rows_of(const Operand& message) { return at_piece({.cj = 1}, message); }

/// Host (c0 + cs*s) mod H's row of the message between the lanes, without its acquire and publish.
Operand row_of_host(const Seat& seat, Place place, std::int32_t c0, std::int32_t cs) {
    return {.place = place, .tag = kInside, .peer = seat.self, .piece = cyclic(c0, cs, seat.hosts)};
}

Lane all_gather_rail(const Facts& facts, const Seat& seat) {
    const Rail rail = rail_of(facts, seat.local);
    const Operand from = receive(seat.prev_host, kRail);
    const Operand to = send(seat.next_host, kRail);
    const Rank h = seat.host;
    const auto block = [&](std::int32_t c0, std::int32_t cs) { return output(rail.block(seat.hosts, c0, cs)); };
    const auto up = [&](std::int32_t c0, std::int32_t cs) { return row_of_host(seat, Place::Outbox, c0, cs); };
    Operand first = up(h, 0);
    first.acquire = true;
    Operand last = up(h + 1, 0);
    last.publish = true;
    return {{
        each_tile({{.dsts = {block(h, 0), first, to}, .srcs = {input()}}}),
        each_tile(relay(facts, {.dsts = {block(h - 1, -1), up(h - 1, -1), to}, .srcs = {from}}), seat.hosts - 2),
        each_tile({{.dsts = {block(h + 1, 0), last}, .srcs = {from}}}),
    }};
}

Lane all_gather_inside(const Facts& facts, const Seat& seat) {
    const Rank rows = seat.hosts;
    const Operand from = rows_of(receive(seat.prev, kInside));
    const Operand to = rows_of(send(seat.next, kInside));
    Lane lane;
    lane.blocks.push_back(each_tile({{.rows = rows, .dsts = {to}, .srcs = {rows_of(receive(seat.self, kInside))}}}));
    for (Rank s = 1; s < seat.locals; ++s) {
        Step step{.rows = rows, .dsts = {output(rail_blocks(facts, seat, -s))}, .srcs = {from}};
        const bool last = s == seat.locals - 1;
        if (!last) step.dsts.push_back(to);
        lane.blocks.push_back(each_tile(last ? std::vector{step} : relay(facts, step)));
    }
    return lane;
}

Lane reduce_scatter_inside(const Facts& facts, const Seat& seat) {
    const Rank rows = seat.hosts;
    const Operand from = rows_of(receive(seat.prev, kInside));
    const Operand to = rows_of(send(seat.next, kInside));
    const Operand up = rows_of(send(seat.self, kInside));
    const auto own = [&](Rank steps) { return contribution(rail_blocks(facts, seat, steps)); };
    Lane lane;
    lane.blocks.push_back(each_tile({{.rows = rows, .dsts = {to}, .srcs = {own(-1)}}}));
    for (Rank s = 2; s < seat.locals; ++s) {
        lane.blocks.push_back(
            each_tile(relay(facts, {.rows = rows, .dsts = {to}, .srcs = {from, own(-s)}}, scratch({.cj = 1}))));
    }
    lane.blocks.push_back(each_tile({{.rows = rows, .dsts = {up}, .srcs = {from, own(0)}}}));
    return lane;
}

Lane reduce_scatter_rail(const Facts& facts, const Seat& seat) {
    const Operand from = receive(seat.prev_host, kRail);
    const Operand to = send(seat.next_host, kRail);
    const Rank h = seat.host;
    const auto sum = [&](std::int32_t c0, std::int32_t cs) { return row_of_host(seat, Place::Inbox, c0, cs); };
    Operand first = sum(h - 1, 0);
    first.acquire = true;
    Operand last = sum(h, 0);
    last.publish = true;
    // Block H of scratch: lane 0 has the ones before it.
    const Operand shelf = scratch(fixed(seat.hosts));
    return {{
        each_tile({{.dsts = {to}, .srcs = {first}}}),
        each_tile(relay(facts, {.dsts = {to}, .srcs = {from, sum(h - 2, -1)}}, shelf), seat.hosts - 2),
        each_tile({{.post = true, .dsts = {output()}, .srcs = {from, last}}}),
    }};
}

}  // namespace

Plan build_hierarchical_all_gather(const Facts& facts, Rank rank) {
    const Seat seat = seat_of(facts, rank);
    Plan plan = start_plan(Collective::AllGather, Algorithm::Hierarchical, facts, rank);
    plan.message_parts = seat.hosts;
    return with_lanes(std::move(plan), facts, {all_gather_rail(facts, seat), all_gather_inside(facts, seat)});
}

Plan build_hierarchical_reduce_scatter(const Facts& facts, Rank rank) {
    const Seat seat = seat_of(facts, rank);
    Plan plan = start_plan(Collective::ReduceScatter, Algorithm::Hierarchical, facts, rank);
    plan.message_parts = seat.hosts;
    plan.scratch_blocks = relay_scratch(facts) * (seat.hosts + 1);
    return with_lanes(std::move(plan), facts, {reduce_scatter_inside(facts, seat), reduce_scatter_rail(facts, seat)});
}

Cost cost_hierarchical_blocks(const Facts& facts, double bytes) {
    const auto hosts = static_cast<double>(facts.hosts.size());
    const auto locals = static_cast<double>(facts.hosts.front().size());
    const double trips = (locals - 1) + (hosts - 1);
    return {
        .hops = trips, .bytes = ((locals - 1) / locals + (hosts - 1) / (hosts * locals)) * bytes, .messages = trips};
}

}  // namespace rondo::plan
