// Host streams: order, several of them, errors, and what mixes with blocking calls.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "collective_case.hpp"
#include "comm_ranks.hpp"

namespace rondo::api::test {

namespace {

class Stream {
public:
    Stream() { EXPECT_EQ(rondoStreamCreate(&stream_), rondoSuccess) << rondoGetLastError(nullptr); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { EXPECT_EQ(rondoStreamDestroy(stream_), rondoSuccess); }
    [[nodiscard]] rondoStream_t get() const { return stream_; }

private:
    rondoStream_t stream_ = nullptr;
};

}  // namespace

TEST(Stream, RunsOperationsInTheOrderOfTheirCalls) {
    const Ranks ranks(3);
    ranks.run([](int rank, rondoComm_t comm) {
        const Stream stream;
        std::vector<std::int64_t> a(1000, rank + 1);
        std::vector<std::int64_t> b(1000);
        for (int i = 0; i < 20; ++i) {  // each call reads what the one before wrote
            ASSERT_EQ(rondoAllReduce(a.data(), b.data(), 1000, rondoInt64, rondoSum, comm, stream.get()), rondoSuccess);
            ASSERT_EQ(rondoAllReduce(b.data(), a.data(), 1000, rondoInt64, rondoMax, comm, stream.get()), rondoSuccess);
        }
        ASSERT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess);
        std::int64_t right = 6;
        for (int i = 1; i < 20; ++i) right *= 3;
        for (const std::int64_t value : a) ASSERT_EQ(value, right);
    });
}

TEST(Stream, EveryCollectiveRunsOnAStream) {
    const Ranks ranks(4);
    ranks.run([](int rank, rondoComm_t comm) {
        const Stream stream;
        for (const Collective collective :
             {Collective::AllReduce, Collective::Reduce, Collective::Broadcast, Collective::AllGather,
              Collective::ReduceScatter, Collective::AllToAll, Collective::Barrier}) {
            for (const std::size_t count : {0, 1, 1025}) {
                const Case given{.collective = collective, .root = 2, .count = count};
                ASSERT_EQ(run_case(given, rank, 4, comm, stream.get()), "") << describe(given);
            }
        }
        std::vector<int> out(700'000, rank);
        std::vector<int> in(700'000);
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        ASSERT_EQ(rondoSend(out.data(), out.size(), rondoInt32, (rank + 1) % 4, comm, stream.get()), rondoSuccess);
        ASSERT_EQ(rondoRecv(in.data(), in.size(), rondoInt32, (rank + 3) % 4, comm, stream.get()), rondoSuccess);
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
        ASSERT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess);
        ASSERT_EQ(std::ranges::count(in, (rank + 3) % 4), 700'000);
    });
}

// Calls of one communicator on several streams and on none run in the order of the calls.
TEST(Stream, SeveralOnOneCommunicatorKeepItsOrder) {
    const Ranks ranks(3);
    ranks.run([](int rank, rondoComm_t comm) {
        const Stream streams[3];
        std::mt19937 random(seed() + static_cast<unsigned>(rank));  // every rank chooses for itself
        std::vector<std::int32_t> value(500, rank == 0 ? 1 : 0);
        std::vector<std::int32_t> next(500);
        for (int i = 0; i < 200; ++i) {
            const auto choice = random() % 4;
            rondoStream_t stream = choice < 3 ? streams[choice].get() : nullptr;
            ASSERT_EQ(rondoAllReduce(value.data(), next.data(), 500, rondoInt32, rondoSum, comm, stream), rondoSuccess);
            std::swap(value, next);
            if (i % 8 != 7) continue;
            for (const Stream& each : streams) ASSERT_EQ(rondoStreamSynchronize(each.get()), rondoSuccess);
            for (std::int32_t& element : value) {
                ASSERT_EQ(element, 2187)  // 1 + 0 + 0, then seven times the threefold
                    << "call " << i;
                element = rank == 0 ? 1 : 0;
            }
        }
    });
}

TEST(Stream, BlockingCallComesAfterWhatIsQueued) {
    const Ranks ranks(2);
    ranks.run([](int rank, rondoComm_t comm) {
        const Stream stream;
        std::vector<int> data(400'000, rank + 1);
        ASSERT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoInt32, rondoSum, comm, stream.get()),
                  rondoSuccess);
        ASSERT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoInt32, rondoSum, comm, nullptr),
                  rondoSuccess);
        ASSERT_EQ(std::ranges::count(data, 6), 400'000);
        // What asks about the communicator waits for the queue too.
        ASSERT_EQ(rondoAllReduce(data.data(), data.data(), 3, rondoInt32, rondoSum, comm, stream.get()), rondoSuccess);
        char plan[100];
        ASSERT_EQ(rondoCommGetLastPlan(comm, plan, sizeof(plan)), rondoSuccess);
        ASSERT_EQ(data[0], 12);
        ASSERT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess);
    });
}

