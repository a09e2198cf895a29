#pragma once
// Who moves what a communicator sends and receives. Operations run one at a time, but tagged messages on streams wait
// beside them. Of all threads that wait, the one in the seat moves everything that can be moved; an operation that is
// to run takes the seat before those that only wait.
//
// Memory order. Most communicators never have a waiter beside, so an operation pays for none: it stores `operation_`
// and looks at `waiters_`. Whoever waits beside counts itself in `waiters_`, executes a barrier on all cores of the
// process and then looks at `operation_`: one of the two sees the other (base/process_barrier.hpp; without that
// barrier, all of it is seq_cst). The same holds for leaving: the operation clears `operation_` and looks at
// `waiters_`. An operation that sees a waiter does all of it under the lock, as the waiters do. Only one operation
// stores `operation_` at a time, and each sees the stores of the one before.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/process_barrier.hpp"

namespace rondo::comm {

class Seat {
public:
    /// For the operation whose turn it is. `wake()` makes whoever is in the seat look at wanted().
    template <class Wake>
    void take(Wake wake) {
        set_operation(true);
        if (waiters_.load(std::memory_order_seq_cst) == 0) return;
        set_operation(false);
        std::unique_lock lock(mutex_);
        wanted_.store(true, std::memory_order_seq_cst);
        wake();
        changed_.wait(lock, [this] { return !beside_; });
        operation_.store(true, std::memory_order_seq_cst);
        wanted_.store(false, std::memory_order_seq_cst);
    }

    /// For the operation in the seat.
    void leave() noexcept {
        set_operation(false);
        announce();
    }

    /// For those that wait beside it: true with the seat taken, false once over() is true. Meanwhile calls look() every
    /// `tick`, without a lock.
    template <class Over, class Look>
    bool take_beside(std::chrono::nanoseconds tick, Over over, Look look) {
        std::unique_lock lock(mutex_);
        waiters_.fetch_add(1, std::memory_order_seq_cst);
        if (light_) process_barrier();
        bool done = false;
        const auto ready = [&] {
            done = over();
            return done || (!beside_ && !wanted() && !operation_.load(std::memory_order_seq_cst));
        };
        while (!changed_.wait_for(lock, tick, ready)) {
            lock.unlock();
            look();
            lock.lock();
        }
        if (done) {
            waiters_.fetch_sub(1, std::memory_order_seq_cst);
        } else {
            beside_ = true;
        }
        return !done;
    }

    /// For the one that has taken it beside.
    void leave_beside() noexcept {
        {
            const std::lock_guard lock(mutex_);
            beside_ = false;
            waiters_.fetch_sub(1, std::memory_order_seq_cst);
        }
        changed_.notify_all();
    }

    /// In the seat: should it be left?
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(std::memory_order_seq_cst); }

    /// After a seq_cst store of news for whoever is in the seat: is anyone? Who takes it later sees the news.
    [[nodiscard]] bool taken() const noexcept {
        if (light_) process_barrier();
        return operation_.load(std::memory_order_seq_cst) || waiters_.load(std::memory_order_seq_cst) != 0;
    }

    /// In the seat: something may be over for those that wait.
    void announce() noexcept {
        if (waiters_.load(std::memory_order_seq_cst) == 0) return;
        // The lock keeps the news from falling between the look and the sleep of one of them.
        { const std::lock_guard lock(mutex_); }
        changed_.notify_all();
    }

private:
    void set_operation(bool inside) noexcept {
        if (light_) {
            operation_.store(inside, std::memory_order_release);
            std::atomic_signal_fence(std::memory_order_seq_cst);
        } else {
            operation_.exchange(inside, std::memory_order_seq_cst);
        }
    }

    const bool light_ = has_process_barrier();
    std::mutex mutex_;
    std::condition_variable changed_;
    bool beside_ = false;  // under the lock: one that waits beside has taken the seat
    std::atomic<bool> operation_{false};
    std::atomic<bool> wanted_{false};
    std::atomic<std::uint32_t> waiters_{0};  // beside, whether in the seat or not
};

}  // namespace rondo::comm
