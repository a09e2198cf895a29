// One thread that drives all ranks, by groups; groups over several communicators.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "collective_case.hpp"
#include "comm_ranks.hpp"

namespace rondo::api::test {

namespace {

constexpr Collective kAll[] = {Collective::AllReduce, Collective::Reduce,        Collective::Broadcast,
                               Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll,
                               Collective::Barrier};

/// Buffers of all ranks for one case.
struct Buffers {
    Buffers(const Case& given, int nranks) {
        for (int rank = 0; rank < nranks; ++rank) {
            inputs.push_back(input_of(given, rank, nranks));
            right.push_back(expected_of(given, rank, nranks));
            outputs.emplace_back(right.back().size());
        }
    }
    std::vector<std::vector<std::byte>> inputs;
    std::vector<std::vector<std::byte>> right;
    std::vector<std::vector<std::byte>> outputs;
};

void queue(const Case& given, Buffers& buffers, const Ranks& ranks) {
    for (int rank = 0; rank < ranks.count(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        ASSERT_EQ(call(given, buffers.inputs[r].data(), buffers.outputs[r].data(), ranks[rank]), rondoSuccess)
            << rondoGetLastError(nullptr);
    }
}

}  // namespace

TEST(OneThread, RunsEveryCollectiveOfAllRanks) {
    for (const int nranks : {1, 2, 3, 5, 8}) {
        const Ranks ranks(nranks);
        for (const Collective collective : kAll) {
            for (const std::size_t count : {0, 1, 28, 1023, 40'000}) {
                const Case given{.collective = collective, .type = rondoInt16, .root = nranks - 1, .count = count};
                Buffers buffers(given, nranks);
                ASSERT_EQ(rondoGroupStart(), rondoSuccess);
                queue(given, buffers, ranks);
                ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
                ASSERT_EQ(buffers.outputs, buffers.right) << describe(given) << " on " << nranks << " ranks";
            }
        }
    }
}

TEST(OneThread, RunsSeveralCallsOfSeveralCommunicatorsInOneGroup) {
    const Ranks a(3);
    const Ranks b(4);
    std::mt19937 random(seed());
    for (int round = 0; round < 40; ++round) {
        std::vector<Case> cases;
        for (int i = 0; i < 4; ++i) {
            cases.push_back({.collective = kAll[random() % std::size(kAll)],
                             .root = static_cast<int>(random() % 3),
                             .count = random() % 3000});
        }
        std::vector<std::unique_ptr<Buffers>> buffers;
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const Ranks& ranks = i % 2 == 0 ? a : b;
            buffers.push_back(std::make_unique<Buffers>(cases[i], ranks.count()));
            queue(cases[i], *buffers.back(), ranks);
        }
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
        for (std::size_t i = 0; i < cases.size(); ++i) {
            ASSERT_EQ(buffers[i]->outputs, buffers[i]->right) << describe(cases[i]);
        }
    }
}

TEST(OneThread, ExchangesBetweenAllItsRanks) {
    constexpr int kRanks = 4;
    const Ranks ranks(kRanks);
    std::vector<std::vector<int>> sent;
    std::vector<std::vector<int>> received;
    for (int pair = 0; pair < kRanks * kRanks; ++pair) {
        sent.emplace_back(300'000, pair * 1000 + 7);
        received.emplace_back(300'000);
    }
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int from = 0; from < kRanks; ++from) {
        for (int to = 0; to < kRanks; ++to) {
            const auto pair = static_cast<std::size_t>(from * kRanks + to);
            ASSERT_EQ(rondoSend(sent[pair].data(), 300'000, rondoInt32, to, ranks[from], nullptr), rondoSuccess);
            ASSERT_EQ(rondoRecv(received[pair].data(), 300'000, rondoInt32, from, ranks[to], nullptr), rondoSuccess);
        }
    }
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(received, sent);
}

TEST(OneThread, RanksThatDisagreeAreFound) {
    const Ranks ranks(3);
    std::vector<int> data(300, 1);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int rank = 0; rank < 3; ++rank) {
        int* const mine = data.data() + 100 * rank;
        ASSERT_EQ(rondoAllReduce(mine, mine, rank == 1 ? 99 : 100, rondoInt32, rondoSum, ranks[rank], nullptr),
                  rondoSuccess);
    }
    expect(outcome_of([] { return rondoGroupEnd(); }), rondoInvalidUsage,
           {"count 99", "count 100", "rank 1", "differ in: count"});
}

// A communicator that fails must not leave the group's other communicators waiting, nor be waited for by them.
TEST(OneThread, FailureOfOneCommunicatorEndsTheGroup) {
    const Ranks broken(2, with_timeout(60));
    const Ranks other(2, with_timeout(60));
    const auto began = std::chrono::steady_clock::now();
    std::thread aborter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        EXPECT_EQ(rondoCommAbort(broken[1]), rondoSuccess);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        // Only now does the other communicator's second rank come.
        int data = 5;
        EXPECT_EQ(rondoAllReduce(&data, &data, 1, rondoInt32, rondoSum, other[1], nullptr), rondoSuccess);
        EXPECT_EQ(data, 12);
    });
    int a = 1;
    int b = 7;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    ASSERT_EQ(rondoAllReduce(&a, &a, 1, rondoInt32, rondoSum, broken[0], nullptr), rondoSuccess);
    ASSERT_EQ(rondoAllReduce(&b, &b, 1, rondoInt32, rondoSum, other[0], nullptr), rondoSuccess);
    expect(outcome_of([] { return rondoGroupEnd(); }), rondoRemoteError, {"rank 1 aborted"});
    aborter.join();
    EXPECT_EQ(b, 12) << "the healthy communicator's call is done";
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

}  // namespace rondo::api::test
