#pragma once
// What the threads of a run share: communicators, the barrier, the first failure, and the board where they leave
// results.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/buffers.hpp"
#include "driver/collective.hpp"
#include "driver/options.hpp"
#include "driver/processes.hpp"
#include "driver/results.hpp"
#include "driver/run_error.hpp"
#include "driver/spin_barrier.hpp"

namespace rondo::perf {

/// Thrown in a thread to leave its run: the failure itself is kept in the team.
class Stopped : public std::exception {};

class Team {
public:
    /// Makes the communicators and streams of this process's ranks; `id` is that of the ranks where there are several
    /// processes. Throws RunError.
    Team(const Collective& collective, const Options& options, Processes& processes, const rondoUniqueId& id);
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() = default;

    [[nodiscard]] const Collective& collective() const noexcept { return collective_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] Processes& processes() const noexcept { return processes_; }
    /// Of a rank of this process.
    [[nodiscard]] rondoComm_t comm(int rank) const noexcept { return comms_[index_of(rank)].get(); }
    /// Null without --stream.
    [[nodiscard]] rondoStream_t stream(int rank) const noexcept {
        return streams_.empty() ? nullptr : streams_[index_of(rank)].get();
    }
    /// Nanoseconds that reading the clock takes.
    [[nodiscard]] double clock_cost() const noexcept { return clock_cost_; }

    /// Waits for all threads of all processes. Throws Stopped when any thread here has failed, ProcessError (in thread
    /// 0) when another process has.
    void meet(int thread) {
        if (!barrier_.wait()) throw Stopped();
        if (processes_.count() == 1) return;
        if (thread == 0) processes_.barrier();
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

    /// Counts the thread's entries into and returns from the library: odd while it is inside.
    std::atomic<std::uint64_t>& pulse(int thread) noexcept { return pulses_[static_cast<std::size_t>(thread)].beats; }
    /// The sum of all pulses; nothing while no thread is inside the library.
    [[nodiscard]] std::optional<std::uint64_t> pulse_inside() const noexcept;

    // The board of this process. A thread writes its own entries; all read after meet().
    std::vector<double> times;                    ///< per thread: microseconds for one call
    std::vector<std::vector<double>> samples;     ///< per thread
    std::vector<std::vector<Edge>> edges;         ///< per rank
    Arena expected;                               ///< the reduction, all slots; threads write a slice each
    std::atomic<std::uint64_t> wrong{0};          ///< elements, in the row and mode at hand
    std::atomic<std::uint64_t> out_of_bounds{0};  ///< guard bytes overwritten, in the row at hand

    struct alignas(64) Mark {
        std::atomic<std::int64_t> value{0};
    };
    std::unique_ptr<Mark[]> marks;  ///< per rank: the barrier that it has come to
    /// When a thread came to a barrier and when it left it, on the machine's monotonic clock, in nanoseconds.
    struct Stay {
        std::int64_t came = 0;
        std::int64_t left = 0;
    };
    std::vector<std::vector<Stay>> stays;  ///< per thread, for each barrier of a round
    std::vector<bool> same_machine;        ///< per process: shares this one's clock

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

    [[nodiscard]] std::size_t index_of(int rank) const noexcept {
        return static_cast<std::size_t>(rank - options_.first_rank());
    }
    void abort_all() noexcept;

    const Collective& collective_;
    const Options& options_;
    Processes& processes_;
    std::vector<Comm> comms_;
    std::vector<Stream> streams_;  ///< destroyed before the communicators
    SpinBarrier barrier_;
    std::vector<Pulse> pulses_;
    double clock_cost_ = 0;
    mutable std::mutex mutex_;
    std::vector<Failure> failures_;
    std::vector<std::string> notes_;
};

}  // namespace rondo::perf
