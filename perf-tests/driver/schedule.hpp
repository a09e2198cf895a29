#pragma once
// Which rows a run has, in which order, and how much memory they take.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/options.hpp"

namespace rondo::perf {

/// One row: a type, reduction, root and size.
struct Case {
    rondoDataType_t type = rondoFloat32;
    rondoRedOp_t op = rondoSum;
    int root = 0;
    std::uint64_t bytes = 0;  ///< as asked for; the layout rounds down to whole elements of every rank
};

/// The sizes from -b to -e. After size 0 a factor goes on with 1.
std::vector<std::uint64_t> sizes_of(const Options& options);

/// The rows of one cycle: for each type, reduction and root (as far as the collective has them) every size.
std::vector<Case> schedule_of(const Collective& collective, const Options& options);

/// How a row uses memory: iterations of a block, and slots, one for each call of a block where memory allows it.
struct Blocking {
    int iterations = 1;
    std::size_t slots = 1;
    bool slot_per_call = true;  ///< false: the calls of an iteration share slots
};

/// `bytes`: the larger buffer of a rank in this row.
Blocking blocking_of(std::size_t bytes, const Options& options) noexcept;

/// Bytes that all ranks' buffers take in a row whose larger buffer has `bytes` bytes.
std::uint64_t memory_of(std::uint64_t bytes, const Collective& collective, const Options& options) noexcept;

/// Lowers -e (and -b if it must) until the buffers fit into `limit` bytes. True if anything was lowered.
bool fit_into_memory(std::uint64_t limit, const Collective& collective, Options& options) noexcept;

/// What buffers may take of `available` bytes: 80 %, less an allowance for the library's own buffers of each edge.
std::uint64_t memory_limit(std::uint64_t available, int nranks) noexcept;

}  // namespace rondo::perf
