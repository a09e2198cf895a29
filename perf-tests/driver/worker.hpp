#pragma once
// One thread of a run: goes through all rows, times and checks them; thread 0 puts the rows together.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/checker.hpp"
#include "driver/operation.hpp"
#include "driver/results.hpp"

namespace rondo::perf {

/// The algorithm's name in a plan id: "one_shot" in "all_reduce/one_shot/n2/...". "" where there is none.
std::string algorithm_in(const std::string& plan);

class Worker {
public:
    /// `sink` and `outcome` are used by thread 0 only; the outcome is the same in all processes.
    Worker(Team& team, int thread, const std::vector<Case>& schedule, RowSink& sink, Outcome& outcome);

    /// Runs all rows. Every failure is kept in the team; nothing is thrown.
    static void run(Team& team, int thread, const std::vector<Case>& schedule, RowSink& sink,
                    Outcome& outcome) noexcept;

private:
    using Clock = std::chrono::steady_clock;

    void run_all();
    void run_cycle();
    ModeResult measure(const Case& what, bool in_place);
    /// Times MPI's own call as measure() times Rondo's. Nothing where MPI has no such type or reduction.
    std::optional<ModeResult> measure_mpi(const Case& what);
    /// Warm-up and timing of what is prepared; the result is thread 0's.
    ModeResult time_all();
    void warm_up();
    void time_blocks();
    void time_back_to_back();
    void sample_blocks();
    void check();
    /// The numbers that thread 0 makes of the times of all threads of all processes.
    [[nodiscard]] ModeResult combine_threads();
    /// Thread 0: fills in what has been measured and moved.
    void describe_row(Row& row);
    [[nodiscard]] std::vector<Edge> gather_edges();
    /// Thread 0: hands the row, with what all processes noted, to the sink and adds it to the outcome.
    void finish_row(Row& row);

    /// New inputs for `iterations` iterations, whose values no earlier ones had.
    void write_inputs(std::size_t iterations);
    [[nodiscard]] double elapsed(Clock::time_point from, Clock::time_point to) const noexcept;
    [[nodiscard]] std::size_t slot_of(std::size_t iteration) const noexcept;
    [[nodiscard]] std::size_t calls_of(std::size_t iterations) const noexcept;

    Team& team_;
    int thread_;
    const std::vector<Case>& schedule_;
    RowSink& sink_;
    Outcome& outcome_;
    Operation operation_;
    Checker checker_;
    std::vector<double> samples_;     ///< microseconds for one call
    std::uint64_t next_inputs_ = 0;   ///< iteration number of the next inputs; the same on all threads
    std::uint64_t block_inputs_ = 0;  ///< that of the inputs in slot 0
    std::size_t block_calls_ = 0;     ///< calls of the block that ran last
    bool injected_ = false;
};

}  // namespace rondo::perf
