#include "comm/selection.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "transport/fifos.hpp"
#include "transport/memory/fifo.hpp"

namespace rondo::comm {

namespace {

using plan::Algorithm;
using plan::Collective;

// A direct plan copies straight between the users' buffers. Its chunk only bounds how long a rank goes without looking
// at the abort word.
constexpr std::int64_t kDirectChunk = std::int64_t{4} << 20U;
constexpr std::int64_t kChunkAlign = 64;

/// A row of the table: up to `bytes` on up to `ranks`, these algorithms in this order.
struct Preference {
    Collective collective;
    std::int64_t bytes;
    Rank ranks;
    Algorithm first;
    Algorithm second;
};

constexpr std::int64_t kAny = INT64_MAX;
constexpr Rank kMany = INT32_MAX;

// Ranks that address each other's memory. Small calls: messages in lines, and no rank waits for one that it needs
// nothing from. A chain wakes fewer ranks than a tree, while it is short. Larger calls: the two barriers of a direct
// plan cost less than copying through slots. Measured with perf-tests --algo on two cores, 2 to 8 ranks
// (docs/tuning.md).
constexpr Preference kThreads[] = {
    {Collective::AllReduce, 1024, kMany, Algorithm::OneShot, Algorithm::Direct},
    {Collective::AllReduce, kAny, kMany, Algorithm::Direct, Algorithm::Ring},
    {Collective::Reduce, 2048, 8, Algorithm::Ring, Algorithm::Tree},
    {Collective::Reduce, 2048, kMany, Algorithm::Tree, Algorithm::Ring},
    {Collective::Reduce, kAny, kMany, Algorithm::Direct, Algorithm::Ring},
    {Collective::Broadcast, 2048, 8, Algorithm::Ring, Algorithm::Tree},
    {Collective::Broadcast, 2048, kMany, Algorithm::Tree, Algorithm::Ring},
    {Collective::Broadcast, kAny, kMany, Algorithm::Direct, Algorithm::Ring},
    {Collective::AllGather, 512, kMany, Algorithm::Pat, Algorithm::Ring},
    {Collective::AllGather, kAny, kMany, Algorithm::Direct, Algorithm::Ring},
    {Collective::ReduceScatter, 512, kMany, Algorithm::Pat, Algorithm::Ring},
    {Collective::ReduceScatter, kAny, kMany, Algorithm::Direct, Algorithm::Ring},
    {Collective::AllToAll, 1024, kMany, Algorithm::Pairwise, Algorithm::Bruck},
    {Collective::AllToAll, kAny, kMany, Algorithm::Direct, Algorithm::Pairwise},
    {Collective::Barrier, kAny, kMany, Algorithm::Direct, Algorithm::Dissemination},
};

// Ranks that share memory for messages and windows: every byte passes through a slot or a window. While all of it stays
// in the caches, few meetings count more than few copies; beyond that, every rank's data should be copied in once,
// whoever needs it. Staging costs meetings of all, which a large number of ranks does not repay.
constexpr std::int64_t kKiB = 1024;
constexpr Rank kStaging = 64;
constexpr Preference kHost[] = {
    {Collective::AllReduce, 8 * kKiB, 4, Algorithm::OneShot, Algorithm::TwoShot},
    {Collective::AllReduce, kKiB, 8, Algorithm::OneShot, Algorithm::TwoShot},
    {Collective::AllReduce, kKiB, kMany, Algorithm::HalvingDoubling, Algorithm::Tree},
    {Collective::AllReduce, 512 * kKiB, 4, Algorithm::TwoShot, Algorithm::HalvingDoubling},
    {Collective::AllReduce, 128 * kKiB, 16, Algorithm::TwoShot, Algorithm::HalvingDoubling},
    {Collective::AllReduce, kAny, kStaging, Algorithm::Staged, Algorithm::Ring},
    {Collective::AllReduce, kAny, kMany, Algorithm::Ring, Algorithm::TwoShot},
    {Collective::Reduce, 2 * kKiB, 8, Algorithm::Ring, Algorithm::Tree},
    {Collective::Reduce, 2 * kKiB, kMany, Algorithm::Tree, Algorithm::Ring},
    {Collective::Reduce, 128 * kKiB, kMany, Algorithm::Ring, Algorithm::Tree},
    {Collective::Reduce, kAny, 4, Algorithm::Ring, Algorithm::Tree},
    {Collective::Reduce, kAny, kStaging, Algorithm::Staged, Algorithm::Ring},
    {Collective::Reduce, kAny, kMany, Algorithm::Ring, Algorithm::Tree},
    {Collective::Broadcast, 2 * kKiB, 8, Algorithm::Ring, Algorithm::Tree},
    {Collective::Broadcast, 2 * kKiB, kMany, Algorithm::Tree, Algorithm::Ring},
    {Collective::Broadcast, 256 * kKiB, 2, Algorithm::Tree, Algorithm::Ring},
    {Collective::Broadcast, 64 * kKiB, 4, Algorithm::Tree, Algorithm::Ring},
    {Collective::Broadcast, kAny, kStaging, Algorithm::Staged, Algorithm::Ring},
    {Collective::Broadcast, kAny, kMany, Algorithm::Ring, Algorithm::Tree},
    {Collective::AllGather, 512, kMany, Algorithm::Pat, Algorithm::Ring},
    {Collective::AllGather, 1024 * kKiB, 2, Algorithm::Ring, Algorithm::Pat},
    {Collective::AllGather, 32 * kKiB, 4, Algorithm::Pat, Algorithm::Ring},
    {Collective::AllGather, kAny, kStaging, Algorithm::Staged, Algorithm::Ring},
    {Collective::AllGather, kAny, kMany, Algorithm::Ring, Algorithm::Pat},
    {Collective::ReduceScatter, 8 * kKiB, kMany, Algorithm::Pat, Algorithm::Ring},
    {Collective::ReduceScatter, 4096 * kKiB, 2, Algorithm::Pat, Algorithm::Ring},
    {Collective::ReduceScatter, 256 * kKiB, 4, Algorithm::Pat, Algorithm::Ring},
    {Collective::ReduceScatter, kAny, kStaging, Algorithm::Staged, Algorithm::Ring},
    {Collective::ReduceScatter, kAny, kMany, Algorithm::Ring, Algorithm::Pat},
    {Collective::AllToAll, kAny, kMany, Algorithm::Pairwise, Algorithm::Bruck},
    {Collective::Barrier, kAny, kMany, Algorithm::Direct, Algorithm::Dissemination},
};

// A network between some ranks: few hops for what is small, each byte over the network as seldom as may be for what is
// large.
constexpr Preference kNetwork[] = {
    {Collective::AllReduce, std::int64_t{4} << 10U, 4, Algorithm::OneShot, Algorithm::HalvingDoubling},
    {Collective::AllReduce, std::int64_t{4} << 10U, kMany, Algorithm::HalvingDoubling, Algorithm::Tree},
    {Collective::AllReduce, kAny, kMany, Algorithm::Hierarchical, Algorithm::Ring},
    {Collective::Reduce, std::int64_t{16} << 10U, kMany, Algorithm::Tree, Algorithm::Ring},
    {Collective::Reduce, kAny, kMany, Algorithm::Ring, Algorithm::Tree},
    {Collective::Broadcast, std::int64_t{16} << 10U, kMany, Algorithm::Tree, Algorithm::Ring},
    {Collective::Broadcast, kAny, kMany, Algorithm::Ring, Algorithm::Tree},
    {Collective::AllGather, std::int64_t{4} << 10U, kMany, Algorithm::Pat, Algorithm::Ring},
    {Collective::AllGather, kAny, kMany, Algorithm::Hierarchical, Algorithm::Ring},
    {Collective::ReduceScatter, std::int64_t{4} << 10U, kMany, Algorithm::Pat, Algorithm::Ring},
    {Collective::ReduceScatter, kAny, kMany, Algorithm::Hierarchical, Algorithm::Ring},
    {Collective::AllToAll, kAny, kMany, Algorithm::Pairwise, Algorithm::Bruck},
    {Collective::Barrier, kAny, kMany, Algorithm::Dissemination, Algorithm::Dissemination},
};

std::span<const Preference> preferences(Reach reach) noexcept {
    switch (reach) {
        case Reach::Threads: return kThreads;
        case Reach::Host:
        case Reach::Pull: return kHost;
        case Reach::Network: return kNetwork;
    }
    return kNetwork;
}

std::string_view text_of(Reach reach) noexcept {
    switch (reach) {
        case Reach::Threads: return "of host memory";
        case Reach::Host: return "that share memory for messages and windows";
        case Reach::Pull: return "that share memory for messages and windows and copy from each other";
        case Reach::Network: return "with a network between them";
    }
    return "";
}

bool runs_here(const plan::Shape& shape, const plan::Facts& facts, Reach reach) {
    if (shape.needs.multicast || !shape.serves(facts)) return false;
    if (shape.needs.peer_reads) return reach == Reach::Threads || reach == Reach::Pull;
    if (shape.needs.windows) return reach != Reach::Network;
    if (!shape.needs.peer_memory || reach == Reach::Threads) return true;
    // A direct barrier touches no buffer: counters are enough.
    return reach != Reach::Network && shape.collective == Collective::Barrier;
}

/// The largest part of which all that a rank stages fits into its window.
std::int64_t window_chunk(const plan::Plan& plan, const Options& options) {
    const std::int64_t parts =
        std::int64_t{plan.scratch_blocks} * plan.parts * static_cast<std::int64_t>(plan.channels.size());
    const auto window = static_cast<std::int64_t>(transport::window_bytes(options.slots, options.slot_bytes));
    const std::int64_t each = window / parts;
    if (each < kChunkAlign) {
        throw make_error(Code::InvalidUsage,
                         "{}/{} on {} ranks cuts a window of {} bytes into {} parts, less than {} bytes each; raise "
                         "RONDO_BUFFSIZE or lower RONDO_NCHANNELS",
                         plan::name_of(plan.collective), plan::name_of(plan.algorithm), plan.nranks, window, parts,
                         kChunkAlign);
    }
    return each / kChunkAlign * kChunkAlign;
}

}  // namespace

Reach reach_of(const Placement& placement, bool pulls) noexcept {
    if (!placement.one_memory()) return Reach::Network;
    if (placement.one_process) return Reach::Threads;
    return pulls ? Reach::Pull : Reach::Host;
}

const plan::Shape& choose_shape(Collective collective, std::int64_t bytes, const plan::Facts& facts, Reach reach,
                                const AlgorithmFilter& filter) {
    // A rule that does not speak of barriers is not meant for them.
    const bool free = collective == Collective::Barrier && !filter.rules.names(plan::name_of(collective));
    const auto usable = [&](const plan::Shape& shape) {
        return shape.collective == collective && (free || filter.allows(collective, shape.algorithm)) &&
               runs_here(shape, facts, reach);
    };
    for (const Preference& row : preferences(reach)) {
        if (row.collective != collective || bytes > row.bytes || facts.nranks > row.ranks) continue;
        for (const Algorithm algorithm : {row.first, row.second}) {
            const plan::Shape* shape = plan::find_shape(collective, algorithm);
            if (shape != nullptr && usable(*shape)) return *shape;
        }
        break;
    }
    for (const plan::Shape& shape : plan::shapes()) {
        if (usable(shape)) return shape;
    }
    std::string served;
    for (const plan::Shape& shape : plan::shapes()) {
        if (shape.collective != collective || !runs_here(shape, facts, reach)) continue;
        served += (served.empty() ? "" : ", ") + std::string(plan::name_of(shape.algorithm));
    }
    throw make_error(Code::InvalidUsage, "{}={} leaves no algorithm for {} on {} ranks {}; it can run: {}",
                     filter.source, filter.rules.text(), plan::name_of(collective), facts.nranks, text_of(reach),
                     served);
}

// Ranks that stage meet twice in every tile. With several channels one is filled or emptied while another waits for its
// meeting. Measured: two ranks gain up to four channels, more ranks, which wait for the slowest of them, up to two.
std::int32_t channels_for(const plan::Shape& shape, Rank nranks, const Options& options) noexcept {
    if (options.channels > 0) return options.channels;
    if (!shape.needs.windows) return 1;
    return nranks <= 2 ? 4 : 2;
}

std::int64_t chunk_bytes_for(const plan::Plan& plan, const Options& options) {
    if (plan.algorithm == Algorithm::Direct) return kDirectChunk;
    if (plan.window) return window_chunk(plan, options);
    const bool lines = options.protocol == plan::Protocol::LL;
    const std::int64_t room =
        lines ? static_cast<std::int64_t>(transport::memory::kInline) : static_cast<std::int64_t>(options.slot_bytes);
    const std::int64_t each = room / plan.message_parts;
    const std::int64_t unit = each >= kChunkAlign && !lines ? kChunkAlign : std::int64_t{8};
    if (each < unit) {
        throw make_error(Code::InvalidUsage,
                         "{}/{} on {} ranks puts {} parts into a message; a {} of {} bytes is too short for that; {}",
                         plan::name_of(plan.collective), plan::name_of(plan.algorithm), plan.nranks, plan.message_parts,
                         lines ? "line" : "slot", room, lines ? "unset RONDO_PROTO" : "raise RONDO_BUFFSIZE");
    }
    return each / unit * unit;
}

}  // namespace rondo::comm
