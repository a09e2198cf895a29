#include "base/algorithm_rules.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "plan/plan.hpp"

namespace rondo {
namespace {

std::string error_of(std::string_view text) {
    try {
        static_cast<void>(AlgorithmRules::parse(text));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidArgument);
        return error.what();
    }
    ADD_FAILURE() << "no error for " << text;
    return {};
}

TEST(AlgorithmRules, NamesAreThoseOfThePlan) {
    for (std::size_t i = 0; i < kCollectiveNames.size(); ++i) {
        EXPECT_EQ(kCollectiveNames[i], plan::name_of(static_cast<plan::Collective>(i)));
    }
    EXPECT_EQ(plan::name_of(static_cast<plan::Collective>(kCollectiveNames.size())), "?");
    for (std::size_t i = 0; i < kAlgorithmNames.size(); ++i) {
        EXPECT_EQ(kAlgorithmNames[i], plan::name_of(static_cast<plan::Algorithm>(i)));
    }
    EXPECT_EQ(plan::name_of(static_cast<plan::Algorithm>(kAlgorithmNames.size())), "?");
}

TEST(AlgorithmRules, EmptyAllowsEverything) {
    for (const std::string_view text : {"", "  "}) {
        const AlgorithmRules rules = AlgorithmRules::parse(text);
        for (const std::string_view collective : kCollectiveNames) {
            EXPECT_FALSE(rules.names(collective));
            for (const std::string_view algorithm : kAlgorithmNames) EXPECT_TRUE(rules.allows(collective, algorithm));
        }
    }
}

TEST(AlgorithmRules, FirstSectionIsForAllOthersForTheirCollective) {
    const AlgorithmRules rules = AlgorithmRules::parse("ring, tree;allreduce:^tree ; Broadcast : RING");
    EXPECT_TRUE(rules.allows("reduce", "ring"));
    EXPECT_TRUE(rules.allows("reduce", "tree"));
    EXPECT_FALSE(rules.allows("reduce", "pat"));
    EXPECT_FALSE(rules.names("reduce"));
    EXPECT_TRUE(rules.allows("all_reduce", "ring"));
    EXPECT_TRUE(rules.allows("all_reduce", "pat"));
    EXPECT_FALSE(rules.allows("all_reduce", "tree"));
    EXPECT_TRUE(rules.names("all_reduce"));
    EXPECT_EQ(rules.allowed_text("broadcast"), "ring");
    EXPECT_EQ(rules.allowed_text("all_gather"), "ring, tree");
    EXPECT_FALSE(rules.allows("no_such", "ring"));
    EXPECT_FALSE(rules.allows("reduce", "no_such"));
}

TEST(AlgorithmRules, SpellingIsFree) {
    for (const std::string_view text : {"reducescatter:halvingdoubling", "REDUCE_SCATTER:Halving-Doubling",
                                        "ReduceScatter:HalvingDoubling", "reduce_scatter:halving_doubling"}) {
        EXPECT_EQ(AlgorithmRules::parse(text).allowed_text("reduce_scatter"), "halving_doubling") << text;
    }
}

TEST(AlgorithmRules, ErrorsNameTheWordAndWhatIsAllowed) {
    EXPECT_EQ(
        error_of("rinng"),
        "unknown algorithm 'rinng' (allowed: ring, tree, one_shot, two_shot, halving_doubling, bruck, pairwise, pat, "
        "hierarchical, nvls, direct, group, dissemination, staged); did you mean 'ring'?");
    EXPECT_NE(error_of("alreduce:ring").find("unknown collective 'alreduce' (allowed: all_reduce, "),
              std::string::npos);
    EXPECT_NE(error_of("alreduce:ring").find("did you mean 'all_reduce'?"), std::string::npos);
    EXPECT_NE(error_of("ring,,tree").find("unknown algorithm ''"), std::string::npos);
    EXPECT_NE(error_of("ring;").find("unknown algorithm ''"), std::string::npos);
    EXPECT_NE(error_of("^").find("unknown algorithm ''"), std::string::npos);
    EXPECT_NE(error_of("ring,^tree").find("unknown algorithm '^tree'"), std::string::npos);
    EXPECT_NE(error_of("reduce:ring;tree").find("names no collective"), std::string::npos);
    EXPECT_NE(error_of("reduce:ring;reduce:tree").find("a second time"), std::string::npos);
    EXPECT_NE(error_of("reduce:ring:tree").find("unknown algorithm 'ring:tree'"), std::string::npos);
    EXPECT_NE(error_of("^" + join(kAlgorithmNames)).find("leaves no algorithm"), std::string::npos);
}

TEST(AlgorithmRulesFuzz, RandomTextsAreReadOrRefused) {
    constexpr std::array<std::string_view, 14> kPieces{
        "ring", "tree", "allreduce", "reduce", ":", ";", ",", "^", " ", "_", "bruck", "x", "\xff", "all_to_all"};
    std::mt19937 random(4711);
    int read = 0;
    int refused = 0;
    for (int i = 0; i < 50'000; ++i) {
        std::string text;
        for (auto n = random() % 6; n > 0; --n) text += kPieces[random() % kPieces.size()];
        try {
            EXPECT_EQ(AlgorithmRules::parse(text).text(), text);
            ++read;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("(allowed: "), std::string::npos) << error.what();
            ++refused;
        }
    }
    EXPECT_GT(read, 1000);
    EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace rondo
