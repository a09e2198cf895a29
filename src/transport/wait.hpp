#pragma once
// The one wait of the library: poll, spin for a bounded time while cores are free, yield, then sleep on a doorbell.
// A deadline, the abort word and the peers' life are looked at in every wait; see Watch.

#include <chrono>
#include <cstdint>

#include "base/error.hpp"
#include "transport/doorbell.hpp"

namespace rondo::transport {

using Clock = std::chrono::steady_clock;

/// Between two polls: tells the core that this is one.
inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

/// What a waiter looks at besides its own condition.
class Watch {
public:
    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    virtual ~Watch() = default;

    /// Cheap, called every few polls: true once the communicator has failed or was aborted.
    [[nodiscard]] virtual bool stopped() const noexcept = 0;

    /// Thorough, called before each sleep and every tick while asleep, `waited` after the wait began: deadlines, stall
    /// warnings, the peers' life, disagreement between ranks. Anything but Success ends the wait.
    virtual Code examine(std::chrono::nanoseconds waited) noexcept = 0;

    /// Sleeps until the bell rings, `waited` after the wait began, or `longest` passes. May return early.
    virtual void sleep(Doorbell& bell, std::uint32_t word, std::chrono::nanoseconds waited,
                       std::chrono::nanoseconds longest) noexcept {
        static_cast<void>(waited);
        bell.sleep(word, longest.count());
    }
};

/// How long each rung of the ladder lasts. Computed once per communicator from ranks and usable cores.
struct WaitPolicy {
    std::chrono::nanoseconds spin{2'000};       ///< polling with a pause instruction; 0 where cores are short
    std::chrono::nanoseconds yield{50'000};     ///< then giving up the core between polls, at least kYields times
    bool crowded = false;                       ///< then not by time, but until others have run kYields times
    std::chrono::nanoseconds tick{50'000'000};  ///< longest sleep before the next examine()
    /// A core that others wait for is given up at the first poll in vain; polls in a row cost them more than they save.
    [[nodiscard]] bool spins() const noexcept { return spin.count() > 0; }
};

/// The policy for `local_ranks` ranks that run on `cores` usable cores; `spin_us` < 0 adapts to the cores, else it is
/// the spinning time.
WaitPolicy wait_policy(int local_ranks, int cores, double spin_us) noexcept;

/// One wait. Use:
///     Waiter waiter(policy, bell, watch);
///     while (!poll()) if (Code code = waiter.pause(); code != Code::Success) return code;
/// Every load that poll() decides on must be acquire, and follow this call's return (see doorbell.hpp).
class Waiter {
public:
    Waiter(const WaitPolicy& policy, Doorbell& bell, Watch& watch) noexcept
        : policy_(policy), bell_(bell), watch_(watch) {}
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter() {
        if (rung_ == Rung::Announced) bell_.retract();
    }

    /// After a poll that found nothing. Returns Success to poll again, else the reason to give up.
    Code pause() noexcept {
        if (rung_ == Rung::Spin && policy_.spins() && ++polls_ % kPollsPerLook != 0) {
            relax();
            return Code::Success;
        }
        return look();
    }

    /// After progress: starts the ladder anew. Deadlines count from the last progress.
    void restart() noexcept {
        if (rung_ == Rung::Announced) bell_.retract();
        rung_ = Rung::Spin;
        polls_ = 0;
    }

private:
    enum class Rung : std::uint8_t { Spin, Yield, Announced };
    static constexpr std::uint32_t kPollsPerLook = 32;
    static constexpr std::uint32_t kYields = 8;
    static constexpr std::uint32_t kLonelyYields = 100;
    // A yield and a poll that take longer have let somebody run: alone they take less than half of this.
    static constexpr std::chrono::nanoseconds kHandover{1'000};

    Code look() noexcept;
    bool yields_on(Clock::time_point now) noexcept;
    Code announce() noexcept;
    Code sleep() noexcept;

    const WaitPolicy& policy_;
    Doorbell& bell_;
    Watch& watch_;
    Rung rung_ = Rung::Spin;
    std::uint32_t polls_ = 0;
    std::uint32_t yields_ = 0;
    std::uint32_t handovers_ = 0;  // yields that let somebody run
    std::uint32_t word_ = 0;
    Clock::time_point began_{};
    Clock::time_point yielded_{};
};

}  // namespace rondo::transport
