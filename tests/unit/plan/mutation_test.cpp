// The verifier, tested by mutation: every mutant of every shape is refused, or no fault (judge.hpp). The sweep judges
// mutants at more rank counts.

#include <gtest/gtest.h>

#include "judge.hpp"
#include "support/sanitizers.hpp"

namespace rondo::plan {
namespace {

struct ShapeName {
    std::string operator()(const testing::TestParamInfo<std::size_t>& info) const {
        std::string name = name_of(shapes()[info.param]);
        std::ranges::replace(name, '/', '_');
        return name;
    }
};

class Mutation : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutation, EveryMutantIsRefusedOrNoFault) {
    const Shape& shape = shapes()[GetParam()];
    mutation::Counts counts;
    // All ranks of two and three; of four, those that are first, inside and last.
    for (const Rank nranks : {2, 3, 4}) {
        if (kSlow && nranks == 4 && plain_facts(shape, 2)) continue;  // hierarchical shapes begin at four ranks
        std::optional<Facts> facts = plain_facts(shape, nranks);
        if (!facts) continue;
        if (rooted(shape.collective)) facts->root = nranks - 1;
        mutation::Judge judge(build_all(shape, *facts), facts->slots);
        for (Rank rank = 0; rank < nranks; ++rank) {
            if (nranks == 4 && rank == 2) continue;
            judge.count(rank, counts);
        }
    }
    std::string text = name_of(shape) + ": " + std::to_string(counts.mutants) + " mutants, " +
                       std::to_string(counts.refused) + " refused";
    for (const auto& [reason, count] : counts.equivalent) text += ", " + std::to_string(count) + " " + reason;
    std::cout << text << "\n";
    RecordProperty("mutants", text);
    EXPECT_GT(counts.refused, counts.mutants / 2);
    EXPECT_TRUE(counts.unexplained.empty())
        << counts.unexplained.size() << " unexplained, the first: " << counts.unexplained.front();
}

INSTANTIATE_TEST_SUITE_P(All, Mutation, testing::Range(std::size_t{0}, shapes().size()), ShapeName());

}  // namespace
}  // namespace rondo::plan
