#pragma once
// One thread's side of a row: the buffers of its ranks, the prepared calls, and how they are launched.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/mpi.hpp"
#include "driver/schedule.hpp"
#include "driver/team.hpp"
#include "driver/values.hpp"

namespace rondo::perf {

/// A rank as its thread drives it.
struct RankState {
    int rank = 0;
    Arena send;
    Arena recv;               ///< in place: both buffers
    std::vector<Call> calls;  ///< one for each slot
};

class Operation {
public:
    /// Buffers for the largest row of `schedule`, made by the thread that uses them.
    Operation(Team& team, int thread, const std::vector<Case>& schedule);

    /// Lays out buffers and calls for a row.
    void prepare(const Case& what, bool in_place);

    /// Launches calls of `call` from now on: MPI's own; null: Rondo's again.
    void use(mpi::OwnCall call) noexcept { own_call_ = call; }

    /// Writes new inputs for `calls` calls, from slot 0 on; their values are those of iterations `first` and up.
    void write_inputs(std::uint64_t first, std::size_t calls);

    /// Runs one iteration (-m calls) of every rank of this thread, beginning at slot `slot`. Throws Stopped.
    void launch(std::size_t slot) { launch_calls(slot, static_cast<std::size_t>(options().aggregate)); }
    /// Runs one call of every rank of this thread.
    void launch_once(std::size_t slot) { launch_calls(slot, 1); }

    [[nodiscard]] const Options& options() const noexcept { return team_.options(); }
    [[nodiscard]] const Collective& collective() const noexcept { return team_.collective(); }
    [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
    [[nodiscard]] const Blocking& blocking() const noexcept { return blocking_; }
    [[nodiscard]] const Case& what() const noexcept { return what_; }
    [[nodiscard]] bool in_place() const noexcept { return in_place_; }
    [[nodiscard]] std::size_t element_size() const noexcept { return element_size_; }
    [[nodiscard]] std::vector<RankState>& ranks() noexcept { return ranks_; }
    [[nodiscard]] Inputs inputs(std::uint64_t iteration) const noexcept;
    [[nodiscard]] Position position(int rank) const noexcept { return {options().nranks(), rank, what_.root}; }

    /// Where rank's input and output begin in a slot.
    [[nodiscard]] std::byte* input(const RankState& rank, std::size_t slot) const noexcept;
    [[nodiscard]] std::byte* output(const RankState& rank, std::size_t slot) const noexcept;

private:
    void launch_own(std::size_t slot, std::size_t calls);
    void launch_calls(std::size_t slot, std::size_t calls);
    void launch_group(std::size_t slot, std::size_t calls);
    [[noreturn]] void fail(const RankState& rank, rondoResult_t result);

    Team& team_;
    std::atomic<std::uint64_t>& pulse_;
    std::vector<RankState> ranks_;
    mpi::OwnCall own_call_ = nullptr;
    Case what_{};
    bool in_place_ = false;
    Layout layout_{};
    Blocking blocking_{};
    std::size_t element_size_ = 4;
};

}  // namespace rondo::perf
