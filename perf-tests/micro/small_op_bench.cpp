// What each layer adds to an 8-byte all-reduce between two threads, each on a core of its own:
//
//   bare_flags       each rank stores a line (payload, then flag) and reads the peer's: the limit
//   fifo             the same through memory FIFOs: lines, credits, doorbell; nothing checked
//   fifo_signature   with the operation's signature computed, carried and compared
//   plan             through a bound plan and the host executor
//   plan_wait        with the library's wait: deadline, abort word, ladder
//   c_api            rondoAllReduce: argument checks, one-thread rule, call record, plan cache
//
// Compare medians of one run: --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
// --benchmark_report_aggregates_only=true

#include <benchmark/benchmark.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "comm/call.hpp"
#include "host/execution.hpp"
#include "plan/shapes.hpp"
#include "rondo/rondo.h"
#include "transport/wait.hpp"

namespace {

using rondo::Rank;
using rondo::transport::memory::Domain;
using rondo::transport::memory::Fifo;

constexpr int kOperations = 50'000;
constexpr std::uint32_t kSlots = 4;

struct Pair {
    float a = 0;
    float b = 0;
};

void pause_core() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void pin(Rank rank) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    int wanted = rank % CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        return;
    }
}

/// Runs `body(rank)` on two pinned threads at once, kOperations operations each, and reports rank 0's time for one.
void measure(benchmark::State& state, const std::function<void(Rank)>& body) {
    for (auto _ : state) {
        std::atomic<int> ready{0};
        double seconds = 0;
        const auto run = [&](Rank rank) {
            pin(rank);
            ready.fetch_add(1);
            while (ready.load() != 2) pause_core();
            const auto begin = std::chrono::steady_clock::now();
            body(rank);
            if (rank == 0) seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        };
        std::thread peer(run, 1);
        std::thread self(run, 0);
        self.join();
        peer.join();
        state.SetIterationTime(seconds / kOperations);
    }
}

/// A rank's count of its operations, on a line of its own.
struct alignas(128) OwnCount {
    std::uint64_t value = 0;
};

struct alignas(128) FlagLine {
    std::atomic<std::uint64_t> flag{0};
    Pair payload;
};

void bare_flags(benchmark::State& state) {
    std::array<std::array<FlagLine, 2>, 2> lines{};
    std::array<OwnCount, 2> sequences{};
    measure(state, [&](Rank rank) {
        const auto me = static_cast<std::size_t>(rank);
        for (int i = 0; i < kOperations; ++i) {
            const std::uint64_t sequence = ++sequences[me].value;
            FlagLine& mine = lines[me][sequence % 2];
            FlagLine& theirs = lines[1 - me][sequence % 2];
            mine.payload = {static_cast<float>(i), static_cast<float>(rank)};
            mine.flag.store(sequence, std::memory_order_release);
            while (theirs.flag.load(std::memory_order_acquire) < sequence) pause_core();
            Pair sum{mine.payload.a + theirs.payload.a, mine.payload.b + theirs.payload.b};
            benchmark::DoNotOptimize(sum);
        }
    });
}

void exchange(benchmark::State& state, bool signatures) {
    Domain domain(2, kSlots, 4096);
    std::array<Fifo*, 2> from{&domain.fifo(0, 0, 1, 0, false), &domain.fifo(0, 1, 0, 0, false)};
    std::array<OwnCount, 2> sequences{};
    measure(state, [&](Rank rank) {
        const auto me = static_cast<std::size_t>(rank);
        Fifo& out = *from[me];
        Fifo& in = *from[1 - me];
        for (int i = 0; i < kOperations; ++i) {
            const std::uint64_t sequence = ++sequences[me].value;
            const std::uint64_t signature = signatures ? rondo::comm::signature_of(sequence, 0x5eedU, 0) : 0;
            const Pair mine{static_cast<float>(i), static_cast<float>(rank)};
            while (!out.writable(true)) pause_core();
            std::memcpy(out.write_place(true), &mine, sizeof(mine));
            out.extend(sizeof(mine));
            out.post(true, signature);
            while (!in.readable()) pause_core();
            if (in.read_signature() != signature) state.SkipWithError("signatures differ");
            Pair theirs;
            std::memcpy(&theirs, in.read_place(true), sizeof(theirs));
            Pair sum{mine.a + theirs.a, mine.b + theirs.b};
            benchmark::DoNotOptimize(sum);
            in.release(true);
        }
    });
}

