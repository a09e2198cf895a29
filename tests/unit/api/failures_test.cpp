// What ranks are told when one of them does something else, comes late, goes away, or aborts.

#include <sys/resource.h>

#include <functional>

#include "thread_ranks.hpp"

namespace rondo::test {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kCount = 4;

struct Buffers {
    std::vector<float> in = std::vector<float>(6000, 1.5F);
    std::vector<float> out = std::vector<float>(6000);
};

rondoResult_t usual_call(rondoComm_t comm, Buffers& buffers) {
    return rondoAllReduce(buffers.in.data(), buffers.out.data(), kCount, rondoFloat32, rondoSum, comm, nullptr);
}

/// One way in which rank 2 disagrees with the others, and what every text must say of it.
struct Disagreement {
    const char* name;
    std::function<rondoResult_t(rondoComm_t, Buffers&)> call;
    std::string description;
    std::string field;
};

std::vector<Disagreement> disagreements() {
    const auto reduce = [](std::size_t count, rondoDataType_t type, rondoRedOp_t op) {
        return [=](rondoComm_t comm, Buffers& b) {
            return rondoAllReduce(b.in.data(), b.out.data(), count, type, op, comm, nullptr);
        };
    };
    return {
        {"operation",
         [](rondoComm_t comm, Buffers& b) {
             return rondoBroadcast(b.in.data(), b.out.data(), kCount, rondoFloat32, 1, comm, nullptr);
         },
         "broadcast(float, count 4, root 1)", "operation"},
        {"type", reduce(kCount, rondoInt32, rondoSum), "all_reduce(sum, int32, count 4)", "type"},
        {"reduction", reduce(kCount, rondoFloat32, rondoMax), "all_reduce(max, float, count 4)", "reduction"},
        {"count", reduce(kCount + 1, rondoFloat32, rondoSum), "all_reduce(sum, float, count 5)", "count"},
        {"count of another size class", reduce(5000, rondoFloat32, rondoSum), "all_reduce(sum, float, count 5000)",
         "count"},
        {"no elements", reduce(0, rondoFloat32, rondoSum), "all_reduce(sum, float, count 0)", "count"},
        {"barrier", [](rondoComm_t comm, Buffers&) { return rondoBarrier(comm, nullptr); }, "barrier()", "operation"},
    };
}

TEST(Disagreement, EveryRankInsideLearnsBothCallsAndTheField) {
    for (const Disagreement& odd : disagreements()) {
        SCOPED_TRACE(odd.name);
        ThreadRanks ranks(4);
        // In a run of its own: a rank still inside this call when another one disagrees in the next would fail here.
        ranks.run([&](int, rondoComm_t comm) {
            Buffers buffers;
            ASSERT_EQ(usual_call(comm, buffers), rondoSuccess);
        });
        ranks.run([&](int rank, rondoComm_t comm) {
            Buffers buffers;
            Outcome outcome =
                outcome_of([&] { return rank == 2 ? odd.call(comm, buffers) : usual_call(comm, buffers); });
            // A rank that needed nothing from the others may have left; its next call tells it.
            if (outcome.result == rondoSuccess) outcome = outcome_of([&] { return rondoBarrier(comm, nullptr); });
            EXPECT_EQ(outcome.result, rondoInvalidUsage) << "rank " << rank << ": " << outcome.text;
            EXPECT_LT(outcome.seconds, 5);
            for (const std::string& part :
                 {std::string("rank 2"), odd.description, odd.field, std::string("all_reduce(sum, float, count 4)")}) {
                EXPECT_TRUE(contains(outcome.text, part)) << "no '" << part << "' in: " << outcome.text;
            }
            const Outcome later = outcome_of([&] { return rondoBarrier(comm, nullptr); });
            EXPECT_EQ(later.result, rondoInvalidUsage);
            EXPECT_EQ(later.text, outcome.text) << "later calls fail with the first cause";
            EXPECT_LT(later.seconds, 1);
        });
    }
}

TEST(Disagreement, RootsThatDiffer) {
    ThreadRanks ranks(3);
    ranks.run([&](int rank, rondoComm_t comm) {
        Buffers b;
        const int root = rank == 1 ? 1 : 0;
        Outcome outcome = outcome_of(
            [&] { return rondoReduce(b.in.data(), b.out.data(), 5000, rondoFloat32, rondoSum, root, comm, nullptr); });
        if (outcome.result == rondoSuccess) outcome = outcome_of([&] { return rondoBarrier(comm, nullptr); });
        EXPECT_EQ(outcome.result, rondoInvalidUsage) << outcome.text;
        EXPECT_TRUE(contains(outcome.text, "they differ in: root")) << outcome.text;
    });
}

TEST(Disagreement, SkippedCallShowsAtTheNext) {
    ThreadRanks ranks(3);
    ranks.run([&](int rank, rondoComm_t comm) {
        Buffers b;
        if (rank != 1) {
            const rondoResult_t first = usual_call(comm, b);
            if (first != rondoSuccess) return;  // rank 1's other call was seen here already
        }
        const Outcome outcome =
            outcome_of([&] { return rondoAllGather(b.in.data(), b.out.data(), 100, rondoFloat32, comm, nullptr); });
        EXPECT_EQ(outcome.result, rondoInvalidUsage) << outcome.text;
        EXPECT_TRUE(contains(outcome.text, "all_gather(float, count 100)")) << outcome.text;
        EXPECT_TRUE(contains(outcome.text, "all_reduce(sum, float, count 4)")) << outcome.text;
    });
}

TEST(Disagreement, AnotherCommunicatorOfTheSameThreadsWorksOn) {
    ThreadRanks broken(2);
    ThreadRanks whole(2);
    broken.run([&](int rank, rondoComm_t comm) {
        Buffers b;
        const rondoDataType_t type = rank == 0 ? rondoFloat32 : rondoInt32;
        EXPECT_NE(rondoAllReduce(b.in.data(), b.out.data(), 4, type, rondoSum, comm, nullptr), rondoSuccess);
        EXPECT_EQ(usual_call(whole.comm(rank), b), rondoSuccess);
        EXPECT_EQ(b.out[3], 3.0F);
    });
}

TEST(Transfers, SizesThatDifferAreNamedOnBothRanks) {
    for (const auto& [sent, expected] :
         {std::pair<std::size_t, std::size_t>{1, 2}, {3, 1}, {1, 100'000}, {90'000, 3}}) {
        ThreadRanks ranks(2);
        ranks.run([&, sent_count = sent, expected_count = expected](int rank, rondoComm_t comm) {
            std::vector<float> data(100'008, 7.0F);
            Outcome outcome = outcome_of([&] {
                return rank == 0 ? rondoSend(data.data(), sent_count, rondoFloat32, 1, comm, nullptr)
                                 : rondoRecv(data.data(), expected_count, rondoFloat32, 0, comm, nullptr);
            });
            while (outcome.result == rondoSuccess) outcome = outcome_of([&] { return rondoBarrier(comm, nullptr); });
            EXPECT_EQ(outcome.result, rondoInvalidUsage) << outcome.text;
            EXPECT_TRUE(contains(outcome.text, std::to_string(expected_count * 4) + " bytes from rank 0"))
                << outcome.text;
            EXPECT_TRUE(contains(outcome.text, std::to_string(sent_count * 4) + " bytes came")) << outcome.text;
        });
    }
}

TEST(Timeout, NamesWhoArrivedWhoIsMissingAndCostsLittle) {
    ThreadRanks ranks(4, 1.0);
    ranks.run([&](int rank, rondoComm_t comm) {
        Buffers b;
        ASSERT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
        if (rank == 3) return;
        rusage before{};
        getrusage(RUSAGE_THREAD, &before);
        const Outcome outcome = outcome_of([&] { return usual_call(comm, b); });
        rusage after{};
        getrusage(RUSAGE_THREAD, &after);
        EXPECT_EQ(outcome.result, rondoTimeout);
        EXPECT_GE(outcome.seconds, 0.9);
        EXPECT_LT(outcome.seconds, 3);
        for (const char* part : {"arrived: 0-2", "missing: 3 (last call 1 barrier())",
                                 "call 2 all_reduce(sum, float, count 4)", "RONDO_TIMEOUT"}) {
            EXPECT_TRUE(contains(outcome.text, part)) << "no '" << part << "' in: " << outcome.text;
        }
        const auto seconds = [](const timeval& t) {
            return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
        };
        const double cpu =
            seconds(after.ru_utime) - seconds(before.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_stime);
        EXPECT_LT(cpu, 0.1) << "a waiting rank must sleep";
    });
}

TEST(Timeout, LateRankWithinTheLimitIsFine) {
    ThreadRanks ranks(3, 20);
    ranks.run([&](int rank, rondoComm_t comm) {
        Buffers b;
        b.in[0] = static_cast<float>(rank);
        if (rank == 1) std::this_thread::sleep_for(milliseconds(300));
        ASSERT_EQ(usual_call(comm, b), rondoSuccess);
        EXPECT_EQ(b.out[0], 3.0F);
    });
}

TEST(Abort, EndsEveryWaitAndNamesTheRank) {
    for (const std::size_t count : {std::size_t{4}, std::size_t{6000}}) {
        ThreadRanks ranks(3, 60);
        ranks.run([&](int rank, rondoComm_t comm) {
            Buffers b;
            if (rank == 0) {
                std::this_thread::sleep_for(milliseconds(100));
                const Outcome abort = outcome_of([&] { return rondoCommAbort(comm); });
                EXPECT_EQ(abort.result, rondoSuccess);
                EXPECT_LT(abort.seconds, 2);
                EXPECT_EQ(rondoBarrier(comm, nullptr), rondoAborted);
                return;
            }
            const Outcome outcome = outcome_of([&] {
                return rondoAllReduce(b.in.data(), b.out.data(), count, rondoFloat32, rondoSum, comm, nullptr);
            });
            EXPECT_EQ(outcome.result, rondoRemoteError);
            EXPECT_TRUE(contains(outcome.text, "rank 0 aborted the communicator")) << outcome.text;
            EXPECT_LT(outcome.seconds, 5);
        });
    }
}

TEST(Abort, FromAnotherThreadEndsTheOwnCall) {
    ThreadRanks ranks(2, 60);
    std::thread aborter([&] {
        std::this_thread::sleep_for(milliseconds(100));
        EXPECT_EQ(rondoCommAbort(ranks.comm(0)), rondoSuccess);
    });
    Buffers b;
    EXPECT_EQ(usual_call(ranks.comm(0), b), rondoAborted);
    aborter.join();
    rondoResult_t state = rondoSuccess;
    EXPECT_EQ(rondoCommGetAsyncError(ranks.comm(1), &state), rondoSuccess);
    EXPECT_EQ(state, rondoRemoteError);
}

TEST(Departure, WaitingForARankThatDestroyedItsCommunicator) {
    ThreadRanks ranks(2, 60);
    ranks.run([&](int rank, rondoComm_t comm) {
        if (rank == 0) {
            std::this_thread::sleep_for(milliseconds(100));
            ranks.destroy(0);
            return;
        }
        Buffers b;
        const Outcome outcome = outcome_of([&] { return usual_call(comm, b); });
        EXPECT_EQ(outcome.result, rondoRemoteError) << outcome.text;
        EXPECT_TRUE(contains(outcome.text, ", which destroyed its communicator")) << outcome.text;
        EXPECT_LT(outcome.seconds, 5);
    });
}

TEST(Departure, OfARankThatHasDoneItsPartHarmsNobody) {
    for (int round = 0; round < 50; ++round) {
        ThreadRanks ranks(3);
        ranks.run([&](int rank, rondoComm_t comm) {
            Buffers b;
            ASSERT_EQ(rondoBroadcast(b.in.data(), b.out.data(), 20, rondoFloat32, 0, comm, nullptr), rondoSuccess);
            EXPECT_EQ(b.out[19], 1.5F);
            ranks.destroy(rank);
        });
    }
}

TEST(Presence, ASecondThreadIsRefused) {
    ThreadRanks ranks(2);
    Outcome second;
    ranks.run([&](int rank, rondoComm_t comm) {
        if (rank == 1) {
            std::this_thread::sleep_for(milliseconds(200));
            EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
            return;
        }
        std::thread intruder([&] {
            std::this_thread::sleep_for(milliseconds(100));
            second = outcome_of([&] { return rondoBarrier(comm, nullptr); });
        });
        EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
        intruder.join();
    });
    EXPECT_EQ(second.result, rondoInvalidUsage);
    EXPECT_TRUE(contains(second.text, "another thread is inside")) << second.text;
}

}  // namespace

}  // namespace rondo::test
