// Hierarchical all-reduce: inside each host, then between hosts by rails, then inside each host. H hosts with L ranks
// each; rank i of host h. The links between hosts carry 1/L of what a ring over all ranks would put on them for each
// rank, and their latency is paid H times and not H*L times.
//
// Steps, for each tile of L*H parts, in three lanes, so that tiles overlap:
//   lane 0   ring reduce-scatter inside the host, over L spans of H neighbouring parts; span i of the host's sum goes
//   to
//            lane 1 as a message to oneself
//   lane 1   writes it to the output; ring all-reduce of its H parts with the ranks i of the other hosts, in place
//            there; the result goes to lane 2 as a message to oneself
//   lane 2   ring all-gather of the spans inside the host
// Bytes: each rank sends 2(L-1)/L of the vector inside its host and 2(H-1)/(HL) to another.
// Cost: T = 2(L-1) alpha_inside + 2(L-1)/L * bytes * beta_inside + 2(H-1) alpha_rail + 2(H-1)/(HL) * bytes * beta_rail.
// In place: lane 1 overwrites span i after lane 0 read the own contribution to it; a result of another span has come
// back only after the own contribution to it has left.
// Lanes wait for the one before them and for slots that the one after them frees, each for earlier tiles only; within
// a lane the rings relay as relay() says. One slot suffices.
// Source: Cho, Finkler and Kung, "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
// hierarchy", MLSys 2019.

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/hierarchical.hpp"

namespace rondo::plan {

namespace {

Lane reduce_scatter_inside(const Facts& facts, const Seat& seat) {
    const auto span = [&](std::int32_t c0, std::int32_t cs) -> Index {
        return {.scale = seat.hosts, .c0 = c0, .cs = cs, .mod = seat.locals};
    };
    const Operand from = receive(seat.prev, kInside);
    const Operand to = send(seat.next, kInside);
    const Operand up = send(seat.self, kInside);
    const Rank i = seat.local;
    return {{
        each_tile({{.width = seat.hosts, .part = span(i - 1, 0), .dsts = {to}, .srcs = {contribution()}}}),
        each_tile(
            relay(facts, {.width = seat.hosts, .part = span(i - 2, -1), .dsts = {to}, .srcs = {from, contribution()}}),
            seat.locals - 2),
        each_tile({{.width = seat.hosts, .part = span(i, 0), .dsts = {up}, .srcs = {from, contribution()}}}),
    }};
}

Lane all_reduce_rail(const Facts& facts, const Seat& seat) {
    const std::int32_t first = seat.hosts * seat.local;
    const auto part = [&](std::int32_t c0, std::int32_t cs) -> Index {
        return {.base = first, .c0 = c0, .cs = cs, .mod = seat.hosts};
    };
    const Operand from = receive(seat.prev_host, kRail);
    const Operand to = send(seat.next_host, kRail);
    const Operand in = receive(seat.self, kInside);
    const Operand back = send(seat.self, kInsideBack);
    const Rank h = seat.host;
    const std::int32_t onward = seat.hosts - 2;
    return {{
        each_tile({{.width = seat.hosts, .part = fixed(first), .dsts = {output()}, .srcs = {in}},
                   {.part = part(h - 1, 0), .dsts = {to}, .srcs = {output()}}}),
        each_tile(relay(facts, {.part = part(h - 2, -1), .dsts = {to}, .srcs = {from, output()}}, output()), onward),
        each_tile(relay(facts, {.post = true, .part = part(h, 0), .dsts = {output(), to}, .srcs = {from, output()}})),
        each_tile(relay(facts, {.part = part(h - 1, -1), .dsts = {output(), to}, .srcs = {from}}), onward),
        each_tile({{.part = part(h + 1, 0), .dsts = {output()}, .srcs = {from}},
                   {.width = seat.hosts, .part = fixed(first), .dsts = {back}, .srcs = {output()}}}),
    }};
}

Lane all_gather_inside(const Facts& facts, const Seat& seat) {
    const auto span = [&](std::int32_t c0, std::int32_t cs) -> Index {
        return {.scale = seat.hosts, .c0 = c0, .cs = cs, .mod = seat.locals};
    };
    const Operand from = receive(seat.prev, kInsideBack);
    const Operand to = send(seat.next, kInsideBack);
    const Operand in = receive(seat.self, kInsideBack);
    const Rank i = seat.local;
    return {{
        each_tile({{.width = seat.hosts, .part = span(i, 0), .dsts = {to}, .srcs = {in}}}),
        each_tile(relay(facts, {.width = seat.hosts, .part = span(i - 1, -1), .dsts = {output(), to}, .srcs = {from}}),
                  seat.locals - 2),
        each_tile({{.width = seat.hosts, .part = span(i + 1, 0), .dsts = {output()}, .srcs = {from}}}),
    }};
}

}  // namespace

Plan build_hierarchical_all_reduce(const Facts& facts, Rank rank) {
    const Seat seat = seat_of(facts, rank);
    Plan plan = start_plan(Collective::AllReduce, Algorithm::Hierarchical, facts, rank);
    plan.parts = facts.nranks;
    plan.message_parts = seat.hosts;
    plan.scratch_blocks = relay_scratch(facts);
    return with_lanes(
        std::move(plan), facts,
        {reduce_scatter_inside(facts, seat), all_reduce_rail(facts, seat), all_gather_inside(facts, seat)});
}

Cost cost_hierarchical_all_reduce(const Facts& facts, double bytes) {
    const auto hosts = static_cast<double>(facts.hosts.size());
    const auto locals = static_cast<double>(facts.hosts.front().size());
    const double trips = 2 * (locals - 1) + 2 * (hosts - 1);
    return {.hops = trips,
            .bytes = (2 * (locals - 1) / locals + 2 * (hosts - 1) / (hosts * locals)) * bytes,
            .messages = trips};
}

}  // namespace rondo::plan
