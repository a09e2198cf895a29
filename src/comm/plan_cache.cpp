#include "comm/plan_cache.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "comm/selection.hpp"

namespace rondo::comm {

using plan::Algorithm;

namespace {

// Parts start on a cache line where the chunk allows it: no two ranks write to the same line.
constexpr std::int64_t kAlignBytes = 64;
// More group patterns than this are not worth remembering: the cache starts anew.
constexpr std::size_t kMostGroups = 1024;

/// The hash of what the plans of all ranks have in common. A plan differs from rank to rank; what built it does not.
std::uint64_t shared_hash(const plan::Plan& plan, std::int64_t chunk_bytes) {
    plan::Plan common{.collective = plan.collective,
                      .algorithm = plan.algorithm,
                      .nranks = plan.nranks,
                      .root = plan.root,
                      .parts = plan.parts,
                      .message_parts = plan.message_parts,
                      .scratch_blocks = plan.scratch_blocks,
                      .window = plan.window,
                      .protocol = plan.protocol};
    common.channels.resize(plan.channels.size());
    return plan::hash_of(common) ^ static_cast<std::uint64_t>(chunk_bytes) * 0x9e3779b97f4a7c15U;
}

plan::Cut cut_of(const plan::Plan& plan, std::int64_t chunk_bytes, std::int64_t element_bytes) {
    const std::int64_t chunk = chunk_bytes / element_bytes;
    const std::int64_t align = std::max<std::int64_t>(kAlignBytes / element_bytes, 1);
    return {.chunk = chunk,
            .parts = plan.parts,
            .channels = static_cast<std::int32_t>(plan.channels.size()),
            .align = static_cast<std::int32_t>(chunk % align == 0 ? align : 1)};
}

}  // namespace

CachedPlan::CachedPlan(plan::Plan plan, std::int64_t chunk_bytes, transport::FifoSource& fifos)
    : bound(std::move(plan), chunk_bytes, fifos), hash(shared_hash(bound.plan(), chunk_bytes)) {
    const plan::Plan& made = bound.plan();
    id = fmt::format("{}/{}/n{}/c{}/chunk{}/{:016x}", plan::name_of(made.collective), plan::name_of(made.algorithm),
                     made.nranks, made.channels.size(), chunk_bytes, hash);
    for (std::size_t i = 0; i < cuts_.size(); ++i) cuts_[i] = cut_of(made, chunk_bytes, std::int64_t{1} << i);
    if (made.window) return;
    scratch_bytes_ = static_cast<std::size_t>(made.scratch_blocks * chunk_bytes * made.parts) * made.channels.size();
}

const CachedPlan& PlanCache::lookup(const Call& call) {
    if (const std::vector<plan::Plan>* loaded = team_.loaded(call.collective, call.root)) {
        const Key key{call.collective, Origin::File, Algorithm{}, call.root};
        std::unique_ptr<CachedPlan>& cached = plans_[key];
        if (!cached) {
            cached = make((*loaded)[static_cast<std::size_t>(rank_)]);
            for (const plan::Plan& plan : *loaded) cached->hash = mix(cached->hash, plan::hash_of(plan));
        }
        return *cached;
    }
    const Placement& placement = team_.placement();
    plan::Facts facts{.nranks = team_.nranks(),
                      .root = call.root,
                      .hosts = placement.one_memory() ? std::vector<std::vector<Rank>>{} : placement.groups,
                      .slots = static_cast<std::int32_t>(options_.slots)};
    const plan::Shape& shape = choose_shape(call.collective, total_bytes(call, team_.nranks()), facts,
                                            reach_of(placement, team_.pulls()), options_.filter);
    facts.channels = channels_for(shape, facts.nranks, options_);
    std::unique_ptr<CachedPlan>& cached = plans_[{call.collective, Origin::Built, shape.algorithm, call.root}];
    if (!cached) {
        if (options_.verification == VerifyPlans::On ||
            (options_.verification == VerifyPlans::Auto && team_.nranks() <= kAutoVerifyRanks)) {
            team_.verify(shape, facts);
        }
        cached = make(shape.build(facts, rank_));
    }
    return *cached;
}

std::unique_ptr<CachedPlan> PlanCache::make(plan::Plan plan) const {
    plan.protocol.fill(options_.protocol);
    const std::int64_t chunk = chunk_bytes_for(plan, options_);
    auto made = std::make_unique<CachedPlan>(std::move(plan), chunk, fifos_);
    check_peers(made->bound);
    return made;
}

/// Shapes are chosen by what the ranks can reach; a plan from a file says what it wants.
void PlanCache::check_peers(const host::BoundPlan& bound) const {
    const Reach reach = reach_of(team_.placement(), team_.pulls());
    const bool able = reach == Reach::Threads || (reach == Reach::Pull && bound.copies_from_peers_only());
    if (able || !bound.uses_peers()) return;
    throw make_error(Code::InvalidUsage,
                     "plan {}/{} works on its peers' own buffers, which {}; run the ranks as threads of one process",
                     plan::name_of(bound.plan().collective), plan::name_of(bound.plan().algorithm),
                     reach == Reach::Pull ? "other processes can only copy from" : "other processes cannot reach");
}

const CachedPlan& PlanCache::find(const std::vector<Transfer>& transfers) {
    group_key_.clear();
    for (const Transfer& transfer : transfers) group_key_.push_back(transfer.send ? ~transfer.peer : transfer.peer);
    if (const auto found = groups_.find(group_key_); found != groups_.end()) return *found->second;
    if (groups_.size() >= kMostGroups) groups_.clear();

    std::vector<plan::GroupOp> ops;
    for (const Transfer& transfer : transfers) ops.push_back({.peer = transfer.peer, .send = transfer.send});
    return *groups_.emplace(group_key_, make(plan::build_group(team_.nranks(), rank_, ops))).first->second;
}

}  // namespace rondo::comm
