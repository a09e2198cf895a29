// rondoReduceScatter: the size column is what every rank gives, n times the count argument.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

Layout layout(std::size_t count, int nranks) {
    const auto n = static_cast<std::size_t>(nranks);
    const std::size_t each = count / n;
    return {each * n, each, each, 0, each};
}

std::vector<Segment> expected(const Layout& layout, const Position& where) {
    const std::size_t begin = static_cast<std::size_t>(where.rank) * layout.recv_count;
    return {{Segment::Content::Reduced, 0, begin, 0, layout.recv_count}};
}

rondoResult_t call(const Call& c) {
    return rondoReduceScatter(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream);
}

constexpr Collective kReduceScatter{.program = "reduce_scatter_perf",
                                    .function = "rondoReduceScatter",
                                    .reduces = true,
                                    .rooted = false,
                                    .in_place = true,
                                    .moves_data = true,
                                    .bus_formula = "(n-1)/n",
                                    .bus_factor = bus_factor_all_but_own,
                                    .layout = layout,
                                    .expected = expected,
                                    .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kReduceScatter, argc, argv); }
