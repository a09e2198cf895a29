#include "driver/schedule.hpp"

#include <algorithm>
#include <limits>

#include "driver/buffers.hpp"
#include "driver/element.hpp"

namespace rondo::perf {

namespace {

/// Bytes of one block. A size of more than half of it is timed call by call: two clock reads in several microseconds.
constexpr std::size_t kBlockedBytes = 16384;
constexpr int kMaxBlock = 32;
/// Slots of one buffer may take that much, or one size if that is more.
constexpr std::size_t kSlotBytes = 64U << 20;
/// Allowance for the library's FIFOs, for each directed edge.
constexpr std::uint64_t kEdgeBytes = 1U << 20;
/// No machine has that much; below it the products of memory_of fit into 64 bits.
constexpr std::uint64_t kEndless = std::uint64_t{1} << 50;

}  // namespace

std::vector<std::uint64_t> sizes_of(const Options& options) {
    std::vector<std::uint64_t> sizes;
    std::uint64_t size = options.min_bytes;
    while (size <= options.max_bytes) {
        sizes.push_back(size);
        const std::uint64_t factor = options.step_factor;
        // Sizes stay below 2^62, so adding does not wrap; multiplying is guarded.
        if (factor > 1 && size > options.max_bytes / factor) break;
        const std::uint64_t next = factor > 1 ? std::max<std::uint64_t>(size * factor, 1) : size + options.step_bytes;
        if (next == size) break;
        size = next;
    }
    return sizes;
}

std::vector<Case> schedule_of(const Collective& collective, const Options& options) {
    if (!collective.moves_data) return {Case{rondoInt8, rondoSum, 0, 0}};
    std::vector<Case> cases;
    const std::vector<rondoRedOp_t> ops = collective.reduces ? options.ops : std::vector<rondoRedOp_t>{rondoSum};
    const std::vector<int> roots = collective.rooted ? options.roots : std::vector<int>{0};
    const std::vector<std::uint64_t> sizes = sizes_of(options);
    for (const rondoDataType_t type : options.types) {
        for (const rondoRedOp_t op : ops) {
            for (const int root : roots) {
                for (const std::uint64_t bytes : sizes) cases.push_back({type, op, root, bytes});
            }
        }
    }
    return cases;
}

Blocking blocking_of(std::size_t bytes, const Options& options) noexcept {
    Blocking blocking;
    const auto aggregate = static_cast<std::size_t>(options.aggregate);
    const std::size_t stride = SlotLayout{bytes, options.misalignment(8), 1}.stride();
    if (bytes <= kBlockedBytes) {
        const std::size_t fitting = std::max<std::size_t>(kBlockedBytes / std::max<std::size_t>(bytes, 1), 1);
        const std::size_t wanted = std::min<std::size_t>(fitting, kMaxBlock) / aggregate;
        blocking.iterations = std::clamp(static_cast<int>(wanted), 1, options.iterations);
    }
    const std::size_t calls = static_cast<std::size_t>(blocking.iterations) * aggregate;
    blocking.slots = std::clamp<std::size_t>(kSlotBytes / stride, 1, calls);
    blocking.slot_per_call = blocking.slots == calls;
    return blocking;
}

std::uint64_t memory_of(std::uint64_t bytes, const Collective& collective, const Options& options) noexcept {
    if (bytes >= kEndless) return std::numeric_limits<std::uint64_t>::max();
    const Blocking blocking = blocking_of(bytes, options);
    const std::uint64_t one = SlotLayout{bytes, options.misalignment(8), blocking.slots}.total();
    const std::uint64_t expected = collective.reduces && options.checks > 0 ? bytes * blocking.slots : 0;
    return 2 * one * static_cast<std::uint64_t>(options.ranks_here()) +
           expected * static_cast<std::uint64_t>(options.processes_here);
}

bool fit_into_memory(std::uint64_t limit, const Collective& collective, Options& options) noexcept {
    if (memory_of(options.max_bytes, collective, options) <= limit) return false;
    std::uint64_t low = 0;
    std::uint64_t high = options.max_bytes;
    while (low + 1 < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        (memory_of(middle, collective, options) <= limit ? low : high) = middle;
    }
    options.max_bytes = low / 64 * 64;
    options.min_bytes = std::min(options.min_bytes, options.max_bytes);
    return true;
}

std::uint64_t memory_limit(std::uint64_t available, int nranks) noexcept {
    const auto n = static_cast<std::uint64_t>(nranks);
    const std::uint64_t library = n * (n - 1) * kEdgeBytes;
    const std::uint64_t share = available / 5 * 4;
    return share > library ? share - library : 0;
}

}  // namespace rondo::perf
