// Four ranks, each a thread, add their vectors.
#include <array>
#include <cstdio>
#include <rondo/rondo.hpp>
#include <thread>
#include <vector>

constexpr int kRanks = 4;

void run_rank(const rondoUniqueId& id, int rank) try {
    rondo::Communicator comm = rondo::Communicator::init_rank(kRanks, id, rank);
    std::array<float, 3> data{10.0F * static_cast<float>(rank), 1, 2};
    comm.all_reduce(data);  // in place, rondoSum
    if (rank == 0) std::printf("sum over %d ranks: %g %g %g\n", comm.nranks(), data[0], data[1], data[2]);
} catch (const rondo::Error& error) {
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, rondoGetErrorString(error.code()), error.what());
}

int main() {
    const rondoUniqueId id = rondo::unique_id();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(run_rank, id, rank);
    for (std::thread& thread : threads) thread.join();
}
