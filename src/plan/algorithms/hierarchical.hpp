#pragma once
// Where a rank stands in a machine of H hosts with L ranks each, L and H at least 2: in the ring of its host and in its
// rail, the ring of the ranks with its local number, one of each host.

#include <algorithm>

#include "plan/algorithms/common.hpp"

namespace rondo::plan {

/// Classes of edges: sums and results inside a host travel in FIFOs of their own, for they belong to different lanes.
enum : int { kInside = 0, kRail = 1, kInsideBack = 2 };

struct Seat {
    Rank hosts = 0;   ///< H
    Rank locals = 0;  ///< L
    Rank host = 0;
    Rank local = 0;
    Index next{};  ///< in the ring of the host
    Index prev{};
    Index next_host{};  ///< in the rail
    Index prev_host{};
    Index self{};
};

inline Seat seat_of(const Facts& facts, Rank rank) {
    Seat seat;
    seat.hosts = static_cast<Rank>(facts.hosts.size());
    seat.locals = static_cast<Rank>(facts.hosts.front().size());
    const auto rank_at = [&](Rank host, Rank local) {
        return fixed(facts.hosts[static_cast<std::size_t>(host)][static_cast<std::size_t>(local)]);
    };
    for (Rank h = 0; h < seat.hosts; ++h) {
        const std::vector<Rank>& ranks = facts.hosts[static_cast<std::size_t>(h)];
        const auto found = std::ranges::find(ranks, rank);
        if (found == ranks.end()) continue;
        seat.host = h;
        seat.local = static_cast<Rank>(found - ranks.begin());
    }
    seat.next = rank_at(seat.host, (seat.local + 1) % seat.locals);
    seat.prev = rank_at(seat.host, (seat.local + seat.locals - 1) % seat.locals);
    seat.next_host = rank_at((seat.host + 1) % seat.hosts, seat.local);
    seat.prev_host = rank_at((seat.host + seat.hosts - 1) % seat.hosts, seat.local);
    seat.self = fixed(rank);
    return seat;
}

/// At least two hosts with the same number of ranks, at least two.
inline bool equal_hosts(const Facts& facts) {
    return facts.hosts.size() >= 2 && facts.hosts.front().size() >= 2 &&
           std::ranges::all_of(facts.hosts,
                               [&](const auto& ranks) { return ranks.size() == facts.hosts.front().size(); });
}

/// Blocks of the ranks with local number `local`, by host: first + stride * host.
struct Rail {
    Rank first = 0;
    Rank stride = 0;

    /// Block of host (c0 + cs*s + cj*j) mod H.
    [[nodiscard]] Index block(Rank hosts, std::int32_t c0, std::int32_t cs, std::int32_t cj = 0) const {
        return {.base = first, .scale = stride, .c0 = c0, .cs = cs, .cj = cj, .mod = hosts};
    }
};

inline Rail rail_of(const Facts& facts, Rank local) {
    const auto l = static_cast<std::size_t>(local);
    return {facts.hosts[0][l], facts.hosts[1][l] - facts.hosts[0][l]};
}

/// Equal hosts whose rails name ranks at equal distances (ranks dealt to hosts in blocks or in turn), so that a rail's
/// blocks are rows of one step.
inline bool regular_hosts(const Facts& facts) {
    if (!equal_hosts(facts)) return false;
    for (std::size_t l = 0; l < facts.hosts.front().size(); ++l) {
        const Rail rail = rail_of(facts, static_cast<Rank>(l));
        for (std::size_t h = 0; h < facts.hosts.size(); ++h) {
            if (facts.hosts[h][l] != rail.first + rail.stride * static_cast<Rank>(h)) return false;
        }
    }
    return true;
}

}  // namespace rondo::plan
