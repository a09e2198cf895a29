#pragma once
// What the processes of a run tell each other, through a communicator of their own with one rank for each process:
// times, counts, texts, and a barrier between parts of a row. One process alone needs no communicator, and every call
// is local.

#include <rondo/rondo.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/launch.hpp"
#include "driver/options.hpp"

namespace rondo::perf {

/// Every process makes the same calls in the same order, each from one thread at a time. Calls throw ProcessError.
class Processes {
public:
    /// One process alone.
    Processes() = default;
    /// Joins the others. `timeout`: seconds that a call may wait; 0: the library's setting.
    Processes(const Launch& launch, const rondoUniqueId& id, double timeout);
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;
    ~Processes() = default;

    [[nodiscard]] int count() const noexcept { return count_; }
    [[nodiscard]] int index() const noexcept { return index_; }
    /// Process 0 writes the table and the files.
    [[nodiscard]] bool first() const noexcept { return index_ == 0; }

    void barrier();
    [[nodiscard]] std::uint64_t sum(std::uint64_t value) { return reduce(value, rondoSum); }
    [[nodiscard]] std::uint64_t min(std::uint64_t value) { return reduce(value, rondoMin); }
    [[nodiscard]] std::uint64_t max(std::uint64_t value) { return reduce(value, rondoMax); }
    /// Each value over the processes, as -a says; Rank0: process 0's values on process 0, others keep their own.
    void combine(std::span<double> values, Average average);
    /// All processes' texts, of any length, by number of the process.
    [[nodiscard]] std::vector<std::string> all_gather(const std::string& mine);
    /// The same for numbers, equally many on each process: process p's from p * values.size() on.
    [[nodiscard]] std::vector<std::int64_t> all_gather(std::span<const std::int64_t> values);

    /// Ends calls that wait, here and on the others. From any thread.
    void abort() noexcept;

private:
    struct Destroy {
        void operator()(rondoComm_t comm) const noexcept { rondoCommDestroy(comm); }
    };

    [[nodiscard]] std::uint64_t reduce(std::uint64_t value, rondoRedOp_t op);
    void require(const char* name, rondoResult_t result) const;

    int count_ = 1;
    int index_ = 0;
    std::unique_ptr<rondoComm, Destroy> comm_;
};

}  // namespace rondo::perf
