// rondoReduce: the size column is the whole vector; only the root gets it.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

std::vector<Segment> expected(const Layout& layout, const Position& where) {
    const auto content = where.rank == where.root ? Segment::Content::Reduced : Segment::Content::Untouched;
    return {{content, 0, 0, 0, layout.recv_count}};
}

rondoResult_t call(const Call& c) {
    return rondoReduce(c.send, c.recv, c.count, c.type, c.op, c.root, c.comm, c.stream);
}

constexpr Collective kReduce{.program = "reduce_perf",
                             .function = "rondoReduce",
                             .reduces = true,
                             .rooted = true,
                             .in_place = true,
                             .moves_data = true,
                             .bus_formula = "1",
                             .bus_factor = bus_factor_one,
                             .layout = same_layout,
                             .expected = expected,
                             .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kReduce, argc, argv); }
