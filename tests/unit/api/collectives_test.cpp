// Every algorithm, forced, on many rank counts, sizes, types and operations, in place and not, at odd addresses.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "collective_case.hpp"
#include "plan/shapes.hpp"

namespace rondo::api::test {

namespace {

class Forced : public testing::TestWithParam<const plan::Shape*> {};

std::vector<const plan::Shape*> user_shapes() {
    std::vector<const plan::Shape*> shapes;
    for (const plan::Shape& shape : plan::shapes()) {
        const bool called = !shape.needs.multicast && shape.collective != Collective::AllToAllV;
        if (called && shape.serves({.nranks = 4})) shapes.push_back(&shape);  // not those for several hosts
    }
    return shapes;
}

/// Cases of one collective: every count; types, operations, places and offsets spread over them so that each type meets
/// each operation, and every other pair of factors is met too.
std::vector<Case> cases_of(Collective collective, int nranks, std::mt19937& random) {
    const auto n = static_cast<std::size_t>(nranks);
    std::vector<std::size_t> counts{0, 1, 2, n - 1, n, n + 1, 27, 28, 29, 1023, 1025};
    if (collective == Collective::Barrier) counts = {0, 0, 0};
    std::vector<Case> cases;
    const auto add = [&](std::size_t count, rondoDataType_t type, rondoRedOp_t op) {
        constexpr std::size_t kOffsets[] = {0, 1, 3, 7};
        cases.push_back({.collective = collective,
                         .type = type,
                         .op = op,
                         .root = static_cast<int>(random() % n),
                         .count = count,
                         .in_place = collective != Collective::AllToAll && random() % 2 == 0,
                         .offset = kOffsets[random() % 4]});
    };
    for (const std::size_t count : counts) {
        for (int i = 0; i < 6; ++i) add(count, kTypes[random() % std::size(kTypes)], kOps[random() % std::size(kOps)]);
    }
    if (collective == Collective::Barrier) return cases;
    for (const rondoDataType_t type : kTypes) {
        for (const rondoRedOp_t op : kOps) {
            if (plan::reduces(collective) || op == rondoSum) add(counts[random() % counts.size()], type, op);
        }
    }
    add(65537, kTypes[random() % std::size(kTypes)], kOps[random() % std::size(kOps)]);
    return cases;
}

}  // namespace

TEST_P(Forced, GivesTheRightResult) {
    const plan::Shape& shape = *GetParam();
    std::mt19937 random(seed());
    std::cout << "seed " << seed() << " (RONDO_TESTS_SEED)\n";
    const std::string algo =
        std::string(plan::name_of(shape.collective)) + ":" + std::string(plan::name_of(shape.algorithm));
    rondoConfig_t how = config();
    how.algo = algo.c_str();
    for (const int nranks : {1, 2, 3, 4, 5, 7, 8, 9}) {
        if (!shape.serves({.nranks = nranks})) continue;
        how.slots = std::array{0, 1, 2}[random() % 3];
        const Ranks ranks(nranks, how);
        const std::vector<Case> cases = cases_of(shape.collective, nranks, random);
        std::vector<std::string> faults(static_cast<std::size_t>(nranks));
        ranks.run([&](int rank, rondoComm_t comm) {
            for (const Case& given : cases) {
                std::string fault = run_case(given, rank, nranks, comm);
                if (fault.empty()) continue;
                faults[static_cast<std::size_t>(rank)] = describe(given) + ": " + fault;
                rondoCommAbort(comm);
                return;
            }
            char plan[200];
            EXPECT_EQ(rondoCommGetLastPlan(comm, plan, sizeof(plan)), rondoSuccess);
            EXPECT_NE(std::string(plan).find("/" + std::string(plan::name_of(shape.algorithm)) + "/n" +
                                             std::to_string(nranks)),
                      std::string::npos)
                << plan;
        });
        for (int rank = 0; rank < nranks; ++rank) {
            EXPECT_EQ(faults[static_cast<std::size_t>(rank)], "")
                << "rank " << rank << " of " << nranks << ", slots " << how.slots;
        }
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Forced, testing::ValuesIn(user_shapes()), [](const auto& shape) {
    return std::string(plan::name_of(shape.param->collective)) + "_" +
           std::string(plan::name_of(shape.param->algorithm));
});

// What a user gets who forces nothing: mixed calls in one order, each after the other without a pause.
TEST(Collectives, MixedCallsGiveTheRightResults) {
    constexpr Collective kAll[] = {Collective::AllReduce, Collective::Reduce,        Collective::Broadcast,
                                   Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll,
                                   Collective::Barrier};
    for (const int nranks : {2, 3, 5, 8}) {
        const Ranks ranks(nranks);
        std::vector<std::string> faults(static_cast<std::size_t>(nranks));
        ranks.run([&](int rank, rondoComm_t comm) {
            std::mt19937 random(seed());
            for (int i = 0; i < 400; ++i) {
                Case given{.collective = kAll[random() % std::size(kAll)],
                           .type = kTypes[random() % std::size(kTypes)],
                           .op = kOps[random() % std::size(kOps)],
                           .root = static_cast<int>(random() % static_cast<unsigned>(nranks)),
                           .count = random() % 10 == 0 ? random() % 5000 : random() % 40,
                           .in_place = random() % 2 == 0,
                           .offset = random() % 8};
                if (given.collective == Collective::AllToAll) given.in_place = false;
                const std::string fault = run_case(given, rank, nranks, comm);
                if (fault.empty()) continue;
                faults[static_cast<std::size_t>(rank)] =
                    "call " + std::to_string(i) + " " + describe(given) + ": " + fault;
                rondoCommAbort(comm);
                return;
            }
        });
        for (const std::string& fault : faults) EXPECT_EQ(fault, "") << nranks << " ranks";
    }
}

}  // namespace rondo::api::test
