#pragma once
// Checked rounds of a row: every element of every rank, guards, unchanged inputs, and traffic against the plan.

#include <cstdint>
#include <vector>

#include "driver/operation.hpp"

namespace rondo::perf {

class Checker {
public:
    Checker(Team& team, int thread, Operation& operation) : team_(team), thread_(thread), operation_(operation) {}

    /// Runs and checks one round: new inputs of iterations `first` and up in every slot, one call for each slot.
    /// `inject`: flip a bit of the output before checking; true is returned where that was possible.
    /// Wrong elements are added to team.wrong, everything else that is wrong is noted. Throws Stopped.
    bool run_round(std::uint64_t first, bool inject);

    /// Checks outputs that are there: of `calls` calls from slot 0 on, whose inputs were those of iterations `first`
    /// on. All threads call it together.
    void check_outputs(std::uint64_t first, std::size_t calls, bool poisoned);

private:
    struct Traffic {
        std::vector<std::uint64_t> bytes;
        std::vector<std::uint64_t> messages;
        std::vector<std::uint64_t> direct;
    };
    /// rondoCommGetTraffic or rondoCommGetPlannedTraffic.
    using Query = rondoResult_t (*)(rondoComm_t, std::uint64_t*, std::uint64_t*, std::uint64_t*);

    bool run_barrier_round(std::uint64_t first, bool inject);
    /// Thread 0: did anyone here leave a barrier before another process of this machine had come to it?
    void compare_stays(std::uint64_t first);
    void write_expected(std::uint64_t first, std::size_t calls);
    void check_slot(RankState& rank, std::size_t slot, const Inputs& inputs, bool poisoned);
    void check_inputs(const RankState& rank, std::size_t slot, const Inputs& inputs);
    [[nodiscard]] Comparison compare_segment(const RankState& rank, std::size_t slot, const Inputs& inputs,
                                             const Segment& segment, bool poisoned) const;
    void report(const RankState& rank, std::string_view what, std::size_t begin, const Comparison& result);
    [[nodiscard]] Traffic query(const RankState& rank, Query function, std::string_view name);
    [[nodiscard]] std::vector<Traffic> traffic();
    void check_traffic(const std::vector<Traffic>& before, std::uint64_t operations);
    bool inject_error();

    Team& team_;
    int thread_;
    Operation& operation_;
};

}  // namespace rondo::perf
