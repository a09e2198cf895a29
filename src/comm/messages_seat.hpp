#pragma once
// Who moves what a communicator sends and receives. Operations run one at a time, but tagged messages on streams wait
// beside them. Of all threads that wait, the one in the seat moves everything that can be moved; an operation that is
// to run takes the seat before those that only wait.
//
// Memory order. `taken_` is set by compare-and-swap (acquire) and cleared by a store that the next taker sees. Whoever
// waits counts itself in `waiters_` and then looks at `taken_`; whoever leaves clears `taken_` and then looks at
// `waiters_` (all seq_cst), so one of the two sees the other.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rondo::comm {

class Seat {
public:
    /// For the operation whose turn it is. `wake()` makes whoever is in the seat look at wanted().
    template <class Wake>
    void take(Wake wake) {
        if (try_take()) return;
        std::unique_lock lock(mutex_);
        wanted_.store(true, std::memory_order_seq_cst);
        waiters_.fetch_add(1, std::memory_order_seq_cst);
        wake();
        changed_.wait(lock, [this] { return try_take(); });
        waiters_.fetch_sub(1, std::memory_order_seq_cst);
        wanted_.store(false, std::memory_order_seq_cst);
    }

    /// For those that wait beside it: true with the seat taken, false once over() is true.
    template <class Over>
    bool take_beside(Over over) {
        std::unique_lock lock(mutex_);
        waiters_.fetch_add(1, std::memory_order_seq_cst);
        bool taken = false;
        changed_.wait(lock, [&] { return over() || (taken = !wanted() && try_take()); });
        waiters_.fetch_sub(1, std::memory_order_seq_cst);
        return taken;
    }

    /// In the seat: should it be left?
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(std::memory_order_seq_cst); }
    [[nodiscard]] bool taken() const noexcept { return taken_.load(std::memory_order_seq_cst); }

    /// In the seat: something may be over for those that wait.
    void announce() noexcept {
        if (waiters_.load(std::memory_order_seq_cst) == 0) return;
        // The lock keeps the news from falling between the look and the sleep of one of them.
        { const std::lock_guard lock(mutex_); }
        changed_.notify_all();
    }

    void leave() noexcept {
        taken_.exchange(false, std::memory_order_seq_cst);
        announce();
    }

private:
    bool try_take() noexcept {
        bool free = false;
        return taken_.compare_exchange_strong(free, true, std::memory_order_seq_cst);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> taken_{false};
    std::atomic<bool> wanted_{false};
    std::atomic<std::uint32_t> waiters_{0};
};

}  // namespace rondo::comm
