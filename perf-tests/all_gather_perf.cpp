// rondoAllGather: the size column is what every rank gets, n times the count argument.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

Layout layout(std::size_t count, int nranks) {
    const auto n = static_cast<std::size_t>(nranks);
    const std::size_t each = count / n;
    return {each, each * n, each, each, 0};
}

std::vector<Segment> expected(const Layout& layout, const Position& where) {
    std::vector<Segment> segments;
    for (int source = 0; source < where.nranks; ++source) {
        const std::size_t begin = static_cast<std::size_t>(source) * layout.send_count;
        segments.push_back({Segment::Content::Copied, source, 0, begin, layout.send_count});
    }
    return segments;
}

rondoResult_t call(const Call& c) { return rondoAllGather(c.send, c.recv, c.count, c.type, c.comm, c.stream); }

constexpr Collective kAllGather{.program = "all_gather_perf",
                                .function = "rondoAllGather",
                                .reduces = false,
                                .rooted = false,
                                .in_place = true,
                                .moves_data = true,
                                .bus_formula = "(n-1)/n",
                                .bus_factor = bus_factor_all_but_own,
                                .layout = layout,
                                .expected = expected,
                                .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kAllGather, argc, argv); }
