// rondoBroadcast: the size column is the whole vector, the root's input.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

std::vector<Segment> expected(const Layout& layout, const Position& where) {
    return {{Segment::Content::Copied, where.root, 0, 0, layout.recv_count}};
}

rondoResult_t call(const Call& c) { return rondoBroadcast(c.send, c.recv, c.count, c.type, c.root, c.comm, c.stream); }

constexpr Collective kBroadcast{.program = "broadcast_perf",
                                .function = "rondoBroadcast",
                                .reduces = false,
                                .rooted = true,
                                .in_place = true,
                                .moves_data = true,
                                .bus_formula = "1",
                                .bus_factor = bus_factor_one,
                                .layout = same_layout,
                                .expected = expected,
                                .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kBroadcast, argc, argv); }
