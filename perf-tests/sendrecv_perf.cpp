// rondoSend and rondoRecv in a ring: in one group every rank sends to the next and receives from the previous.

#include "driver/collective.hpp"

namespace {

using namespace rondo::perf;

std::vector<Segment> expected(const Layout& layout, const Position& where) {
    return {{Segment::Content::Copied, previous_rank(where), 0, 0, layout.recv_count}};
}

rondoResult_t call(const Call& c) {
    rondoResult_t first = rondoGroupStart();
    if (first != rondoSuccess) return first;
    first = rondoSend(c.send, c.count, c.type, next_rank(c.where), c.comm, c.stream);
    if (first == rondoSuccess) {
        first = rondoRecv(c.recv, c.count, c.type, previous_rank(c.where), c.comm, c.stream);
    }
    const rondoResult_t end = rondoGroupEnd();
    return first == rondoSuccess ? end : first;
}

constexpr Collective kSendRecv{.program = "sendrecv_perf",
                               .function = "rondoSend/rondoRecv",
                               .reduces = false,
                               .rooted = false,
                               .in_place = false,
                               .moves_data = true,
                               .bus_formula = "1",
                               .bus_factor = bus_factor_one,
                               .layout = same_layout,
                               .expected = expected,
                               .call = call};

}  // namespace

int main(int argc, char** argv) { return run_program(kSendRecv, argc, argv); }
