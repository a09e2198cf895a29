#include "transport/wait.hpp"

#include <sched.h>

namespace rondo::transport {

WaitPolicy wait_policy(int local_ranks, int cores, double spin_us) noexcept {
    using std::chrono::microseconds;
    WaitPolicy policy;
    const bool crowded = local_ranks > cores;
    if (spin_us >= 0) {
        policy.spin = std::chrono::nanoseconds(static_cast<std::int64_t>(spin_us * 1000));
    } else if (crowded) {
        policy.spin = microseconds(0);
    }
    // A waiter that yields on a crowded machine runs the others; past some rounds it is better out of their way. But
    // one that happens to have a core for itself stays awake on it: to wake a core that has gone idle takes many times
    // as long as to poll on.
    policy.crowded = crowded;
    return policy;
}

// The clock is first read after kPollsPerLook polls: waits that short have no use for it.
Code Waiter::look() noexcept {
    if (watch_.stopped()) return watch_.examine({});
    const Clock::time_point now = Clock::now();
    switch (rung_) {
        case Rung::Spin:
            if (polls_ <= kPollsPerLook) {
                began_ = now;
                yields_ = handovers_ = 0;
            }
            if (now - began_ < policy_.spin) return Code::Success;
            rung_ = Rung::Yield;
            [[fallthrough]];
        case Rung::Yield:
            if (yields_on(now)) {
                ::sched_yield();
                return Code::Success;
            }
            return announce();
        case Rung::Announced: return sleep();
    }
    return Code::InternalError;
}

/// Counts what the last yield did, and says whether there is to be another.
bool Waiter::yields_on(Clock::time_point now) noexcept {
    if (yields_ > 0 && now - yielded_ > kHandover) ++handovers_;
    yielded_ = now;
    const bool on = policy_.crowded ? handovers_ < kYields && yields_ - handovers_ < kLonelyYields
                                    : yields_ < kYields || now - began_ < policy_.spin + policy_.yield;
    ++yields_;
    return on;
}

Code Waiter::announce() noexcept {
    word_ = bell_.announce();
    rung_ = Rung::Announced;
    return Code::Success;  // the caller polls once more, with the flag up
}

Code Waiter::sleep() noexcept {
    const Clock::duration waited = Clock::now() - began_;
    if (const Code code = watch_.examine(waited); code != Code::Success) return code;
    watch_.sleep(bell_, word_, waited, policy_.tick);
    word_ = bell_.announce();
    return watch_.stopped() ? watch_.examine(Clock::now() - began_) : Code::Success;
}

}  // namespace rondo::transport
