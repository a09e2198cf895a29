// Communicators made out of others, and what a failed one knows.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "comm_ranks.hpp"

namespace rondo::api::test {

namespace {

/// A sum over the ranks of `comm` with a value that differs from rank to rank; checks it.
void expect_sum(rondoComm_t comm, const std::vector<int>& old_ranks) {
    int own = -1;
    ASSERT_EQ(rondoCommUserRank(comm, &own), rondoSuccess);
    int count = 0;
    ASSERT_EQ(rondoCommCount(comm, &count), rondoSuccess);
    ASSERT_EQ(static_cast<std::size_t>(count), old_ranks.size());
    std::int64_t data[3];
    std::int64_t expected[3] = {};
    for (std::int64_t i = 0; i < 3; ++i) {
        data[i] = (old_ranks[static_cast<std::size_t>(own)] + 1) * (i + 1) * 7;
        for (const int rank : old_ranks) expected[i] += (rank + 1) * (i + 1) * 7;
    }
    ASSERT_EQ(rondoAllReduce(data, data, 3, rondoInt64, rondoSum, comm, nullptr), rondoSuccess)
        << rondoGetLastError(comm);
    EXPECT_EQ(std::memcmp(data, expected, sizeof(data)), 0);
}

rondoErrorInfo_t info_of(rondoComm_t comm) {
    rondoErrorInfo_t info{};
    info.size = sizeof(info);
    EXPECT_EQ(rondoCommGetErrorInfo(comm, &info), rondoSuccess);
    return info;
}

}  // namespace

TEST(Split, ByColourOrderedByKey) {
    const Ranks ranks(6);
    ranks.run([](int rank, rondoComm_t comm) {
        const int colours[] = {0, 1, 0, 1, RONDO_SPLIT_NOCOLOR, 0};
        const std::vector<int> members[] = {{5, 2, 0}, {3, 1}};
        for (int round = 0; round < 3; ++round) {
            rondoComm_t made = nullptr;
            ASSERT_EQ(rondoCommSplit(comm, colours[rank], -rank, &made, nullptr), rondoSuccess)
                << rondoGetLastError(nullptr);
            if (colours[rank] < 0) {
                EXPECT_EQ(made, nullptr);
                continue;
            }
            expect_sum(made, members[colours[rank]]);
            EXPECT_EQ(rondoCommDestroy(made), rondoSuccess);
        }
        expect_sum(comm, {0, 1, 2, 3, 4, 5});
    });
}

TEST(Split, EqualKeysKeepTheOldOrderAndColoursAreChecked) {
    const Ranks ranks(4);
    ranks.run([](int, rondoComm_t comm) {
        rondoComm_t made = nullptr;
        ASSERT_EQ(rondoCommSplit(comm, 2147483647, 5, &made, nullptr), rondoSuccess);
        expect_sum(made, {0, 1, 2, 3});
        EXPECT_EQ(rondoCommDestroy(made), rondoSuccess);
        EXPECT_EQ(rondoCommSplit(comm, -5, 0, &made, nullptr), rondoInvalidArgument);
        EXPECT_EQ(made, nullptr);
        expect_sum(comm, {0, 1, 2, 3});
    });
}

TEST(Shrink, LeavesOutRanksThatDoNotTakePart) {
    const Ranks ranks(5);
    ranks.run([](int rank, rondoComm_t comm) {
        if (rank == 1 || rank == 4) return;
        const int out[] = {4, 1};
        rondoComm_t made = nullptr;
        ASSERT_EQ(rondoCommShrink(comm, out, 2, &made, nullptr), rondoSuccess) << rondoGetLastError(nullptr);
        expect_sum(made, {0, 2, 3});
        // Once more, down to one.
        rondoComm_t alone = nullptr;
        const int others[] = {0, 2};
        if (rank == 2) {
            ASSERT_EQ(rondoCommShrink(made, others, 2, &alone, nullptr), rondoSuccess) << rondoGetLastError(nullptr);
            expect_sum(alone, {2});
            EXPECT_EQ(rondoCommDestroy(alone), rondoSuccess);
        }
        EXPECT_EQ(rondoCommDestroy(made), rondoSuccess);
    });
}

TEST(Shrink, WorksAfterAFailureAndTheFailedOneStaysFailed) {
    const Ranks ranks(4, with_timeout(0.3));
    ranks.run([](int rank, rondoComm_t comm) {
        if (rank == 2) return;
        float value = static_cast<float>(rank);
        EXPECT_EQ(rondoAllReduce(&value, &value, 1, rondoFloat32, rondoSum, comm, nullptr), rondoTimeout);
        const int out[] = {2};
        rondoConfig_t patient = with_timeout(20);
        rondoComm_t made = nullptr;
        ASSERT_EQ(rondoCommShrink(comm, out, 1, &made, &patient), rondoSuccess) << rondoGetLastError(nullptr);
        expect_sum(made, {0, 1, 3});
        EXPECT_EQ(rondoBarrier(comm, nullptr), rondoTimeout);
        EXPECT_EQ(rondoCommDestroy(made), rondoSuccess);
    });
}

TEST(Shrink, BadListsAreNamed) {
    const Ranks ranks(3);
    rondoComm_t made = nullptr;
    const int outside[] = {3};
    const int twice[] = {1, 1};
    const int self[] = {0};
    const auto tried = [&](const int* list, int count) {
        return outcome_of([&] { return rondoCommShrink(ranks[0], list, count, &made, nullptr); });
    };
    expect(tried(outside, 1), rondoInvalidArgument, {"rank 3", "[0, 3)"});
    expect(tried(twice, 2), rondoInvalidArgument, {"rank 1", "twice"});
    expect(tried(self, 1), rondoInvalidArgument, {"rank 0", "itself"});
    expect(tried(nullptr, 1), rondoInvalidArgument, {"exclude"});
    expect(tried(nullptr, -1), rondoInvalidArgument, {"count"});
    EXPECT_EQ(made, nullptr);
}

TEST(ErrorInfo, HoldsTheFirstCauseFieldByField) {
    const Ranks ranks(3, with_timeout(0.3));
    ranks.run([](int rank, rondoComm_t comm) {
        EXPECT_EQ(info_of(comm).code, rondoSuccess);
        if (rank == 1) return;
        std::int32_t value = rank;
        EXPECT_EQ(rondoAllReduce(&value, &value, 1, rondoInt32, rondoSum, comm, nullptr), rondoTimeout);
        const rondoErrorInfo_t info = info_of(comm);
        EXPECT_EQ(info.code, rondoTimeout);
        EXPECT_TRUE(info.rank == 0 || info.rank == 2) << info.rank;
        EXPECT_EQ(info.peer, 1);
        EXPECT_EQ(info.sequence, 1U);
        EXPECT_STREQ(info.operation, "all_reduce");
        EXPECT_STREQ(info.object, "RONDO_TIMEOUT");
        EXPECT_STREQ(info.limit, "300 ms");
        EXPECT_NE(std::string(info.cause).find("missing: 1"), std::string::npos) << info.cause;
        EXPECT_NE(std::string(info.remedy), "");
    });
}

TEST(ErrorInfo, KnowsOlderCallers) {
    const Ranks ranks(1);
    rondoErrorInfo_t info{};
    info.size = sizeof(info.size);
    info.peer = 77;
    EXPECT_EQ(rondoCommGetErrorInfo(ranks[0], &info), rondoSuccess);
    EXPECT_EQ(info.peer, 77) << "beyond the caller's size";
    info.size = sizeof(info) + 1;
    EXPECT_EQ(rondoCommGetErrorInfo(ranks[0], &info), rondoInvalidArgument);
}

TEST(SetTimeout, HoldsForTheNextCalls) {
    const Ranks ranks(2, with_timeout(20));
    ranks.run([](int rank, rondoComm_t comm) {
        EXPECT_EQ(rondoCommSetTimeout(comm, 0, 0), rondoInvalidArgument);
        EXPECT_EQ(rondoCommSetTimeout(comm, 1, -1), rondoInvalidArgument);
        EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
        if (rank == 1) return;
        EXPECT_EQ(rondoCommSetTimeout(comm, 0.25, 0), rondoSuccess);
        const Outcome outcome = outcome_of([&] { return rondoBarrier(comm, nullptr); });
        expect(outcome, rondoTimeout, {"limit 250 ms"});
        EXPECT_GE(outcome.seconds, 0.24);
        EXPECT_LT(outcome.seconds, 2);
    });
}

}  // namespace rondo::api::test
