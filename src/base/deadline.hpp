#pragma once
// A point in time until which something may take; steady, so that setting the clock changes nothing.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace rondo {

/// "12.5 s", "30 ms", "7 us": at most three significant digits below a hundred seconds.
inline std::string seconds_text(double seconds) {
    const double size = seconds < 0 ? -seconds : seconds;
    if (size >= 100) return fmt::format("{:.0f} s", seconds);
    if (size >= 1) return fmt::format("{:.3g} s", seconds);
    if (size >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
    if (size > 0) return fmt::format("{:.3g} us", seconds * 1e6);
    return "0 s";
}

class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    /// The deadline that never comes.
    static constexpr Deadline never() noexcept { return Deadline(Clock::time_point::max()); }

    /// `seconds` from now; already over for 0 and less, never for more than the clock can count (and for NaN).
    static Deadline after(double seconds) noexcept { return after(seconds, Clock::now()); }

    /// `seconds` after `start`.
    static Deadline after(double seconds, Clock::time_point start) noexcept {
        const double room = std::chrono::duration<double>(Clock::time_point::max() - start).count();
        // Half the room leaves out the rounding of large doubles.
        if (!(seconds < room / 2)) return never();
        return Deadline(
            start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(seconds, 0.0))));
    }

    [[nodiscard]] bool is_never() const noexcept { return at_ == Clock::time_point::max(); }
    [[nodiscard]] bool expired() const noexcept { return expired(Clock::now()); }
    [[nodiscard]] bool expired(Clock::time_point now) const noexcept { return !is_never() && now >= at_; }

    /// Time left, 0 when expired, Clock::duration::max() for never().
    [[nodiscard]] Clock::duration remaining() const noexcept { return remaining(Clock::now()); }
    [[nodiscard]] Clock::duration remaining(Clock::time_point now) const noexcept {
        if (is_never()) return Clock::duration::max();
        return std::max(at_ - now, Clock::duration::zero());
    }

    [[nodiscard]] Clock::time_point at() const noexcept { return at_; }

    constexpr auto operator<=>(const Deadline&) const = default;

private:
    constexpr explicit Deadline(Clock::time_point at) noexcept : at_(at) {}

    Clock::time_point at_;
};

}  // namespace rondo
