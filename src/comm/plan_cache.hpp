#pragma once
// The plans that a rank has run, bound and ready. The fast path is one comparison with the last call of the same
// collective.

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "comm/call.hpp"
#include "comm/options.hpp"
#include "comm/team.hpp"
#include "host/bound_plan.hpp"

namespace rondo::comm {

/// A bound plan with what a launch needs to know of it.
struct CachedPlan {
    host::BoundPlan bound;
    std::uint64_t hash = 0;  ///< of what all ranks share: collective, algorithm, ranks, root, channels, chunk
    std::string id;          ///< "all_reduce/ring/n4/c1/chunk131072/0123456789abcdef"

    CachedPlan(plan::Plan plan, std::int64_t chunk_bytes, transport::FifoSource& fifos);

    /// How a launch with elements of this size (a power of two, at most 8) cuts its extents.
    [[nodiscard]] const plan::Cut& cut_for(std::size_t element_bytes) const noexcept {
        return cuts_[static_cast<std::size_t>(std::countr_zero(element_bytes))];
    }
    /// Bytes of scratch that a launch needs; 0 where scratch is in windows.
    [[nodiscard]] std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

private:
    std::array<plan::Cut, 4> cuts_{};
    std::size_t scratch_bytes_ = 0;
};

/// A plan and the hash that all ranks must agree on for one call.
struct Found {
    const CachedPlan* plan = nullptr;
    std::uint64_t call_hash = 0;
};

class PlanCache {
public:
    PlanCache(Team& team, transport::FifoSource& fifos, Rank rank, const Options& options)
        : team_(team), fifos_(fifos), rank_(rank), options_(options) {}

    /// The plan for a collective call. Builds, proves (as the options say) and binds it at the first use.
    /// Errors: InvalidUsage (no algorithm allowed or able), InternalError (the verifier refused).
    Found find(const Call& call, const PackedCall& packed) {
        Recent& recent = recent_[static_cast<std::size_t>(call.collective)];
        if (recent.call != packed || recent.found.plan == nullptr) {
            const CachedPlan& plan = lookup(call);
            recent = {packed, {&plan, hash_of(packed, plan.hash)}};
        }
        return recent.found;
    }

    /// The plan for a group of sends and receives in this order.
    const CachedPlan& find(const std::vector<Transfer>& transfers);

private:
    struct Recent {
        PackedCall call{};
        Found found;
    };
    enum class Origin : std::uint8_t { Built, File };
    using Key = std::tuple<plan::Collective, Origin, plan::Algorithm, Rank>;

    const CachedPlan& lookup(const Call& call);
    std::unique_ptr<CachedPlan> make(plan::Plan plan) const;
    void check_peers(const host::BoundPlan& bound) const;

    Team& team_;
    transport::FifoSource& fifos_;
    const Rank rank_;
    const Options& options_;
    std::array<Recent, kCollectives> recent_{};
    std::map<Key, std::unique_ptr<CachedPlan>> plans_;
    std::map<std::vector<Rank>, std::unique_ptr<CachedPlan>> groups_;  // by peers; sends as ~peer
    std::vector<Rank> group_key_;
};

}  // namespace rondo::comm
