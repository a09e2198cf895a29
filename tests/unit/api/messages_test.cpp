// Tagged messages between threads, through shared memory and over connections.

#include <gtest/gtest.h>

#include <limits>

#include "api/guard.hpp"
#include "comm/messages.hpp"
#include "message_ranks.hpp"

namespace rondo::api::test {

namespace {

class Tagged : public ::testing::TestWithParam<const char*> {
protected:
    const TransportSetting transport_{GetParam()};
};

constexpr std::size_t kSlot = 131072;  // bytes of a slot unless set otherwise
constexpr std::size_t kLong = 3'000'001;

}  // namespace

INSTANTIATE_TEST_SUITE_P(Over, Tagged, ::testing::Values("memory", "tcp"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(Tagged, EverySizeArrivesWhole) {
    const Ranks ranks(2, with_timeout(30));
    ranks.run([](int rank, rondoComm_t comm) {
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, std::size_t{80}, std::size_t{81}, std::size_t{112}, std::size_t{113},
              kSlot - 33, kSlot - 32, kSlot - 31, kSlot, kSlot + 1, std::size_t{10} << 20U}) {
            if (rank == 0) {
                ASSERT_EQ(send(comm, values(bytes, bytes), 1, 5), rondoSuccess);
            }
            if (rank == 1) {
                ASSERT_TRUE(receive(comm, bytes, 0, 5).is(bytes, bytes)) << bytes;
            }
            // Back, into a buffer that is longer.
            if (rank == 1) {
                ASSERT_EQ(send(comm, values(bytes + 1, bytes), 0, 6), rondoSuccess);
            }
            if (rank == 0) {
                ASSERT_TRUE(receive(comm, bytes + 100, 1, 6).is(bytes + 1, bytes)) << bytes;
            }
        }
    });
}

TEST_P(Tagged, AreMatchedByTagInTheOrderOfTheirSends) {
    const Ranks ranks(2, with_timeout(30));
    ranks.run([](int rank, rondoComm_t comm) {
        constexpr int kEach = 40;
        if (rank == 0) {
            for (int i = 0; i < 3 * kEach; ++i) {
                ASSERT_EQ(
                    send(comm, values(static_cast<std::uint64_t>(i), 10 + static_cast<std::size_t>(i) * 7), 1, i % 3),
                    rondoSuccess);
            }
            return;
        }
        for (const int tag : {2, 0, 1}) {
            for (int i = 0; i < kEach; ++i) {
                const auto sent = static_cast<std::size_t>(3 * i + tag);
                const Receipt got = receive(comm, 2000, 0, tag);
                ASSERT_TRUE(got.is(sent, 10 + sent * 7)) << tag << " " << i;
                ASSERT_EQ(got.message.source, 0);
                ASSERT_EQ(got.message.tag, tag);
            }
        }
    });
}

TEST_P(Tagged, AnySourceAndAnyTagTellWhatCame) {
    const Ranks ranks(3, with_timeout(30));
    ranks.run([](int rank, rondoComm_t comm) {
        constexpr int kEach = 50;
        constexpr int kBig = std::numeric_limits<int>::max();
        if (rank > 0) {
            for (int i = 0; i < kEach; ++i) {
                const int tag = i % 5 == 0 ? kBig : rank;
                ASSERT_EQ(send(comm, values(static_cast<std::uint64_t>(rank * 1000 + i), 500), 0, tag), rondoSuccess);
            }
            return;
        }
        std::vector<int> next(3, 0);
        const auto take = [&](const Receipt& got) {
            const int source = got.message.source;
            ASSERT_TRUE(source == 1 || source == 2);
            int& i = next[static_cast<std::size_t>(source)];
            ASSERT_EQ(got.message.tag, i % 5 == 0 ? kBig : source);
            ASSERT_TRUE(got.is(static_cast<std::uint64_t>(source * 1000 + i), 500)) << source << " " << i;
            ++i;
        };
        for (int i = 0; i < kEach; ++i) take(receive(comm, 500, RONDO_ANY_SOURCE, RONDO_ANY_TAG));
        while (next[1] < kEach) take(receive(comm, 600, 1, RONDO_ANY_TAG));
        while (next[2] < kEach) take(receive(comm, 600, RONDO_ANY_SOURCE, next[2] % 5 == 0 ? kBig : 2));
    });
}

TEST_P(Tagged, CountIsInElementsOfTheReceive) {
    const Ranks ranks(2, with_timeout(30));
    ranks.run([](int rank, rondoComm_t comm) {
        const std::vector<std::int16_t> sent{1, -2, 3, -4, 5, -6, 7};
        if (rank == 0) {
            ASSERT_EQ(rondoSendTagged(sent.data(), 7, rondoInt16, 1, 0, comm, nullptr), rondoSuccess);
            return;
        }
        std::vector<std::int32_t> got(10, 99);
        rondoMessage_t message{};
        ASSERT_EQ(rondoRecvTagged(got.data(), 10, rondoInt32, 0, 0, comm, &message, nullptr), rondoSuccess);
        EXPECT_EQ(message.bytes, 14U);
        EXPECT_EQ(message.count, 3U);
        EXPECT_EQ(std::memcmp(got.data(), sent.data(), 14), 0);
        EXPECT_EQ(got[4], 99);
    });
}

// Both send first, then receive: on streams, in groups, to themselves too.
TEST_P(Tagged, LongOnesInBothDirectionsAtOnce) {
    const Ranks ranks(2, with_timeout(30));
    ranks.run([](int rank, rondoComm_t comm) {
        const auto own = static_cast<std::uint64_t>(rank);
        const std::uint64_t other = 1 - own;
        const std::vector<std::uint8_t> first = values(own, kLong);
        const std::vector<std::uint8_t> second = values(own + 10, kLong / 2);
        for (int round = 0; round < 3; ++round) {
            const OwnStream one;
            const OwnStream two;
            ASSERT_EQ(send(comm, first, 1 - rank, 4, one.get()), rondoSuccess);
            ASSERT_EQ(send(comm, second, 1 - rank, 4, two.get()), rondoSuccess);
            ASSERT_TRUE(receive(comm, kLong, 1 - rank, 4).is(other, kLong));
            ASSERT_TRUE(receive(comm, kLong, 1 - rank, 4).is(other + 10, kLong / 2));
            ASSERT_EQ(rondoStreamSynchronize(one.get()), rondoSuccess);
            ASSERT_EQ(rondoStreamSynchronize(two.get()), rondoSuccess);
        }
        std::vector<std::uint8_t> got(kLong);
        std::vector<std::uint8_t> back(kLong / 2);
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        ASSERT_EQ(send(comm, first, 1 - rank, 4), rondoSuccess);
        ASSERT_EQ(send(comm, second, rank, 4), rondoSuccess);
        ASSERT_EQ(rondoRecvTagged(got.data(), kLong, rondoUint8, 1 - rank, 4, comm, nullptr, nullptr), rondoSuccess);
        ASSERT_EQ(rondoRecvTagged(back.data(), kLong / 2, rondoUint8, rank, 4, comm, nullptr, nullptr), rondoSuccess);
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
        EXPECT_EQ(got, values(other, kLong));
        EXPECT_EQ(back, second);
    });
}

TEST_P(Tagged, ToItself) {
    const Ranks ranks(1, with_timeout(30));
    const std::vector<std::uint8_t> data = values(3, 1000);
    ASSERT_EQ(send(ranks[0], data, 0, 1), rondoSuccess);
    ASSERT_EQ(send(ranks[0], values(4, 0), 0, 2), rondoSuccess);
    ASSERT_TRUE(receive(ranks[0], 0, 0, 2).is(4, 0));
    ASSERT_TRUE(receive(ranks[0], 2000, RONDO_ANY_SOURCE, RONDO_ANY_TAG).is(3, 1000));
    const OwnStream stream;
    const std::vector<std::uint8_t> longer = values(5, kLong);
    ASSERT_EQ(send(ranks[0], longer, 0, 1, stream.get()), rondoSuccess);
    ASSERT_TRUE(receive(ranks[0], kLong, 0, 1).is(5, kLong));
    ASSERT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess);
}

