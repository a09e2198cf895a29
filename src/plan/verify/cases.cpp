#include "plan/verify/cases.hpp"

#include <algorithm>
#include <set>

#include "plan/verify/expression.hpp"
#include "plan/verify/layout.hpp"

namespace rondo::plan {

namespace {

/// Elements that `from` sends to `to`: none, one, some, or all of `most`, as a mix of the two ranks has it.
std::int64_t unequal(std::int64_t most, Rank from, Rank to) {
    const std::uint64_t random = detail::mix(static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint64_t>(to));
    switch (random % 5) {
        case 0: return 0;
        case 1: return most;
        case 2: return most == 0 ? 0 : 1;
        default: return static_cast<std::int64_t>(random / 5 % static_cast<std::uint64_t>(most + 1));
    }
}

std::vector<RankTables> unequal_tables(Rank nranks, std::int64_t most) {
    std::vector<RankTables> tables(static_cast<std::size_t>(nranks));
    for (Rank rank = 0; rank < nranks; ++rank) {
        RankTables& mine = tables[static_cast<std::size_t>(rank)];
        for (const bool in : {true, false}) {
            ExtentTable& table = in ? mine.input : mine.output;
            std::int64_t at = 0;
            for (Rank peer = 0; peer < nranks; ++peer) {
                const std::int64_t length = in ? unequal(most, rank, peer) : unequal(most, peer, rank);
                table.length.push_back(length);
                table.offset.push_back(at);
                at += length + peer % 2;  // gaps, which nobody may touch
            }
        }
    }
    return tables;
}

using Hosts = std::vector<std::vector<Rank>>;

/// No hosts, and every division of the ranks into at least two hosts of at least two.
std::vector<Hosts> divisions(Rank nranks) {
    std::vector<Hosts> all{{}};
    for (Rank hosts = 2; hosts <= nranks / 2; ++hosts) {
        if (nranks % hosts != 0) continue;
        const Rank locals = nranks / hosts;
        Hosts blocks(static_cast<std::size_t>(hosts));
        Hosts turns(static_cast<std::size_t>(hosts));
        for (Rank rank = 0; rank < nranks; ++rank) {
            blocks[static_cast<std::size_t>(rank / locals)].push_back(rank);
            turns[static_cast<std::size_t>(rank % hosts)].push_back(rank);
        }
        all.push_back(std::move(blocks));
        all.push_back(std::move(turns));
    }
    return all;
}

}  // namespace

std::vector<Facts> standard_facts(const Shape& shape, Rank nranks, std::int32_t slots) {
    std::vector<Facts> facts;
    const std::set<Rank> roots =
        rooted(shape.collective) ? std::set<Rank>{0, std::min(1, nranks - 1), nranks - 1} : std::set<Rank>{0};
    for (const Hosts& hosts : divisions(nranks)) {
        // Hosts matter to the hierarchical shapes alone.
        if (hosts.empty() == (shape.algorithm == Algorithm::Hierarchical)) continue;
        for (const Rank root : roots) {
            for (const std::int32_t channels : {1, 2}) {
                for (const std::int32_t built_for : std::set<std::int32_t>{1, slots}) {
                    Facts one{.nranks = nranks, .root = root, .channels = channels, .hosts = hosts, .slots = built_for};
                    if (shape.serves(one)) facts.push_back(std::move(one));
                }
            }
        }
    }
    return facts;
}

std::optional<Facts> plain_facts(const Shape& shape, Rank nranks) {
    std::vector<Facts> all = standard_facts(shape, nranks, 1);
    if (all.empty()) return std::nullopt;
    return std::move(all.front());
}

std::string name_of(const Shape& shape) {
    return std::string(name_of(shape.collective)) + "/" + std::string(name_of(shape.algorithm));
}

std::vector<Plan> build_all(const Shape& shape, const Facts& facts) {
    std::vector<Plan> plans;
    plans.reserve(static_cast<std::size_t>(facts.nranks));
    for (Rank rank = 0; rank < facts.nranks; ++rank) plans.push_back(shape.build(facts, rank));
    return plans;
}

Launch make_launch(std::span<const Plan> plans, const LaunchSize& size) {
    const Plan& plan = plans[0];
    Launch launch;
    launch.chunk = size.chunk;
    launch.align = size.align;
    launch.in_place = size.in_place;
    launch.count = static_cast<std::int64_t>(plan.channels.size()) * plan.parts * size.chunk * size.tiles + size.tail;
    // A barrier moves no data of the user's; one element stands for its signals.
    if (plan.collective == Collective::Barrier) launch.count = 1;
    if (detail::has_tables(plan.collective)) launch.tables = unequal_tables(plan.nranks, launch.count);
    return launch;
}

bool has_in_place(Collective collective) noexcept {
    switch (collective) {
        case Collective::AllReduce:
        case Collective::Reduce:
        case Collective::Broadcast:
        case Collective::AllGather:
        case Collective::ReduceScatter: return true;
        case Collective::AllToAll:
        case Collective::AllToAllV:
        case Collective::SendRecv:
        case Collective::Barrier: return false;
    }
    return false;
}

std::vector<std::int64_t> standard_tiles(std::int32_t slots) {
    const std::set<std::int64_t> tiles{0, 1, 2, slots, slots + 1, 2 * slots + 1};
    return {tiles.begin(), tiles.end()};
}

std::vector<Launch> standard_launches(std::span<const Plan> plans, std::span<const std::int64_t> tiles) {
    const Plan& plan = plans[0];
    if (plan.collective == Collective::Barrier) return {make_launch(plans, {})};
    std::vector<Launch> launches;
    for (const std::int64_t count : tiles) {
        // Tails: one element, which leaves all parts but one empty, and one that leaves the last part shorter.
        for (const std::int64_t tail : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3} * plan.parts - 1}) {
            if (tail != 0 && count > 2 && count != tiles.back()) continue;
            for (const bool in_place : {false, true}) {
                if (in_place && !has_in_place(plan.collective)) continue;
                launches.push_back(
                    make_launch(plans, {.tiles = count, .tail = tail, .chunk = 3, .in_place = in_place}));
            }
        }
    }
    return launches;
}

}  // namespace rondo::plan
