#pragma once
// Who moves a communicator's messages. Operations begin one at a time, but tagged messages on streams may go on waiting
// while later operations run. Of all threads that wait, the one in the seat moves everything that can be moved; an
// operation that is to begin takes the seat before those that only wait.

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace rondo::comm {

class Seat {
public:
    /// For an operation whose turn it is. `wake()` makes whoever is in the seat look at wanted().
    template <class Wake>
    void take(Wake wake) {
        std::unique_lock lock(mutex_);
        wanted_.store(true, std::memory_order_seq_cst);
        if (taken_) wake();
        changed_.wait(lock, [this] { return !taken_; });
        wanted_.store(false, std::memory_order_relaxed);
        taken_ = true;
    }

    /// For those that wait beside the turn: true with the seat taken, false once over() is true.
    template <class Over>
    bool take_beside(Over over) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return over() || (!taken_ && !wanted_.load(std::memory_order_relaxed)); });
        if (over()) return false;
        taken_ = true;
        return true;
    }

    /// In the seat: should it be left?
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(std::memory_order_seq_cst); }

    /// In the seat: something may be over for those that wait. The lock keeps the news from falling between the look
    /// and the sleep of one of them.
    void announce() noexcept {
        { const std::lock_guard lock(mutex_); }
        changed_.notify_all();
    }

    void leave() noexcept {
        {
            const std::lock_guard lock(mutex_);
            taken_ = false;
        }
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> wanted_{false};
    bool taken_ = false;
};

}  // namespace rondo::comm
