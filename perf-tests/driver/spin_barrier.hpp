#pragma once
// Where the driver's threads meet before a timed block: cheap, and not the library's barrier, which is under test.

#include <atomic>
#include <cstdint>
#include <thread>

namespace rondo::perf {

class SpinBarrier {
public:
    /// `spins`: polls before the thread gives its core away; few when threads share cores.
    SpinBarrier(int threads, int spins) noexcept : threads_(threads), spins_(spins) {}

    /// Waits for all threads. False if stop() was called, whoever is waiting.
    bool wait() noexcept {
        const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
        // acq_rel: the last thread sees what the others wrote before, and hands it on with the new generation.
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            generation_.store(generation + 1, std::memory_order_release);
            return !stopped();
        }
        int polls = 0;
        while (generation_.load(std::memory_order_acquire) == generation) {
            if (stopped()) return false;
            if (++polls >= spins_) std::this_thread::yield();
        }
        return !stopped();
    }

    /// Releases all waiting threads, now and later, with false.
    void stop() noexcept { stopped_.store(true, std::memory_order_release); }
    [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

private:
    int threads_;
    int spins_;
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<std::uint32_t> generation_{0};
    alignas(64) std::atomic<bool> stopped_{false};
};

}  // namespace rondo::perf
