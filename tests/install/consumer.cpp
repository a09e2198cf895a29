// A C++ program outside of Rondo: ranks in threads of their own add their vectors.
#include <rondo/rondo.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kRanks = 3;
constexpr int kCount = 7;

/// One rank: joins, adds, compares. Returns the number of wrong elements or failed calls.
int run_rank(const rondoUniqueId& id, int rank) {
    rondoComm_t comm = nullptr;
    if (rondoCommInitRank(&comm, kRanks, id, rank) != rondoSuccess) {
        std::fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(nullptr));
        return 1;
    }
    std::array<long long, kCount> input{};
    std::array<long long, kCount> output{};
    for (int i = 0; i < kCount; ++i) input[static_cast<std::size_t>(i)] = 100 * rank + i;
    int wrong = 0;
    if (rondoAllReduce(input.data(), output.data(), kCount, rondoInt64, rondoSum, comm, nullptr) != rondoSuccess) {
        std::fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(comm));
        ++wrong;
    }
    for (int i = 0; i < kCount; ++i) {
        if (output[static_cast<std::size_t>(i)] != 100 * (0 + 1 + 2) + kRanks * i) ++wrong;
    }
    if (rondoCommDestroy(comm) != rondoSuccess) ++wrong;
    return wrong;
}

}  // namespace

int main() {
    int version = -1;
    if (rondoGetVersion(&version) != rondoSuccess || version != RONDO_VERSION_CODE) return 1;
    rondoUniqueId id;
    if (rondoGetUniqueId(&id) != rondoSuccess) return 1;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&id, &wrong, rank] { wrong += run_rank(id, rank); });
    }
    for (std::thread& thread : threads) thread.join();
    std::printf("%s\nall_reduce over %d threads: %d wrong\n", rondoGetBuildInfo(), kRanks, wrong.load());
    return wrong.load() == 0 ? 0 : 1;
}
