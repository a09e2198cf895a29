#pragma once
// A Watch for waits in which nothing ever goes wrong, that counts what the waiter asks of it.

#include <algorithm>
#include <chrono>

#include "transport/wait.hpp"

namespace rondo::transport::test {

class QuietWatch final : public Watch {
public:
    [[nodiscard]] bool stopped() const noexcept override { return false; }
    Code examine(std::chrono::nanoseconds) noexcept override {
        ++examined;
        return Code::Success;
    }

    int examined = 0;                     ///< once before each sleep
    std::chrono::nanoseconds longest{0};  ///< the longest wait
};

/// A policy that goes to sleep as soon as it may. Its tick is so long that a missed wake-up cannot be overlooked.
inline WaitPolicy sleepy_policy() {
    return {.spin = std::chrono::nanoseconds(0), .yield = std::chrono::nanoseconds(0), .tick = std::chrono::seconds(8)};
}

/// Waits on `bell` until `poll` is true, and notes how long that took in watch.longest. A waiter that missed its
/// wake-up sleeps until the tick ends, and so shows.
template <class AWatch, class Poll>
void wait_for(const WaitPolicy& policy, Doorbell& bell, AWatch& watch, Poll poll) {
    const auto began = Clock::now();
    Waiter waiter(policy, bell, watch);
    while (!poll()) {
        if (waiter.pause() != Code::Success) break;
    }
    watch.longest = std::max<std::chrono::nanoseconds>(watch.longest, Clock::now() - began);
}

}  // namespace rondo::transport::test