TEST(Stream, QueryTellsRunningFromDone) {
    const Ranks ranks(2);
    const Stream streams[2];
    int data[2] = {1, 2};
    EXPECT_EQ(rondoStreamQuery(streams[0].get()), rondoSuccess);
    ASSERT_EQ(rondoAllReduce(&data[0], &data[0], 1, rondoInt32, rondoSum, ranks[0], streams[0].get()), rondoSuccess);
    EXPECT_EQ(rondoStreamQuery(streams[0].get()), rondoInProgress) << "rank 1 has not come";
    ASSERT_EQ(rondoAllReduce(&data[1], &data[1], 1, rondoInt32, rondoSum, ranks[1], streams[1].get()), rondoSuccess);
    while (rondoStreamQuery(streams[0].get()) == rondoInProgress) std::this_thread::yield();
    EXPECT_EQ(rondoStreamQuery(streams[0].get()), rondoSuccess);
    EXPECT_EQ(data[0], 3);
    EXPECT_EQ(rondoStreamSynchronize(streams[1].get()), rondoSuccess);
    EXPECT_EQ(data[1], 3);
}

TEST(Stream, GivesItsFirstErrorOnceWithTheText) {
    const Ranks ranks(2);
    const Stream stream;
    int data = 1;
    ASSERT_EQ(rondoAllReduce(&data, &data, 1, rondoInt32, rondoSum, ranks[0], stream.get()), rondoSuccess);
    ASSERT_EQ(rondoBarrier(ranks[0], stream.get()), rondoSuccess);
    ASSERT_EQ(rondoCommAbort(ranks[1]), rondoSuccess);
    expect(outcome_of([&] { return rondoStreamSynchronize(stream.get()); }), rondoRemoteError, {"rank 1 aborted"});
    EXPECT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess) << "reported once";
    // The stream itself is whole: another communicator uses it.
    const Ranks other(1);
    ASSERT_EQ(rondoAllReduce(&data, &data, 1, rondoInt32, rondoSum, other[0], stream.get()), rondoSuccess);
    EXPECT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess) << rondoGetLastError(nullptr);
    // The broken communicator's next operation completes with its first cause.
    ASSERT_EQ(rondoBarrier(ranks[0], stream.get()), rondoSuccess);
    expect(outcome_of([&] { return rondoStreamSynchronize(stream.get()); }), rondoRemoteError, {"rank 1 aborted"});
}

TEST(Stream, ArgumentsAreCheckedAtTheCall) {
    const Ranks ranks(1);
    const Stream stream;
    int data = 1;
    expect(outcome_of([&] { return rondoBroadcast(&data, &data, 1, rondoInt32, 4, ranks[0], stream.get()); }),
           rondoInvalidArgument, {"root 4"});
    EXPECT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess);
}