// Receives that came first, on streams; collectives and plain sends run past them.
TEST_P(Tagged, WaitBesideOtherOperations) {
    const Ranks ranks(3, with_timeout(30));
    ranks.run([](int rank, rondoComm_t comm) {
        const int right = (rank + 1) % 3;
        const int left = (rank + 2) % 3;
        for (int round = 0; round < 20; ++round) {
            const std::size_t bytes = round % 2 == 0 ? 100 : 400'000;
            const OwnStream receives;
            const OwnStream sends;
            std::vector<std::uint8_t> got(bytes);
            rondoMessage_t message{};
            ASSERT_EQ(rondoRecvTagged(got.data(), bytes, rondoUint8, left, round, comm, &message, receives.get()),
                      rondoSuccess);
            const std::vector<std::uint8_t> data = values(static_cast<std::uint64_t>(rank), bytes);
            if (rank != 1) {
                ASSERT_EQ(send(comm, data, right, round, sends.get()), rondoSuccess);
            }
            std::int64_t sum = rank + 1;
            ASSERT_EQ(rondoAllReduce(&sum, &sum, 1, rondoInt64, rondoSum, comm, nullptr), rondoSuccess);
            ASSERT_EQ(sum, 6);
            if (rank == 1) {
                ASSERT_EQ(send(comm, data, right, round), rondoSuccess);
            }
            ASSERT_EQ(rondoStreamSynchronize(receives.get()), rondoSuccess) << rondoGetLastError(comm);
            ASSERT_EQ(rondoStreamSynchronize(sends.get()), rondoSuccess);
            ASSERT_EQ(got, values(static_cast<std::uint64_t>(left), bytes));
            ASSERT_EQ(message.source, left);
        }
    });
}

