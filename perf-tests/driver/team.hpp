#pragma once
// What the threads of a run share: communicators, the barrier, the first failure, and the board where they leave
// results.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/buffers.hpp"
#include "driver/collective.hpp"
#include "driver/options.hpp"
#include "driver/results.hpp"
#include "driver/spin_barrier.hpp"

namespace rondo::perf {

/// A failure of the library outside of the threads.
class RunError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown in a thread to leave its run: the failure itself is kept in the team.
class Stopped : public std::exception {};

class Team {
public:
    /// Makes the communicators and streams. Throws RunError.
    Team(const Collective& collective, const Options& options);
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() = default;

    [[nodiscard]] const Collective& collective() const noexcept { return collective_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] rondoComm_t comm(int rank) const noexcept { return comms_[static_cast<std::size_t>(rank)].get(); }
    /// Null without --stream.
    [[nodiscard]] rondoStream_t stream(int rank) const noexcept {
        return streams_.empty() ? nullptr : streams_[static_cast<std::size_t>(rank)].get();
    }
    /// Nanoseconds that reading the clock takes.
    [[nodiscard]] double clock_cost() const noexcept { return clock_cost_; }

    /// Waits for all threads. Throws Stopped when any of them has failed.
    void meet() {
        if (!barrier_.wait()) throw Stopped();
    }
    [[nodiscard]] bool stopped() const noexcept { return barrier_.stopped(); }

    /// Records a failure, aborts all communicators and releases all threads. rank -1: not of one rank;
    /// echo: likely the consequence of another rank's failure, to be listed after it.
    void fail(int rank, std::string_view what, const std::string& text, bool echo = false) noexcept;
    /// As above for a call that returned `result`, with the library's text. Throws Stopped.
    [[noreturn]] void fail_call(int rank, std::string_view what, rondoResult_t result);

    /// Adds a line about something wrong in this row.
    void note(std::string line);
    /// The lines since the last call. They also count as errors of the run.
    std::vector<std::string> take_notes();

    /// What ended the run, first cause first; empty if nothing did.
    [[nodiscard]] std::vector<std::string> failures() const;
    /// All notes of the run.
    [[nodiscard]] std::vector<std::string> notes() const;

    /// Counts the thread's entries into and returns from the library: odd while it is inside.
    std::atomic<std::uint64_t>& pulse(int thread) noexcept { return pulses_[static_cast<std::size_t>(thread)].beats; }
    /// The sum of all pulses; nothing while no thread is inside the library.
    [[nodiscard]] std::optional<std::uint64_t> pulse_inside() const noexcept;

    // The board. A thread writes its own entries; all read after meet().
    std::vector<double> times;                    ///< per thread: microseconds for one call
    std::vector<std::vector<double>> samples;     ///< per thread
    std::vector<std::vector<Edge>> edges;         ///< per rank
    Arena expected;                               ///< the reduction, all slots; threads write a slice each
    std::atomic<std::uint64_t> wrong{0};          ///< elements, in the row and mode at hand
    std::atomic<std::uint64_t> out_of_bounds{0};  ///< guard bytes overwritten, in the whole run

    struct alignas(64) Mark {
        std::atomic<std::int64_t> value{0};
    };
    std::unique_ptr<Mark[]> marks;  ///< per rank: the barrier that it has come to

private:
    struct DestroyComm {
        void operator()(rondoComm_t comm) const noexcept { rondoCommDestroy(comm); }
    };
    struct DestroyStream {
        void operator()(rondoStream_t stream) const noexcept { rondoStreamDestroy(stream); }
    };
    using Comm = std::unique_ptr<rondoComm, DestroyComm>;
    using Stream = std::unique_ptr<rondoStream, DestroyStream>;
    struct alignas(64) Pulse {
        std::atomic<std::uint64_t> beats{0};
    };
    struct Failure {
        bool secondary = false;  ///< the consequence of another rank's failure
        std::string text;
    };

    void abort_all() noexcept;

    const Collective& collective_;
    const Options& options_;
    std::vector<Comm> comms_;
    std::vector<Stream> streams_;  ///< destroyed before the communicators
    SpinBarrier barrier_;
    std::vector<Pulse> pulses_;
    double clock_cost_ = 0;
    mutable std::mutex mutex_;
    std::vector<Failure> failures_;
    std::vector<std::string> notes_;
    std::vector<std::string> note_log_;
};

}  // namespace rondo::perf
