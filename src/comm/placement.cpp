#include "comm/placement.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "bootstrap/rank_list.hpp"

namespace rondo::comm {

namespace {

/// What ranks must have in common to share memory.
using Home = std::pair<std::string, std::int64_t>;

Home home_of(const bootstrap::Roster& roster, Rank rank, const Transports& allowed,
             const std::set<std::string>& failed_hosts) {
    if (!allowed.memory) return {"", rank};
    const std::int32_t process = roster.process_of[static_cast<std::size_t>(rank)];
    const std::string& host = roster.site_of(process).host_id;
    if (failed_hosts.contains(host)) return {host, process};
    return {host, -1};
}

std::set<std::string> hosts_without_memory(const bootstrap::Roster& roster, const std::vector<std::string>& reports) {
    std::set<std::string> hosts;
    for (std::size_t process = 0; process < reports.size(); ++process) {
        if (!reports[process].empty()) hosts.insert(roster.site_of(static_cast<std::int32_t>(process)).host_id);
    }
    return hosts;
}

/// Why ranks `a` and `b` do not share memory.
std::string reason(const bootstrap::Roster& roster, Rank a, Rank b, const Transports& allowed,
                   const std::vector<std::string>& reports) {
    if (!allowed.memory) return fmt::format("RONDO_TRANSPORT={} leaves out memory", allowed.text());
    const std::int32_t pa = roster.process_of[static_cast<std::size_t>(a)];
    const std::int32_t pb = roster.process_of[static_cast<std::size_t>(b)];
    if (!roster.same_host(pa, pb)) {
        return fmt::format("different hosts {} and {}", roster.site_of(pa).host, roster.site_of(pb).host);
    }
    for (std::size_t process = 0; process < reports.size(); ++process) {
        if (!reports[process].empty() && roster.same_host(static_cast<std::int32_t>(process), pa)) {
            return fmt::format("{} cannot share memory: {}", roster.describe(static_cast<std::int32_t>(process)),
                               reports[process]);
        }
    }
    return "they share no memory";
}

}  // namespace

Placement place(const bootstrap::Roster& roster, const Transports& allowed, const std::vector<std::string>& reports) {
    Placement placement;
    placement.process_of = roster.process_of;
    const std::set<std::string> failed = hosts_without_memory(roster, reports);
    std::map<Home, std::int32_t> known;
    for (Rank rank = 0; rank < static_cast<Rank>(roster.process_of.size()); ++rank) {
        const auto next = static_cast<std::int32_t>(placement.groups.size());
        const std::int32_t group = known.emplace(home_of(roster, rank, allowed, failed), next).first->second;
        if (group == next) placement.groups.emplace_back();
        placement.groups[static_cast<std::size_t>(group)].push_back(rank);
        placement.group_of.push_back(group);
    }
    placement.one_process = roster.processes.size() == 1 && placement.groups.size() == 1;
    return placement;
}

void check_reachable(const bootstrap::Roster& roster, const Placement& placement, const Transports& allowed,
                     const std::vector<std::string>& reports) {
    if (allowed.tcp || placement.one_memory()) return;
    const Rank a = placement.groups[0].front();
    const Rank b = placement.groups[1].front();
    throw make_error(Code::InvalidUsage,
                     "ranks {} and {} have no transport: {}, and RONDO_TRANSPORT={} leaves out tcp; allow it", a, b,
                     reason(roster, a, b, allowed, reports), allowed.text());
}

std::string describe(const bootstrap::Roster& roster, const Placement& placement, const Transports& allowed,
                     const std::vector<std::string>& reports) {
    std::string text;
    for (const std::vector<Rank>& group : placement.groups) {
        if (group.size() < 2) continue;
        const bool threads = std::ranges::all_of(group, [&](Rank rank) {
            return placement.process_of[static_cast<std::size_t>(rank)] ==
                   placement.process_of[static_cast<std::size_t>(group.front())];
        });
        text += fmt::format("{}ranks {}: memory ({})", text.empty() ? "" : "; ", bootstrap::rank_list(group),
                            threads ? "threads of one process" : "processes of one host");
    }
    if (placement.groups.size() > 1) {
        const Rank a = placement.groups[0].front();
        const Rank b = placement.groups[1].front();
        text += fmt::format("{}rank {} and others: tcp ({})", text.empty() ? "" : "; ", a,
                            reason(roster, a, b, allowed, reports));
    }
    return text;
}

}  // namespace rondo::comm