// A rank that nobody receives from stops at the window; a message with another tag comes past what it has sent.
TEST_P(Tagged, AFloodIsHeldBackAtTheReceiver) {
    const Ranks ranks(2, with_timeout(30));
    ranks.run([&](int rank, rondoComm_t comm) {
        constexpr int kFlood = 3000;
        constexpr std::size_t kBytes = 4000;
        if (rank == 0) {
            const OwnStream flood;
            const OwnStream stop;
            const std::vector<std::uint8_t> data = values(9, kBytes);
            for (int i = 0; i < kFlood; ++i) ASSERT_EQ(send(comm, data, 1, 1, flood.get()), rondoSuccess);
            std::uint8_t byte = 0;
            ASSERT_EQ(rondoRecvTagged(&byte, 1, rondoUint8, 1, 3, comm, nullptr, stop.get()), rondoSuccess);
            std::uint64_t marks = 0;
            for (; rondoStreamQuery(stop.get()) == rondoInProgress; ++marks) {
                ASSERT_EQ(send(comm, values(8, 50), 1, 2), rondoSuccess);
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            ASSERT_EQ(rondoSendTagged(&marks, 1, rondoUint64, 1, 4, comm, nullptr), rondoSuccess);
            ASSERT_EQ(rondoStreamSynchronize(flood.get()), rondoSuccess);
            ASSERT_EQ(rondoStreamSynchronize(stop.get()), rondoSuccess);
            return;
        }
        std::uint64_t seen = 0;
        for (; comm->comm.held_message_bytes() <= comm::Messages::kWindow - 3 * static_cast<std::int64_t>(kBytes);
             ++seen) {
            ASSERT_TRUE(receive(comm, 50, 0, 2).is(8, 50));
            ASSERT_LE(comm->comm.held_message_bytes(), comm::Messages::kWindow + 2 * comm::Messages::kOverhead);
        }
        ASSERT_EQ(send(comm, values(7, 1), 0, 3), rondoSuccess);
        std::uint64_t marks = 0;
        ASSERT_EQ(rondoRecvTagged(&marks, 1, rondoUint64, 0, 4, comm, nullptr, nullptr), rondoSuccess);
        EXPECT_LE(comm->comm.held_message_bytes(), comm::Messages::kWindow + 2 * comm::Messages::kOverhead);
        for (; seen < marks; ++seen) ASSERT_TRUE(receive(comm, 50, 0, 2).is(8, 50));
        for (int i = 0; i < kFlood; ++i) ASSERT_TRUE(receive(comm, kBytes, RONDO_ANY_SOURCE, 1).is(9, kBytes)) << i;
        EXPECT_EQ(comm->comm.held_message_bytes(), 0);
    });
}

TEST_P(Tagged, AMessageTooLongForItsReceiveStays) {
    const Ranks ranks(2, with_timeout(30));
    ranks.run([](int rank, rondoComm_t comm) {
        for (const std::size_t bytes : {std::size_t{40}, std::size_t{5000}, kLong}) {
            const std::string number = std::to_string(bytes);
            if (rank == 0) {
                ASSERT_EQ(send(comm, values(bytes, bytes), 1, 3), rondoSuccess);
                ASSERT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
                continue;
            }
            for (int i = 0; i < 2; ++i) {  // the first before it comes, perhaps; the second after
                Receipt got;
                const Outcome outcome = outcome_of([&] {
                    got = receive(comm, bytes - 1, RONDO_ANY_SOURCE, 3);
                    return got.result;
                });
                expect(outcome, rondoInvalidArgument, {number + ";", std::to_string(bytes - 1) + " bytes", "rank 0"});
                EXPECT_EQ(got.message.bytes, bytes);
                EXPECT_EQ(got.message.source, 0);
                for (const std::uint8_t value : got.data) ASSERT_EQ(value, 0xee);
            }
            const OwnStream stream;
            std::uint8_t small = 0;
            ASSERT_EQ(rondoRecvTagged(&small, 1, rondoUint8, 0, 3, comm, nullptr, stream.get()), rondoSuccess);
            EXPECT_EQ(rondoStreamSynchronize(stream.get()), rondoInvalidArgument);
            // In a group the rest runs all the same.
            std::vector<std::uint8_t> whole(bytes);
            ASSERT_EQ(rondoGroupStart(), rondoSuccess);
            ASSERT_EQ(rondoRecvTagged(&small, 1, rondoUint8, 0, 3, comm, nullptr, nullptr), rondoSuccess);
            ASSERT_EQ(rondoRecvTagged(whole.data(), bytes, rondoUint8, 0, 3, comm, nullptr, nullptr), rondoSuccess);
            ASSERT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
            expect(outcome_of([] { return rondoGroupEnd(); }), rondoInvalidArgument, {number + ";"});
            EXPECT_EQ(whole, values(bytes, bytes));
            rondoResult_t state = rondoInternalError;
            EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess);
            EXPECT_EQ(state, rondoSuccess);
        }
    });
}

