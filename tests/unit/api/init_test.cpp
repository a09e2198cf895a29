// Init: blocking, polled, and what goes wrong when ranks do not fit together. Bad arguments of every function.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "comm_ranks.hpp"
#include "thread_ranks.hpp"

namespace rondo::test {

namespace {

rondoUniqueId new_id() {
    rondoUniqueId id;
    EXPECT_EQ(rondoGetUniqueId(&id), rondoSuccess);
    return id;
}

TEST(Init, MissingRanksAreNamedAtTheTimeout) {
    const rondoUniqueId id = new_id();
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.timeout = 0.3;
    rondoComm_t comm = nullptr;
    const Outcome outcome = outcome_of([&] { return rondoCommInitRankConfig(&comm, 5, id, 1, &config); });
    EXPECT_EQ(outcome.result, rondoTimeout);
    EXPECT_TRUE(contains(outcome.text, "missing: 0, 2-4")) << outcome.text;
    EXPECT_EQ(comm, nullptr);
    EXPECT_LT(outcome.seconds, 3);
}

TEST(Init, PolledUntilTheLastRankComes) {
    const rondoUniqueId id = new_id();
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.blocking = 0;
    rondoComm_t first = nullptr;
    rondoComm_t second = nullptr;
    ASSERT_EQ(rondoCommInitRankConfig(&first, 2, id, 0, &config), rondoInProgress);
    rondoResult_t state = rondoSuccess;
    ASSERT_EQ(rondoCommGetAsyncError(first, &state), rondoSuccess);
    EXPECT_EQ(state, rondoInProgress);
    const Outcome early = outcome_of([&] { return rondoBarrier(first, nullptr); });
    EXPECT_EQ(early.result, rondoInvalidUsage);
    EXPECT_TRUE(contains(early.text, "missing ranks: 1")) << early.text;
    ASSERT_EQ(rondoCommInitRankConfig(&second, 2, id, 1, &config), rondoInProgress);
    for (const rondoComm_t comm : {first, second}) EXPECT_EQ(rondo::api::test::settled_state(comm), rondoSuccess);
    std::thread peer([&] { EXPECT_EQ(rondoBarrier(second, nullptr), rondoSuccess); });
    EXPECT_EQ(rondoBarrier(first, nullptr), rondoSuccess);
    peer.join();
    EXPECT_EQ(rondoCommDestroy(first), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(second), rondoSuccess);
}

TEST(Init, OneThreadInsideAGroup) {
    const rondoUniqueId id = new_id();
    std::vector<rondoComm_t> comms(3);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int rank = 0; rank < 3; ++rank) {
        ASSERT_EQ(rondoCommInitRank(&comms[static_cast<std::size_t>(rank)], 3, id, rank), rondoSuccess);
    }
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    for (int rank = 0; rank < 3; ++rank) {
        int got = -1;
        int count = -1;
        EXPECT_EQ(rondoCommUserRank(comms[static_cast<std::size_t>(rank)], &got), rondoSuccess);
        EXPECT_EQ(rondoCommCount(comms[static_cast<std::size_t>(rank)], &count), rondoSuccess);
        EXPECT_EQ(got, rank);
        EXPECT_EQ(count, 3);
    }
    for (const rondoComm_t comm : comms) EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST(Init, RanksThatDoNotFitEndItForAll) {
    const rondoUniqueId id = new_id();
    Outcome first;
    std::thread waiting([&] {
        rondoComm_t comm = nullptr;
        first = outcome_of([&] { return rondoCommInitRank(&comm, 3, id, 0); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    rondoComm_t comm = nullptr;
    const Outcome odd = outcome_of([&] { return rondoCommInitRank(&comm, 2, id, 1); });
    waiting.join();
    for (const Outcome& outcome : {first, odd}) {
        EXPECT_EQ(outcome.result, rondoInvalidUsage) << outcome.text;
        EXPECT_TRUE(contains(outcome.text, "says 2 ranks, rank 0 says 3")) << outcome.text;
        EXPECT_LT(outcome.seconds, 5);
    }
}

TEST(Init, OtherSettingsAreNamed) {
    const rondoUniqueId id = new_id();
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.blocking = 0;
    rondoComm_t comm = nullptr;
    rondoComm_t other = nullptr;
    ASSERT_EQ(rondoCommInitRankConfig(&comm, 2, id, 0, &config), rondoInProgress);
    config.slots = 7;
    ASSERT_EQ(rondoCommInitRankConfig(&other, 2, id, 1, &config), rondoInProgress);
    for (const rondoComm_t rank : {comm, other}) {
        EXPECT_EQ(api::test::settled_state(rank), rondoInvalidUsage);
        const std::string text = rondoGetLastError(rank);
        EXPECT_TRUE(contains(text, "RONDO_NSLOTS=7") && contains(text, "RONDO_NSLOTS=4")) << text;
        EXPECT_EQ(rondoCommDestroy(rank), rondoSuccess);
    }
}

TEST(Init, TakenRankAndUsedId) {
    const rondoUniqueId id = new_id();
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.blocking = 0;
    rondoComm_t comm = nullptr;
    rondoComm_t again = nullptr;
    ASSERT_EQ(rondoCommInitRankConfig(&comm, 2, id, 0, &config), rondoInProgress);
    Outcome outcome = outcome_of([&] { return rondoCommInitRankConfig(&again, 2, id, 0, &config); });
    EXPECT_EQ(outcome.result, rondoInvalidUsage);
    EXPECT_TRUE(contains(outcome.text, "rank 0 has joined already")) << outcome.text;
    rondoComm_t peer = nullptr;
    ASSERT_EQ(rondoCommInitRankConfig(&peer, 2, id, 1, &config), rondoInProgress);
    EXPECT_EQ(api::test::settled_state(comm), rondoSuccess);
    outcome = outcome_of([&] { return rondoCommInitRankConfig(&again, 2, id, 0, &config); });
    EXPECT_EQ(outcome.result, rondoInvalidUsage);
    EXPECT_TRUE(contains(outcome.text, "has served a communicator already")) << outcome.text;
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(peer), rondoSuccess);
}

TEST(Init, BadSettingsAndConfigurationAreErrors) {
    rondoComm_t comm = nullptr;
    setenv("RONDO_ALGO", "rinng", 1);
    Outcome outcome = outcome_of([&] { return rondoCommInitAll(&comm, 1, nullptr); });
    unsetenv("RONDO_ALGO");
    EXPECT_EQ(outcome.result, rondoInvalidArgument);
    EXPECT_TRUE(contains(outcome.text, "RONDO_ALGO=rinng") && contains(outcome.text, "ring")) << outcome.text;

    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.device = "cuda:0";
    outcome = outcome_of([&] { return rondoCommInitAll(&comm, 1, &config); });
    EXPECT_EQ(outcome.result, rondoInvalidArgument);
    EXPECT_TRUE(contains(outcome.text, "\"cuda:0\"")) << outcome.text;

    config = RONDO_CONFIG_INITIALIZER;
    config.size = sizeof(config) + 8;
    EXPECT_EQ(rondoCommInitAll(&comm, 1, &config), rondoInvalidArgument);
    config = RONDO_CONFIG_INITIALIZER;
    config.slots = 65;
    EXPECT_EQ(rondoCommInitAll(&comm, 1, &config), rondoInvalidArgument);
    EXPECT_EQ(rondoCommInitAll(&comm, 0, nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoCommInitAll(nullptr, 1, nullptr), rondoInvalidArgument);
    const rondoUniqueId id = new_id();
    EXPECT_EQ(rondoCommInitRank(&comm, 2, id, 2), rondoInvalidArgument);
    EXPECT_EQ(rondoCommInitRank(&comm, 2, id, -1), rondoInvalidArgument);
    EXPECT_EQ(rondoGetUniqueId(nullptr), rondoInvalidArgument);
}

TEST(Init, AnOlderCallerWithAShorterConfiguration) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.size = offsetof(rondoConfig_t, timeout);
    config.timeout = -1e300;  // beyond the caller's structure: must not be read
    config.slots = 1000;
    rondoComm_t comm = nullptr;
    EXPECT_EQ(rondoCommInitAll(&comm, 1, &config), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST(ArgumentChecks, AreCheckedAtOnceAndNamed) {
    ThreadRanks ranks(1);
    const rondoComm_t comm = ranks.comm(0);
    float x[8] = {};
    const auto text_of = [](rondoResult_t result) {
        EXPECT_EQ(result, rondoInvalidArgument);
        return std::string(rondoGetLastError(nullptr));
    };
    EXPECT_TRUE(
        contains(text_of(rondoAllReduce(nullptr, x, 1, rondoFloat32, rondoSum, comm, nullptr)), "sendbuff is null"));
    EXPECT_TRUE(
        contains(text_of(rondoAllReduce(x, nullptr, 1, rondoFloat32, rondoSum, comm, nullptr)), "recvbuff is null"));
    EXPECT_TRUE(contains(text_of(rondoAllReduce(x, x + 1, 2, rondoFloat32, rondoSum, comm, nullptr)), "overlap"));
    EXPECT_TRUE(contains(text_of(rondoAllToAll(x, x, 2, rondoFloat32, comm, nullptr)), "overlap"));
    EXPECT_TRUE(
        contains(text_of(rondoAllReduce(x, x, 1, api::test::raw<rondoDataType_t>(77), rondoSum, comm, nullptr)), "77"));
    EXPECT_TRUE(contains(text_of(rondoAllReduce(x, x, 1, rondoFloat32, api::test::raw<rondoRedOp_t>(9), comm, nullptr)),
                         "op 9"));
    EXPECT_TRUE(contains(text_of(rondoBroadcast(x, x, 1, rondoFloat32, 1, comm, nullptr)), "root 1"));
    EXPECT_TRUE(contains(text_of(rondoReduce(x, x, 1, rondoFloat32, rondoSum, -1, comm, nullptr)), "root -1"));
    EXPECT_TRUE(contains(text_of(rondoSend(x, 1, rondoFloat32, 1, comm, nullptr)), "peer 1"));
    EXPECT_TRUE(contains(text_of(rondoRecv(nullptr, 1, rondoFloat32, 0, comm, nullptr)), "null"));
    EXPECT_TRUE(contains(text_of(rondoAllGather(x, x, SIZE_MAX / 2, rondoFloat64, comm, nullptr)), "2^63"));
    EXPECT_TRUE(
        contains(text_of(rondoReduceScatter(x, x, 1, rondoFloat32, rondoSum, nullptr, nullptr)), "comm is null"));
    EXPECT_EQ(rondoCommCount(comm, nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoCommUserRank(comm, nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoCommGetAsyncError(comm, nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoCommGetLastPlan(comm, nullptr, 10), rondoInvalidArgument);
    EXPECT_EQ(rondoCommDestroy(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoCommAbort(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoCommFinalize(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoStreamCreate(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoStreamDestroy(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoStreamSynchronize(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoStreamQuery(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoGetVersion(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    EXPECT_EQ(rondoAllReduce(x, x, 1, rondoFloat32, rondoSum, comm, nullptr), rondoSuccess) << "still usable";
}

TEST(ArgumentChecks, FinalizedCommunicatorTakesNoMore) {
    ThreadRanks ranks(1);
    EXPECT_EQ(rondoCommFinalize(ranks.comm(0)), rondoSuccess);
    const Outcome outcome = outcome_of([&] { return rondoBarrier(ranks.comm(0), nullptr); });
    EXPECT_EQ(outcome.result, rondoInvalidUsage);
    EXPECT_TRUE(contains(outcome.text, "finalized")) << outcome.text;
}

TEST(Fork, TheChildIsToldWhoseCommunicatorItIs) {
    ThreadRanks ranks(1);
    const pid_t child = fork();
    if (child == 0) {
        const rondoResult_t result = rondoBarrier(ranks.comm(0), nullptr);
        const std::string text = rondoGetLastError(nullptr);
        const bool told = result == rondoInvalidUsage && contains(text, "belongs to pid " + std::to_string(getppid()));
        _exit(told ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(rondoBarrier(ranks.comm(0), nullptr), rondoSuccess) << "the parent's works on";
}

}  // namespace

}  // namespace rondo::test
