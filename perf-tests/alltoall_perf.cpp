// rondoAllToAll: the size column is what every rank gives and gets, n times the count argument. No in-place form.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

Layout layout(std::size_t count, int nranks) {
    const auto n = static_cast<std::size_t>(nranks);
    const std::size_t each = count / n;
    return {each * n, each * n, each, 0, 0};
}

std::vector<Segment> expected(const Layout& layout, const Position& where) {
    std::vector<Segment> segments;
    const std::size_t own = static_cast<std::size_t>(where.rank) * layout.param_count;
    for (int source = 0; source < where.nranks; ++source) {
        const std::size_t begin = static_cast<std::size_t>(source) * layout.param_count;
        segments.push_back({Segment::Content::Copied, source, own, begin, layout.param_count});
    }
    return segments;
}

rondoResult_t call(const Call& c) { return rondoAllToAll(c.send, c.recv, c.count, c.type, c.comm, c.stream); }

constexpr Collective kAllToAll{.program = "alltoall_perf",
                               .function = "rondoAllToAll",
                               .reduces = false,
                               .rooted = false,
                               .in_place = false,
                               .moves_data = true,
                               .bus_formula = "(n-1)/n",
                               .bus_factor = bus_factor_all_but_own,
                               .layout = layout,
                               .expected = expected,
                               .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kAllToAll, argc, argv); }
