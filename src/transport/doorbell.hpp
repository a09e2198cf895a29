#pragma once
// How a poster wakes a rank that sleeps. One doorbell per rank; every post towards the rank ends with notify().
//
// Memory order. The poster stores its news (release) and then loads `sleeping`. The sleeper stores `sleeping`, polls
// everything once more, and only then sleeps. Without more, both loads could miss the other's store (Dekker's problem).
// A full barrier after every post would cost the fast path its store's whole way to the other core, so the rare side
// pays for both: between its store and its last poll the sleeper executes a barrier on every core that a poster may run
// on (base/process_barrier.hpp). Where the kernel has none, sleeps are kept short instead: a wake-up that was missed
// costs kBlindSleep at most. Between the last poll and the sleep the kernel compares `word`, which every wake changes.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include "base/process_barrier.hpp"

namespace rondo::transport {

class alignas(128) Doorbell {
public:
    /// After a release store of news: wakes the owner if it sleeps. One load when it does not.
    void notify() noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (sleeping_.load(std::memory_order_relaxed) != 0) ring();
    }

    /// Wakes the owner without looking.
    void ring() noexcept {
        word_.fetch_add(1, std::memory_order_seq_cst);
        ::syscall(SYS_futex, &word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }

    /// Owner: announces sleep. Returns the word to hand to sleep() after one more poll.
    std::uint32_t announce() noexcept {
        const std::uint32_t word = word_.load(std::memory_order_seq_cst);
        sleeping_.store(1, std::memory_order_seq_cst);
        barrier_everywhere();
        return word;
    }

    /// For a bell in memory that several processes share, by each of them before it uses the bell.
    void admit() noexcept {
        static const bool registered = ::syscall(SYS_membarrier, kRegisterGlobal, 0, 0) == 0;
        std::uint32_t before = Private;
        scope_.compare_exchange_strong(before, Shared, std::memory_order_relaxed);
        if (!registered) scope_.store(Blind, std::memory_order_relaxed);
    }

    /// Owner: sleeps until the bell rings or `nanoseconds` pass.
    void sleep(std::uint32_t word, std::int64_t nanoseconds) noexcept {
        if (blind()) nanoseconds = std::min(nanoseconds, kBlindSleep);
        const timespec timeout{.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
        ::syscall(SYS_futex, &word_, FUTEX_WAIT, word, &timeout, nullptr, 0);
    }

    /// Owner: no longer asleep.
    void retract() noexcept { sleeping_.store(0, std::memory_order_relaxed); }

private:
    static constexpr std::int64_t kBlindSleep = 500'000;  // nanoseconds

    [[nodiscard]] bool blind() const noexcept {
        const std::uint32_t scope = scope_.load(std::memory_order_relaxed);
        return scope == Blind || (scope == Private && !has_process_barrier());
    }

    void barrier_everywhere() const noexcept {
        if (blind()) return;
        if (scope_.load(std::memory_order_relaxed) == Shared) {
            ::syscall(SYS_membarrier, kBarrierGlobal, 0, 0);
        } else {
            process_barrier();
        }
    }

    // MEMBARRIER_CMD_GLOBAL_EXPEDITED and its registration (linux/membarrier.h).
    static constexpr int kBarrierGlobal = 1 << 1;
    static constexpr int kRegisterGlobal = 1 << 2;

    /// Who rings: threads of this process, processes that all have registered for barriers, or some that could not.
    enum Scope : std::uint32_t { Private = 0, Shared = 1, Blind = 2 };

    std::atomic<std::uint32_t> word_{0};
    std::atomic<std::uint32_t> sleeping_{0};
    std::atomic<std::uint32_t> scope_{Private};
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);
};

}  // namespace rondo::transport
