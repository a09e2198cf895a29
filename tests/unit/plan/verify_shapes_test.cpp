// Every shape of the catalogue, verified: 1 to 16 ranks, all roots worth trying, one and two channels, 1, 2 and 4
// slots, all standard tile counts with tails, in place and out of place; and ordered pairs of shapes. The sweep
// (tests/plans) goes to 64 ranks and beyond.

#include <gtest/gtest.h>

#include "plan/verify/cases.hpp"
#include "support/sanitizers.hpp"

namespace rondo::plan {
namespace {

constexpr Rank kMostRanks = kSlow ? 8 : 16;

struct ShapeName {
    std::string operator()(const testing::TestParamInfo<std::size_t>& info) const {
        std::string name = name_of(shapes()[info.param]);
        std::ranges::replace(name, '/', '_');
        return name;
    }
};

class VerifyShape : public testing::TestWithParam<std::size_t> {
protected:
    [[nodiscard]] static const Shape& shape() { return shapes()[GetParam()]; }
};

TEST_P(VerifyShape, IsRightForAllRankAndTileCounts) {
    std::int64_t runs = 0;
    for (Rank nranks = 1; nranks <= kMostRanks; ++nranks) {
        for (const std::int32_t slots : {1, 2, 4}) {
            for (const Facts& facts : standard_facts(shape(), nranks, slots)) {
                const std::vector<Plan> plans = build_all(shape(), facts);
                for (const Launch& launch : standard_launches(plans, slots)) {
                    const Operation operation{plans, launch};
                    const Report report = verify(std::span(&operation, 1), {.slots = slots});
                    ASSERT_TRUE(report.ok) << report.violation << "\nn=" << nranks << " root=" << facts.root
                                           << " channels=" << facts.channels << " built for slots=" << facts.slots
                                           << " hosts=" << facts.hosts.size() << " slots=" << slots
                                           << " count=" << launch.count << " in place=" << launch.in_place;
                    ++runs;
                }
            }
        }
    }
    EXPECT_GT(runs, 0) << "the shape serves no rank count";
    RecordProperty("executions", std::to_string(runs));
}

TEST_P(VerifyShape, SendsAndRoundsWhatItsPriceSays) {
    for (const Rank nranks : {2, 4, 8, 12, 16}) {
        const std::optional<Facts> facts = plain_facts(shape(), nranks);
        if (!facts) continue;
        const std::vector<Plan> plans = build_all(shape(), *facts);
        // A whole number of elements in every part, so that the price is exact; no channel has more than one tile.
        const Operation operation{plans, make_launch(plans, {.tiles = 1, .chunk = 4})};
        const Report report = verify(std::span(&operation, 1), {.slots = 1});
        ASSERT_TRUE(report.ok) << report.violation;
        const std::int64_t blocks = shape().collective == Collective::AllGather ||
                                            shape().collective == Collective::ReduceScatter ||
                                            shape().collective == Collective::AllToAll
                                        ? nranks
                                        : 1;
        const Cost cost = shape().cost(*facts, static_cast<double>(operation.launch.count * blocks));
        EXPECT_GE(cost.hops + 1e-9, report.hops) << "n=" << nranks;
        if (!shape().needs.peer_memory && !shape().needs.windows && !shape().needs.peer_reads &&
            !shape().needs.multicast && shape().collective != Collective::AllToAllV) {
            EXPECT_NEAR(cost.bytes, static_cast<double>(report.max_sent), 1e-6) << "n=" << nranks;
        }
        if (reduces(shape().collective)) {
            // n contributions need at least log2(n) and at most n additions, one after another.
            EXPECT_GE(1 << report.rounding_adds, nranks);
            EXPECT_LT(report.rounding_adds, nranks);
            EXPECT_LE(report.rounding_nodes, nranks);
        } else {
            EXPECT_EQ(report.rounding_nodes, 0);
        }
    }
}

/// After this shape, every other shape: scratch, FIFOs and counters are as the first one left them, and no barrier lies
/// between the two.
TEST_P(VerifyShape, LeavesNothingBehindThatHarmsAnother) {
    for (const Rank nranks : {2, 3, 4}) {
        const std::optional<Facts> facts = plain_facts(shape(), nranks);
        if (!facts) continue;
        const std::vector<Plan> first = build_all(shape(), *facts);
        for (const Shape& next : shapes()) {
            const std::optional<Facts> next_facts = plain_facts(next, nranks);
            if (!next_facts) continue;
            const std::vector<Plan> second = build_all(next, *next_facts);
            for (const std::int32_t slots : {1, 2}) {
                const std::array operations{
                    Operation{first, make_launch(first, {.tiles = slots + 1, .tail = 1, .chunk = 3})},
                    Operation{second, make_launch(second, {.tiles = slots + 1, .tail = 2, .chunk = 2})}};
                const Report report = verify(operations, {.slots = slots});
                ASSERT_TRUE(report.ok) << name_of(shape()) << " then " << name_of(next) << ", n=" << nranks
                                       << ", slots=" << slots << ": " << report.violation;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, VerifyShape, testing::Range(std::size_t{0}, shapes().size()), ShapeName());

}  // namespace
}  // namespace rondo::plan
