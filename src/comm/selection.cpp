#include "comm/selection.hpp"

#include <algorithm>
#include <span>

#include "base/error.hpp"
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
constexpr Preference kPreferences[] = {
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

bool runs_here(const plan::Shape& shape, const plan::Facts& facts) {
    return !shape.needs.multicast && shape.serves(facts);
}

}  // namespace

const plan::Shape& choose_shape(Collective collective, std::int64_t bytes, const plan::Facts& facts,
                                const AlgorithmFilter& filter) {
    // A rule that does not speak of barriers is not meant for them.
    const bool free = collective == Collective::Barrier && !filter.rules.names(plan::name_of(collective));
    const auto usable = [&](const plan::Shape& shape) {
        return shape.collective == collective && (free || filter.allows(collective, shape.algorithm)) &&
               runs_here(shape, facts);
    };
    for (const Preference& row : kPreferences) {
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
        if (shape.collective != collective || !runs_here(shape, facts)) continue;
        served += (served.empty() ? "" : ", ") + std::string(plan::name_of(shape.algorithm));
    }
    throw make_error(Code::InvalidUsage, "{}={} leaves no algorithm for {} on {} ranks of host memory; it can run: {}",
                     filter.source, filter.rules.text(), plan::name_of(collective), facts.nranks, served);
}

std::int64_t chunk_bytes_for(const plan::Plan& plan, const Options& options) {
    if (plan.algorithm == Algorithm::Direct) return kDirectChunk;
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