void fifo(benchmark::State& state) { exchange(state, false); }
void fifo_signature(benchmark::State& state) { exchange(state, true); }

/// Never stops a wait: what remains is the cost of asking.
class Patience final : public rondo::transport::Watch {
public:
    explicit Patience(Domain& domain) : domain_(domain) {}
    [[nodiscard]] bool stopped() const noexcept override { return domain_.failed(); }
    rondo::Code examine(std::chrono::nanoseconds) noexcept override { return rondo::Code::Success; }

private:
    Domain& domain_;
};

void run_plan(benchmark::State& state, bool waits) {
    using namespace rondo;
    Domain domain(2, kSlots, 4096);
    const plan::Shape* shape = plan::find_shape(plan::Collective::AllReduce, plan::Algorithm::OneShot);
    std::array<OwnCount, 2> sequences{};
    measure(state, [&](Rank rank) {
        const host::BoundPlan bound(shape->build({.nranks = 2}, rank), 4096, domain);
        host::Traffic traffic(2);
        host::Execution execution(domain, rank, traffic, true);
        Patience patience(domain);
        const transport::WaitPolicy policy = transport::wait_policy(2, 2, -1);
        const reduce::Kernel kernel = reduce::kernel_for(DataType::Float32, ReduceOp::Sum);
        Pair input;
        Pair output;
        for (int i = 0; i < kOperations; ++i) {
            input = {static_cast<float>(i), static_cast<float>(rank)};
            const std::uint64_t sequence = ++sequences[static_cast<std::size_t>(rank)].value;
            execution.launch() = {.sequence = sequence,
                                  .signature = comm::signature_of(sequence, 0x5eedU, 0),
                                  .count = 2,
                                  .element_bytes = sizeof(float),
                                  .cut = {.chunk = 1024},
                                  .kernel = kernel,
                                  .input = reinterpret_cast<const std::byte*>(&input),
                                  .output = reinterpret_cast<std::byte*>(&output)};
            execution.start(bound);
            execution.progress();
            transport::Waiter waiter(policy, domain.bell(rank), patience);
            while (execution.state() == host::State::Running) {
                if (!execution.progress() && waits) {
                    waiter.pause();
                } else {
                    pause_core();
                }
            }
            benchmark::DoNotOptimize(output);
        }
    });
}

void plan(benchmark::State& state) { run_plan(state, false); }
void plan_wait(benchmark::State& state) { run_plan(state, true); }

void c_api(benchmark::State& state) {
    std::array<rondoComm_t, 2> comms{};
    if (rondoCommInitAll(comms.data(), 2, nullptr) != rondoSuccess) state.SkipWithError(rondoGetLastError(nullptr));
    measure(state, [&](Rank rank) {
        Pair input;
        Pair output;
        for (int i = 0; i < kOperations; ++i) {
            input = {static_cast<float>(i), static_cast<float>(rank)};
            rondoAllReduce(&input, &output, 2, rondoFloat32, rondoSum, comms[static_cast<std::size_t>(rank)], nullptr);
            benchmark::DoNotOptimize(output);
        }
    });
    for (const rondoComm_t comm : comms) rondoCommDestroy(comm);
}

BENCHMARK(bare_flags)->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(3);
BENCHMARK(fifo)->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(3);
BENCHMARK(fifo_signature)->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(3);
BENCHMARK(plan)->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(3);
BENCHMARK(plan_wait)->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(3);
BENCHMARK(c_api)->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(3);

}  // namespace
