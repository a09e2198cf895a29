#pragma once
// What a run hands to the writers of tables and files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/schedule.hpp"
#include "driver/stats.hpp"

namespace rondo::perf {

/// Payload that moves from one rank to another in one operation, by the plan's arithmetic.
struct Edge {
    int from = 0;
    int to = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t sent_messages = 0;
    std::uint64_t direct_bytes = 0;  ///< that `from` loads from, or stores to, memory of `to`
};

/// One mode (out of place or in place) of a row. Times in microseconds for one call, bandwidths in GB/s (1e9).
struct ModeResult {
    double time = 0;
    double alg_bw = 0;
    double bus_bw = 0;
    Summary samples{};
    std::optional<std::uint64_t> wrong;  ///< elements; empty: not checked
};

struct Row {
    Case what{};
    std::uint64_t size = 0;   ///< bytes of the larger buffer of a rank
    std::uint64_t count = 0;  ///< the count argument
    std::string type;
    std::string redop;
    int root = -1;
    std::optional<ModeResult> out_of_place;
    std::optional<ModeResult> in_place;
    std::optional<ModeResult> mpi;  ///< MPI's own call, out of place
    std::string plan;
    std::string algorithm;
    std::vector<Edge> edges;
    std::string timestamp;
};

/// A process of the run, for the header.
struct ProcessInfo {
    std::string host;
    long pid = 0;
    std::string boot;  ///< of the machine's kernel: equal where two processes share a machine
    std::string cpu;
};

struct Outcome {
    std::uint64_t wrong = 0;  ///< wrong elements in all rows, and guard bytes overwritten
    double bus_bw_sum = 0;
    int bus_bw_count = 0;
    std::vector<std::string> notes;  ///< what was found wrong in finished rows, by all processes
    std::vector<std::string> errors;

    [[nodiscard]] double average_bus_bw() const noexcept { return bus_bw_count == 0 ? 0 : bus_bw_sum / bus_bw_count; }
    [[nodiscard]] bool ok() const noexcept { return wrong == 0 && errors.empty(); }
};

/// Where rows go as they are finished.
class RowSink {
public:
    RowSink() = default;
    RowSink(const RowSink&) = delete;
    RowSink& operator=(const RowSink&) = delete;
    virtual ~RowSink() = default;

    virtual void start(std::size_t index, std::size_t total, const Case& what) = 0;
    /// `notes`: what was found wrong in this row, a line each.
    virtual void finish(const Row& row, const std::vector<std::string>& notes) = 0;
};

}  // namespace rondo::perf