TEST(Stream, FinalizeDestroyAndStreamDestroyWaitForTheQueue) {
    for (const int way : {0, 1, 2}) {
        Ranks ranks(2);
        std::vector<int> data[2] = {std::vector<int>(300'000, 1), std::vector<int>(300'000, 2)};
        ranks.run([&](int rank, rondoComm_t comm) {
            auto& mine = data[rank];
            auto stream = std::make_unique<Stream>();
            for (int i = 0; i < 5; ++i) {
                ASSERT_EQ(
                    rondoAllReduce(mine.data(), mine.data(), mine.size(), rondoInt32, rondoSum, comm, stream->get()),
                    rondoSuccess);
            }
            const rondoResult_t result = way == 0   ? rondoCommFinalize(comm)
                                         : way == 1 ? ranks.destroy(rank)
                                                    : (stream.reset(), rondoSuccess);
            ASSERT_EQ(result, rondoSuccess);
            ASSERT_EQ(std::ranges::count(mine, 48), 300'000) << "way " << way;
        });
    }
}

// What an open group will use stays until its end.
TEST(Stream, IsNotDestroyedUnderAnOpenGroup) {
    const Ranks ranks(1);
    rondoStream_t stream = nullptr;
    ASSERT_EQ(rondoStreamCreate(&stream), rondoSuccess);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    ASSERT_EQ(rondoBarrier(ranks[0], stream), rondoSuccess);
    expect(outcome_of([&] { return rondoStreamDestroy(stream); }), rondoInvalidUsage, {"rondoStreamDestroy", "group"});
    expect(outcome_of([&] { return rondoCommDestroy(ranks[0]); }), rondoInvalidUsage, {"rondoCommDestroy", "group"});
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage) << "a call inside has failed";
    EXPECT_EQ(rondoBarrier(ranks[0], stream), rondoSuccess);
    EXPECT_EQ(rondoStreamDestroy(stream), rondoSuccess);
}

// Threads that take turns with a communicator, each with a stream of its own, keep one order; those that meet are told.
TEST(Stream, ThreadsThatMeetInACommunicatorAreTold) {
    const Ranks ranks(1);
    const Stream streams[2];
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 3000; ++i) {
                const Outcome outcome =
                    outcome_of([&] { return rondoBarrier(ranks[0], streams[(thread + i) % 2].get()); });
                if (outcome.result == rondoSuccess) {
                    done.fetch_add(1);
                } else {
                    expect(outcome, rondoInvalidUsage, {"another thread is inside"});
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(done.load(), 0);
    for (const Stream& stream : streams) EXPECT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess);
}

TEST(Stream, TwoCommunicatorsOnTwoStreamsInOppositeOrder) {
    const Ranks a(2);
    const Ranks b(2);
    a.run([&](int rank, rondoComm_t) {
        const Stream for_a;
        const Stream for_b;
        std::vector<int> x(300, rank + 1);
        std::vector<int> y(300, rank + 1);
        const auto reduce = [](std::vector<int>& data, rondoRedOp_t op, rondoComm_t comm, const Stream& stream) {
            ASSERT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoInt32, op, comm, stream.get()),
                      rondoSuccess);
        };
        for (int i = 0; i < 1000; ++i) {
            if (rank == 0) reduce(x, rondoMax, a[rank], for_a);
            reduce(y, rondoMin, b[rank], for_b);
            if (rank == 1) reduce(x, rondoMax, a[rank], for_a);
        }
        ASSERT_EQ(rondoStreamSynchronize(for_a.get()), rondoSuccess);
        ASSERT_EQ(rondoStreamSynchronize(for_b.get()), rondoSuccess);
        EXPECT_EQ(std::ranges::count(x, 2), 300);
        EXPECT_EQ(std::ranges::count(y, 1), 300);
    });
}

// Blocking calls: each communicator has a thread of its own on every rank, and goes on by itself.
TEST(Communicators, AreIndependentOfEachOther) {
    constexpr int kComms = 12;
    std::vector<std::unique_ptr<Ranks>> comms;
    for (int i = 0; i < kComms; ++i) comms.push_back(std::make_unique<Ranks>(2));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
        for (int i = 0; i < kComms; ++i) {
            const int which = rank == 0 ? i : kComms - 1 - i;
            threads.emplace_back([&, rank, which] {
                for (int round = 0; round < 100; ++round) {
                    int data = rank + which;
                    ASSERT_EQ(rondoAllReduce(&data, &data, 1, rondoInt32, rondoSum,
                                             (*comms[static_cast<std::size_t>(which)])[rank], nullptr),
                              rondoSuccess);
                    ASSERT_EQ(data, 1 + 2 * which);
                }
            });
        }
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace rondo::api::test