TEST_P(Tagged, AMissingSenderIsNamedAtTheTimeout) {
    const Ranks ranks(3, with_timeout(0.4));
    std::uint8_t byte = 0;
    const Outcome outcome =
        outcome_of([&] { return rondoRecvTagged(&byte, 1, rondoUint8, 2, 77, ranks[0], nullptr, nullptr); });
    expect(outcome, rondoTimeout, {"tagged receive", "from rank 2 (tag 77)", "waiting for rank(s) 2", "limit 400 ms"});
    EXPECT_LT(outcome.seconds, 5);
    rondoErrorInfo_t info{};
    info.size = sizeof(info);
    ASSERT_EQ(rondoCommGetErrorInfo(ranks[0], &info), rondoSuccess);
    EXPECT_STREQ(info.operation, "recv_tagged");
    EXPECT_EQ(info.peer, 2);
}

TEST_P(Tagged, AMissingReceiverIsNamedAtTheTimeout) {
    const Ranks ranks(2, with_timeout(0.4));
    ranks.run([](int rank, rondoComm_t comm) {  // both send first, without streams
        const std::vector<std::uint8_t> data = values(1, kLong);
        expect(outcome_of([&] { return send(comm, data, 1 - rank, 3); }), rondoTimeout,
               {"tagged send of 3000001 bytes", "tag 3", "no receive has matched it"});
    });
}

