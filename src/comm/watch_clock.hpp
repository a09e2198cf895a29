#pragma once
// The time since something last came on, for whoever looks at it now and then.

#include <chrono>
#include <cstdint>

namespace rondo::comm {

class WatchClock {
public:
    using Clock = std::chrono::steady_clock;

    WatchClock() = default;
    /// Runs from now on.
    explicit WatchClock(std::uint64_t steps) noexcept : steps_(steps), since_(Clock::now()), running_(true) {}

    /// The time since the last look at which `steps` was another number than before: late by no more than the time
    /// between two looks. A clock that does not run yet starts `waited` ago.
    std::chrono::nanoseconds look(std::uint64_t steps, std::chrono::nanoseconds waited = {}) noexcept {
        const Clock::time_point now = Clock::now();
        if (!running_) {
            since_ = now - waited;
        } else if (steps != steps_) {
            since_ = now;
        }
        running_ = true;
        steps_ = steps;
        return now - since_;
    }
    void stop() noexcept { running_ = false; }
    [[nodiscard]] bool running() const noexcept { return running_; }

private:
    std::uint64_t steps_ = 0;
    Clock::time_point since_{};
    bool running_ = false;
};

}  // namespace rondo::comm
