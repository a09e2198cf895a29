// Google Benchmark of the host reduction kernels: small calls, calls in cache, calls from memory, against memcpy.
//
// bytes_per_second counts what a call reads and writes: (nsrc + ndst) * count * element size.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "reduce/reduce.hpp"

namespace {

using rondo::DataType;
using rondo::ReduceOp;
using rondo::reduce::Kernel;
using rondo::reduce::ReduceCopy;

/// `operands` buffers of `bytes` each, page aligned, spaced by an odd number of cache lines so that they do not fall
/// into the same sets of the cache.
class Operands {
public:
    Operands(int sources, int destinations, std::size_t bytes) {
        const std::size_t stride = (bytes / 64 * 64) + 64 * 33;
        const auto total = static_cast<std::size_t>(sources + destinations) * stride + 64;
        storage_ = std::make_unique<std::byte[]>(total);
        std::byte* next = storage_.get() + (64 - reinterpret_cast<std::uintptr_t>(storage_.get()) % 64);
        for (int i = 0; i < sources; ++i, next += stride) {
            std::memset(next, 0x3c + i % 4, bytes);  // between 1e-7 and 2 as a float of any type
            src_.push_back(next);
        }
        for (int i = 0; i < destinations; ++i, next += stride) {
            std::memset(next, 0, bytes);
            dst_.push_back(next);
        }
    }

    [[nodiscard]] ReduceCopy call(std::size_t count) const {
        return {.dst = dst_.data(),
                .ndst = static_cast<int>(dst_.size()),
                .src = src_.data(),
                .nsrc = static_cast<int>(src_.size()),
                .count = count};
    }

private:
    std::unique_ptr<std::byte[]> storage_;
    std::vector<const void*> src_;
    std::vector<void*> dst_;
};

struct Case {
    DataType type = DataType::Float32;
    ReduceOp op = ReduceOp::Sum;
    int nsrc = 2;
    int ndst = 1;
    std::size_t bytes = 0;  ///< of each operand
    bool stream = false;
};

void run_kernel(benchmark::State& state, const Case& what) {
    const std::size_t count = what.bytes / rondo::size_of(what.type);
    const Operands operands(what.nsrc, what.ndst, what.bytes);
    ReduceCopy call = operands.call(count);
    call.stream = what.stream;
    call.post = what.op == ReduceOp::Avg;
    call.divisor = 3;
    const Kernel kernel = rondo::reduce::kernel_for(what.type, what.op);
    for (auto _ : state) {
        kernel(call);
        benchmark::ClobberMemory();
    }
    const auto moved = static_cast<std::int64_t>(what.bytes) * (what.nsrc + what.ndst);
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * moved);
}

void run_memcpy(benchmark::State& state, std::size_t bytes) {
    const Operands operands(1, 1, bytes);
    const ReduceCopy call = operands.call(bytes);
    for (auto _ : state) {
        std::memcpy(call.dst[0], call.src[0], bytes);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(2 * bytes));
}

std::string size_name(std::size_t bytes) {
    if (bytes >= (1u << 20)) return std::to_string(bytes >> 20) + "MiB";
    if (bytes >= (1u << 10)) return std::to_string(bytes >> 10) + "KiB";
    return std::to_string(bytes) + "B";
}

void add(const Case& what) {
    std::string name = std::string(rondo::name_of(what.type)) + "/" + std::string(rondo::name_of(what.op)) +
                       "/src:" + std::to_string(what.nsrc) + "/dst:" + std::to_string(what.ndst) + "/" +
                       size_name(what.bytes) + (what.stream ? "/stream" : "");
    benchmark::RegisterBenchmark(name.c_str(), [what](benchmark::State& state) { run_kernel(state, what); });
}

void add_all() {
    constexpr std::size_t kKiB = 1024;
    constexpr std::size_t kMiB = 1024 * kKiB;
    for (const std::size_t bytes : {8 * kKiB, kMiB, 64 * kMiB}) {
        const std::string name = "memcpy/" + size_name(bytes);
        benchmark::RegisterBenchmark(name.c_str(), [bytes](benchmark::State& state) { run_memcpy(state, bytes); });
    }
    for (const std::size_t bytes : {8u, 64u, 512u}) {
        for (const int nsrc : {1, 2, 8}) add({.nsrc = nsrc, .bytes = bytes});
    }
    for (const std::size_t bytes : {8 * kKiB, kMiB}) {
        for (const int nsrc : {1, 2, 3, 4, 8, 16}) add({.nsrc = nsrc, .bytes = bytes});
        add({.nsrc = 1, .ndst = 2, .bytes = bytes});
        add({.nsrc = 1, .ndst = 8, .bytes = bytes});
        add({.nsrc = 2, .ndst = 2, .bytes = bytes});
    }
    for (const bool stream : {false, true}) {
        add({.nsrc = 1, .bytes = 64 * kMiB, .stream = stream});
        add({.nsrc = 2, .bytes = 64 * kMiB, .stream = stream});
        add({.nsrc = 8, .bytes = 64 * kMiB, .stream = stream});
        add({.nsrc = 1, .ndst = 2, .bytes = 64 * kMiB, .stream = stream});
    }
    for (const DataType type : rondo::kAllDataTypes) {
        for (const ReduceOp op : rondo::kAllReduceOps) add({.type = type, .op = op, .bytes = 8 * kKiB});
    }
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::AddCustomContext("target", rondo::reduce::target_name());
    add_all();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