TEST_P(Tagged, SendersThatLeaveAreNoticed) {
    for (const int source : {1, RONDO_ANY_SOURCE}) {
        Ranks ranks(3, with_timeout(20));
        std::thread leaver([&] {
            // What they sent before they left still comes.
            EXPECT_EQ(send(ranks[1], values(1, 10), 0, 1), rondoSuccess);
            EXPECT_EQ(ranks.destroy(1), rondoSuccess);
            if (source < 0) {
                EXPECT_EQ(ranks.destroy(2), rondoSuccess);
            }
        });
        ASSERT_TRUE(receive(ranks[0], 10, source, 1).is(1, 10));
        leaver.join();
        const Outcome outcome = outcome_of([&] { return receive(ranks[0], 10, source, 1).result; });
        expect(outcome, rondoRemoteError, {"destroyed its communicator", "tagged receive"});
        EXPECT_LT(outcome.seconds, 5);
    }
}

TEST_P(Tagged, AnAbortEndsEveryWait) {
    const Ranks ranks(2, with_timeout(30));
    const OwnStream stream;
    std::uint8_t byte = 0;
    std::uint8_t other = 0;
    ASSERT_EQ(rondoRecvTagged(&byte, 1, rondoUint8, 1, 1, ranks[0], nullptr, stream.get()), rondoSuccess);
    std::thread aborter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_EQ(rondoCommAbort(ranks[1]), rondoSuccess);
    });
    const Outcome outcome =
        outcome_of([&] { return rondoRecvTagged(&other, 1, rondoUint8, 1, 2, ranks[0], nullptr, nullptr); });
    expect(outcome, rondoRemoteError, {"rank 1 aborted"});
    EXPECT_LT(outcome.seconds, 5);
    EXPECT_EQ(rondoStreamSynchronize(stream.get()), rondoRemoteError);
    aborter.join();
    EXPECT_EQ(send(ranks[1], values(1, 1), 0, 1), rondoAborted);
    EXPECT_EQ(send(ranks[0], values(1, 1), 1, 1, stream.get()), rondoRemoteError) << "later calls fail at once";
}

TEST(TaggedArguments, AreChecked) {
    const Ranks ranks(2, with_timeout(30));
    std::uint8_t data[4] = {};
    const auto sends = [&](void* buffer, std::size_t count, int peer, int tag) {
        return outcome_of([&] { return rondoSendTagged(buffer, count, rondoUint8, peer, tag, ranks[0], nullptr); });
    };
    const auto receives = [&](int source, int tag, rondoDataType_t type) {
        return outcome_of([&] { return rondoRecvTagged(data, 4, type, source, tag, ranks[0], nullptr, nullptr); });
    };
    expect(sends(data, 4, 2, 0), rondoInvalidArgument, {"rondoSendTagged", "peer 2", "0 to 1"});
    expect(sends(data, 4, RONDO_ANY_SOURCE, 0), rondoInvalidArgument, {"peer -1"});
    expect(sends(data, 4, 1, RONDO_ANY_TAG), rondoInvalidArgument, {"tag -1"});
    expect(sends(nullptr, 4, 1, 0), rondoInvalidArgument, {"null", "count 4"});
    expect(sends(data, std::numeric_limits<std::size_t>::max(), 1, 0), rondoInvalidArgument, {"2^63"});
    expect(receives(-2, 0, rondoUint8), rondoInvalidArgument, {"rondoRecvTagged", "source -2", "RONDO_ANY_SOURCE"});
    expect(receives(1, -2, rondoUint8), rondoInvalidArgument, {"tag -2", "RONDO_ANY_TAG"});
    expect(receives(1, 0, raw<rondoDataType_t>(10)), rondoInvalidArgument, {"datatype 10"});
}

}  // namespace rondo::api::test
