// rondoBarrier: time per barrier. Checked is that no rank leaves before the last one has come.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

Layout layout(std::size_t, int) { return {}; }

std::vector<Segment> expected(const Layout&, const Position&) { return {}; }

rondoResult_t call(const Call& c) { return rondoBarrier(c.comm, c.stream); }

constexpr Collective kBarrier{.program = "barrier_perf",
                              .function = "rondoBarrier",
                              .reduces = false,
                              .rooted = false,
                              .in_place = false,
                              .moves_data = false,
                              .bus_formula = "1",
                              .bus_factor = bus_factor_one,
                              .layout = layout,
                              .expected = expected,
                              .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kBarrier, argc, argv); }
