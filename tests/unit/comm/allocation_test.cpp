// Blocking operations allocate nothing once plans and buffers are there. This program counts calls of operator new.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "rondo/rondo.h"

namespace {

std::atomic<long>& allocations() {
    static std::atomic<long> count{0};
    return count;
}

}  // namespace

// GCC takes free() for wrong because it sees operator new behind the pointer.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t bytes) {
    allocations().fetch_add(1, std::memory_order_relaxed);
    if (void* made = std::malloc(bytes == 0 ? 1 : bytes)) return made;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t align) {
    allocations().fetch_add(1, std::memory_order_relaxed);
    const auto unit = static_cast<std::size_t>(align);
    if (void* made = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return made;
    throw std::bad_alloc();
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }

namespace rondo::comm {

namespace {

/// Allocations of all ranks' threads during 60 rounds of body(rank, comm), after five that are not counted.
template <class Body>
long count_allocations(int nranks, const char* algo, Body body) {
    std::vector<rondoComm_t> comms(static_cast<std::size_t>(nranks));
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.algo = algo;
    EXPECT_EQ(rondoCommInitAll(comms.data(), nranks, &config), rondoSuccess) << rondoGetLastError(nullptr);
    std::atomic<int> ready{0};
    std::atomic<int> done{0};
    std::atomic<long> before{0};
    std::atomic<long> counted{0};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < nranks; ++rank) {
        threads.emplace_back([&, rank] {
            rondoComm_t comm = comms[static_cast<std::size_t>(rank)];
            for (int i = 0; i < 5; ++i) body(rank, comm);
            if (ready.fetch_add(1) + 1 == nranks) before = allocations().load();
            while (ready.load() < nranks || before.load() == 0) std::this_thread::yield();
            for (int i = 0; i < 60; ++i) body(rank, comm);
            if (done.fetch_add(1) + 1 == nranks) counted = allocations().load() - before.load();
            while (done.load() < nranks) std::this_thread::yield();
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const rondoComm_t comm : comms) EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
    return counted.load();
}

}  // namespace

TEST(Allocations, TheCounterCounts) {
    const long before = allocations().load();
    ::operator delete(::operator new(3));
    EXPECT_EQ(allocations().load(), before + 1);
}

// A wait that comes to sleep looks for peers that went away, and lists whom it waits for: that allocates. Here waits
// spin instead.
TEST(Allocations, BlockingOperationsMakeNone) {
    ::setenv("RONDO_SPIN_US", "1000000", 1);
    for (const char* algo : {"one_shot,ring,pairwise", "ring,pairwise", "direct", "tree,pat,bruck,ring"}) {
        const long made = count_allocations(2, algo, [](int rank, rondoComm_t comm) {
            float data[4000];
            float result[8000];
            for (float& element : data) element = static_cast<float>(rank);
            EXPECT_EQ(rondoAllReduce(data, result, 2, rondoFloat32, rondoSum, comm, nullptr), rondoSuccess);
            EXPECT_EQ(rondoAllReduce(data, result, 4000, rondoFloat32, rondoSum, comm, nullptr), rondoSuccess);
            EXPECT_EQ(result[3999], 1.0F);
            EXPECT_EQ(rondoBroadcast(data, data, 100, rondoFloat32, 1, comm, nullptr), rondoSuccess);
            EXPECT_EQ(rondoAllGather(data, result, 4000, rondoFloat32, comm, nullptr), rondoSuccess);
            EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
        });
        EXPECT_EQ(made, 0) << algo;
    }
    ::unsetenv("RONDO_SPIN_US");
}

}  // namespace rondo::comm
