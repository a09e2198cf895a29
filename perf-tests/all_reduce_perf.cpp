// rondoAllReduce: the size column is the whole vector, which every rank gives and gets.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

std::vector<Segment> expected(const Layout& layout, const Position&) {
    return {{Segment::Content::Reduced, 0, 0, 0, layout.recv_count}};
}

rondoResult_t call(const Call& c) { return rondoAllReduce(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream); }

constexpr double bus_factor(int nranks) { return 2.0 * (nranks - 1.0) / nranks; }

constexpr Collective kAllReduce{.program = "all_reduce_perf",
                                .function = "rondoAllReduce",
                                .reduces = true,
                                .rooted = false,
                                .in_place = true,
                                .moves_data = true,
                                .bus_formula = "2(n-1)/n",
                                .bus_factor = bus_factor,
                                .layout = same_layout,
                                .expected = expected,
                                .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kAllReduce, argc, argv); }
