#pragma once
// The plans that a rank has run, bound and ready. The fast path is one comparison with the last call of the same
// collective.

#include <array>
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

    CachedPlan(plan::Plan plan, std::int64_t chunk_bytes, transport::memory::Domain& domain);

    /// How a launch with elements of this size cuts its extents.
    [[nodiscard]] plan::Cut cut_for(std::size_t element_bytes) const noexcept;
    /// Bytes of scratch that a launch needs.
    [[nodiscard]] std::size_t scratch_bytes() const noexcept;
};

class PlanCache {
public:
    PlanCache(Team& team, Rank rank, const Options& options) : team_(team), rank_(rank), options_(options) {}

    /// The plan for a collective call. Builds, proves (as the options say) and binds it at the first use.
    /// Errors: InvalidUsage (no algorithm allowed or able), InternalError (the verifier refused).
    const CachedPlan& find(const Call& call) {
        Recent& recent = recent_[static_cast<std::size_t>(call.collective)];
        const std::int64_t bytes = total_bytes(call, team_.nranks());
        if (recent.plan != nullptr && recent.bytes == bytes && recent.root == call.root) return *recent.plan;
        recent = {bytes, call.root, &lookup(call, bytes)};
        return *recent.plan;
    }

    /// The plan for a group of sends and receives in this order.
    const CachedPlan& find(const std::vector<Transfer>& transfers);

private:
    struct Recent {
        std::int64_t bytes = -1;
        Rank root = -1;
        const CachedPlan* plan = nullptr;
    };
    using Key = std::tuple<plan::Collective, plan::Algorithm, Rank>;

    const CachedPlan& lookup(const Call& call, std::int64_t bytes);
    plan::Plan shaped(plan::Plan plan) const;

    Team& team_;
    const Rank rank_;
    const Options& options_;
    std::array<Recent, kCollectives> recent_{};
    std::map<Key, std::unique_ptr<CachedPlan>> plans_;
    std::map<std::vector<Rank>, std::unique_ptr<CachedPlan>> groups_;  // by peers; sends as ~peer
    std::vector<Rank> group_key_;
};

}  // namespace rondo::comm
