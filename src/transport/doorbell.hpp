#pragma once
// How a poster wakes a rank that sleeps. One doorbell per rank; every post towards the rank ends with notify().
//
// Memory order. The poster stores its news (seq_cst) and then loads `sleeping` (seq_cst). The sleeper stores `sleeping`
// (seq_cst), polls everything once more with seq_cst loads, and only then sleeps. In the single total order of these
// four operations either the poster sees the flag and wakes, or the sleeper's last poll sees the news: no lost wake-up
// (Dekker's argument). Between the last poll and the sleep the kernel compares `word`, which every wake changes.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace rondo::transport {

class alignas(128) Doorbell {
public:
    /// After a seq_cst store of news: wakes the owner if it sleeps. One load when it does not.
    void notify() noexcept {
        if (sleeping_.load(std::memory_order_seq_cst) != 0) ring();
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
        return word;
    }

    /// Owner: sleeps until the bell rings or `nanoseconds` pass.
    void sleep(std::uint32_t word, std::int64_t nanoseconds) noexcept {
        const timespec timeout{.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
        ::syscall(SYS_futex, &word_, FUTEX_WAIT, word, &timeout, nullptr, 0);
    }

    /// Owner: no longer asleep.
    void retract() noexcept { sleeping_.store(0, std::memory_order_relaxed); }

private:
    std::atomic<std::uint32_t> word_{0};
    std::atomic<std::uint32_t> sleeping_{0};
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);
};

}  // namespace rondo::transport
