#include "sweep_units.hpp"

#include <algorithm>
#include <array>

#include "../unit/plan/judge.hpp"
#include "plan/verify/cases.hpp"

namespace rondo::plan::sweep {

namespace {

constexpr std::array<std::int32_t, 8> kSamples{96, 127, 128, 192, 256, 511, 768, 1024};
constexpr std::int32_t kHuge = 8192;
/// In place of 8,192 where every two ranks share a FIFO: 67 million FIFOs would not fit in memory.
constexpr std::int32_t kAllPairs = 2048;
constexpr std::int64_t kMostRingSteps = 100;
/// From here on the data of some elements, and the accesses of some ranks, stand for all.
constexpr std::int32_t kFollowAll = 256;
constexpr std::int32_t kWatchAll = 64;

std::int64_t steps_in(const Plan& plan) {
    std::int64_t steps = 0;
    for (const Channel& channel : plan.channels) {
        for (const Lane& lane : channel.lanes) {
            for (const Block& block : lane.blocks) steps += static_cast<std::int64_t>(block.steps.size());
        }
    }
    return steps;
}

bool joins_all_pairs(const Shape& shape) {
    return shape.algorithm == Algorithm::OneShot || shape.algorithm == Algorithm::TwoShot ||
           shape.algorithm == Algorithm::Pairwise;
}

std::string text_of(const Facts& facts, std::int32_t slots, const Launch& launch) {
    return "n=" + std::to_string(facts.nranks) + " root=" + std::to_string(facts.root) +
           " channels=" + std::to_string(facts.channels) + " hosts=" + std::to_string(facts.hosts.size()) +
           " built for slots=" + std::to_string(facts.slots) + " slots=" + std::to_string(slots) +
           " count=" + std::to_string(launch.count) + " in place=" + std::to_string(launch.in_place);
}

/// Elements at the start, in the middle and at the end of what the parts hold; an odd step hits parts of all kinds.
std::vector<Range> sampled_elements(std::int64_t count, int samples) {
    std::vector<Range> window;
    for (int i = 0; i < samples; ++i) {
        const std::int64_t at = samples == 1 ? count / 2 : (count - 1) * i / (samples - 1);
        if (at >= 0 && at < count && (window.empty() || window.back().end <= at)) window.push_back({at, at + 1});
    }
    if (window.empty()) window.push_back({0, 1});
    return window;
}

VerifyOptions options_for(Collective collective, std::int32_t nranks, std::int32_t slots, const Launch& launch) {
    VerifyOptions options{.slots = slots};
    if (nranks > kWatchAll) options.watched = {0, 1, nranks / 2, nranks - 1};
    if (nranks <= kFollowAll) return options;
    if (collective == Collective::AllReduce || collective == Collective::Reduce) {
        options.window = sampled_elements(launch.count, nranks < kHuge ? 7 : 2);
    } else {
        options.followed = {0, 1, nranks / 3, nranks - 1};
    }
    return options;
}

void verify_one(const Shape& shape, const Facts& facts, const std::vector<Plan>& plans, const Launch& launch,
                std::int32_t slots, Result& result) {
    const Operation operation{plans, launch};
    const Report report = verify(std::span(&operation, 1), options_for(shape.collective, facts.nranks, slots, launch));
    ++result.executions;
    result.steps += report.steps;
    if (!report.ok && result.failure.empty()) {
        result.failure = name_of(shape) + " " + text_of(facts, slots, launch) + ": " + report.violation;
    }
}

void note_plans(const Shape& shape, const std::vector<Plan>& plans, Result& result) {
    for (const Plan& plan : plans) result.most_plan_steps = std::max(result.most_plan_steps, steps_in(plan));
    if (shape.algorithm == Algorithm::Ring && result.most_plan_steps > kMostRingSteps && result.failure.empty()) {
        result.failure = name_of(shape) + ": a plan of " + std::to_string(result.most_plan_steps) + " steps, at most " +
                         std::to_string(kMostRingSteps) + " are allowed";
    }
}

Result run_full(const Shape& shape, std::int32_t nranks, const Options& options) {
    Result result;
    for (const std::int32_t slots : options.slots) {
        const std::vector<std::int64_t> tiles = options.tiles.empty() ? standard_tiles(slots) : options.tiles;
        for (const Facts& facts : standard_facts(shape, nranks, slots)) {
            const std::vector<Plan> plans = build_all(shape, facts);
            note_plans(shape, plans, result);
            for (const Launch& launch : standard_launches(plans, tiles)) {
                verify_one(shape, facts, plans, launch, slots, result);
                if (!result.failure.empty()) return result;
            }
        }
    }
    return result;
}

/// Facts for many ranks: hosts of 8 where that divides them, as real ones have (a hierarchical plan grows with the
/// ranks of a host), else of the least divisor.
std::optional<Facts> facts_for_many(const Shape& shape, std::int32_t nranks) {
    if (shape.algorithm != Algorithm::Hierarchical) return plain_facts(shape, nranks);
    std::int32_t locals = nranks % 8 == 0 ? 8 : 2;
    while (locals < nranks && nranks % locals != 0) ++locals;
    Facts facts{.nranks = nranks};
    for (Rank rank = 0; rank < nranks; ++rank) {
        if (rank % locals == 0) facts.hosts.emplace_back();
        facts.hosts.back().push_back(rank);
    }
    if (!shape.serves(facts)) return std::nullopt;
    return facts;
}

/// Samples: tile counts 0, 1 and S+1, the last with a tail.
Result run_sample(const Shape& shape, std::int32_t nranks, const Options& options) {
    Result result;
    std::optional<Facts> facts = facts_for_many(shape, nranks);
    if (!facts) return result;
    if (rooted(shape.collective)) facts->root = nranks - 1;
    for (const std::int32_t slots : options.slots) {
        if (slots > 2 && nranks > kFollowAll) continue;
        facts->slots = slots;
        const std::vector<Plan> plans = build_all(shape, *facts);
        note_plans(shape, plans, result);
        for (const std::int64_t tiles : {std::int64_t{0}, std::int64_t{1}, std::int64_t{slots} + 1}) {
            const std::int64_t tail = tiles > 1 ? plans[0].parts + 1 : 0;
            verify_one(shape, *facts, plans, make_launch(plans, {.tiles = tiles, .tail = tail}), slots, result);
            if (!result.failure.empty()) return result;
        }
    }
    return result;
}

/// One tile, two slots.
Result run_huge(const Shape& shape, std::int32_t nranks) {
    Result result;
    std::optional<Facts> facts = facts_for_many(shape, nranks);
    if (!facts) return result;
    facts->slots = 2;
    const std::vector<Plan> plans = build_all(shape, *facts);
    note_plans(shape, plans, result);
    verify_one(shape, *facts, plans, make_launch(plans, {.tiles = 1, .chunk = 1}), facts->slots, result);
    return result;
}

Result run_pairs(const Shape& shape, std::int32_t nranks, const Options& options) {
    Result result;
    const std::optional<Facts> facts = plain_facts(shape, nranks);
    if (!facts) return result;
    const std::vector<Plan> first = build_all(shape, *facts);
    for (const Shape& next : shapes()) {
        std::optional<Facts> next_facts = plain_facts(next, nranks);
        if (!next_facts) continue;
        if (rooted(next.collective)) next_facts->root = nranks - 1;
        const std::vector<Plan> second = build_all(next, *next_facts);
        for (const std::int32_t slots : options.slots) {
            for (const bool in_place : {false, true}) {
                // Unequal chunks, so that what both put into scratch and slots overlaps in part.
                const std::array operations{
                    Operation{first,
                              make_launch(first, {.tiles = slots + 1, .tail = 1, .chunk = 3, .in_place = in_place})},
                    Operation{second,
                              make_launch(second, {.tiles = slots, .tail = 2, .chunk = 2, .in_place = in_place})}};
                const Report report = verify(operations, {.slots = slots});
                ++result.executions;
                result.steps += report.steps;
                if (report.ok) continue;
                result.failure = name_of(shape) + " then " + name_of(next) + " " +
                                 text_of(*facts, slots, operations[0].launch) + ": " + report.violation;
                return result;
            }
        }
    }
    return result;
}

Result run_mutants(const Shape& shape, std::int32_t nranks) {
    Result result;
    mutation::Counts counts;
    for (const std::int32_t slots : {1, 2}) {
        std::optional<Facts> facts = plain_facts(shape, nranks);
        if (!facts) return result;
        facts->slots = slots;
        if (rooted(shape.collective)) facts->root = nranks - 1;
        mutation::Judge judge(build_all(shape, *facts), slots);
        for (Rank rank = 0; rank < nranks; ++rank) {
            if (nranks > 5 && rank != 0 && rank != 1 && rank != nranks / 2 && rank != nranks - 1) continue;
            judge.count(rank, counts);
        }
    }
    result.mutants = counts.mutants;
    result.refused = counts.refused;
    result.equivalent = counts.equivalent;
    if (!counts.unexplained.empty()) {
        result.failure = name_of(shape) + ": " + std::to_string(counts.unexplained.size()) +
                         " mutants neither refused nor explained, the first: " + counts.unexplained.front();
    }
    return result;
}

std::vector<std::int32_t> ranks_of(const Options& options, std::vector<std::int32_t> usual) {
    return options.ranks.empty() ? std::move(usual) : options.ranks;
}

std::vector<std::int32_t> up_to(std::int32_t most) {
    std::vector<std::int32_t> ranks;
    for (std::int32_t n = 1; n <= most; ++n) ranks.push_back(n);
    return ranks;
}

}  // namespace

std::vector<Unit> units_of(const Options& options) {
    std::vector<Unit> units;
    for (const Shape& shape : shapes()) {
        const std::string name = name_of(shape);
        if (name.find(options.shape) == std::string::npos) continue;
        const auto add = [&](const char* kind, std::int32_t n, bool alone, std::function<Result()> run) {
            units.push_back({.kind = kind, .shape = name, .ranks = n, .alone = alone, .run = std::move(run)});
        };
        if (options.full) {
            for (const std::int32_t n : ranks_of(options, up_to(options.max_ranks))) {
                add("full", n, false, [&shape, n, &options] { return run_full(shape, n, options); });
            }
        }
        if (options.pairs) {
            for (const std::int32_t n : ranks_of(options, {2, 3, 5, 8})) {
                add("pairs", n, false, [&shape, n, &options] { return run_pairs(shape, n, options); });
            }
        }
        if (options.mutants) {
            for (const std::int32_t n : ranks_of(options, {2, 3, 4, 5, 8})) {
                add("mutants", n, false, [&shape, n] { return run_mutants(shape, n); });
            }
        }
        if (options.large) {
            std::vector<std::int32_t> usual(kSamples.begin(), kSamples.end());
            usual.push_back(joins_all_pairs(shape) ? kAllPairs : kHuge);
            for (const std::int32_t n : ranks_of(options, usual)) {
                if (n < kAllPairs) {
                    add("large", n, n > kFollowAll, [&shape, n, &options] { return run_sample(shape, n, options); });
                } else {
                    add("large", n, true, [&shape, n] { return run_huge(shape, n); });
                }
            }
        }
    }
    std::ranges::stable_sort(units, {}, &Unit::ranks);
    return units;
}

std::uint64_t catalogue_hash() {
    std::uint64_t hash = 0;
    for (const Shape& shape : shapes()) {
        for (Rank nranks = 1; nranks <= 8; ++nranks) {
            for (const Facts& facts : standard_facts(shape, nranks, 2)) {
                for (Rank rank = 0; rank < nranks; ++rank) hash = detail::mix(hash, hash_of(shape.build(facts, rank)));
            }
        }
    }
    return hash;
}

}  // namespace rondo::plan::sweep
