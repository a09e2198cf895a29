// The time that tagged messages on streams may wait beside whatever else their communicator does.

#include <gtest/gtest.h>

#include <optional>

#include "message_ranks.hpp"

namespace rondo::api::test {

namespace {

constexpr double kTimeout = 0.6;
constexpr double kLate = kTimeout + 1.5;  // a tick, the text, and a busy machine

class TaggedTimeout : public ::testing::TestWithParam<const char*> {
protected:
    const TransportSetting transport_{GetParam()};
};

/// Waits for a message of rank 1 that never comes.
class Lost {
public:
    explicit Lost(rondoComm_t comm) {
        EXPECT_EQ(rondoRecvTagged(&byte_, 1, rondoUint8, 1, 77, comm, nullptr, stream_.get()), rondoSuccess);
    }

    [[nodiscard]] bool waits() const { return rondoStreamQuery(stream_.get()) == rondoInProgress; }

    /// After whatever went on beside it has come to its end.
    void expect_timeout(rondoComm_t comm) {
        EXPECT_EQ(rondoStreamSynchronize(stream_.get()), rondoTimeout);
        const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        EXPECT_GE(waited, kTimeout);
        EXPECT_LT(waited, kLate);
        const std::string text = rondoGetLastError(comm);
        for (const char* part :
             {"tagged receive of up to 1 bytes from rank 1 (tag 77)", "waiting for rank(s) 1", "limit 600 ms"}) {
            EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
        }
        rondoErrorInfo_t info{};
        info.size = sizeof(info);
        ASSERT_EQ(rondoCommGetErrorInfo(comm, &info), rondoSuccess);
        EXPECT_STREQ(info.operation, "recv_tagged");
        EXPECT_EQ(info.rank, 0);
        EXPECT_EQ(info.peer, 1);
    }

private:
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::uint8_t byte_ = 0;
    OwnStream stream_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Over, TaggedTimeout, ::testing::Values("memory", "tcp"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(TaggedTimeout, ComesWhileOperationsTakeTheSeatAgainAndAgain) {
    const Ranks ranks(2, with_timeout(kTimeout));
    ranks.run([](int rank, rondoComm_t comm) {
        std::optional<Lost> lost;
        if (rank == 0) lost.emplace(comm);
        std::uint64_t done = 0;
        float value = 1;
        while (rondoAllReduce(&value, &value, 1, rondoFloat32, rondoMax, comm, nullptr) == rondoSuccess) ++done;
        EXPECT_GT(done, 100U);
        if (lost) lost->expect_timeout(comm);
    });
}

TEST_P(TaggedTimeout, ComesWhileOneOperationKeepsTheSeat) {
    const Ranks ranks(2, with_timeout(kTimeout));
    Lost lost(ranks[0]);
    ASSERT_EQ(rondoCommSetTimeout(ranks[0], 30, 0), rondoSuccess);
    float value = 1;  // rank 1 never comes
    const Outcome outcome =
        outcome_of([&] { return rondoAllReduce(&value, &value, 1, rondoFloat32, rondoSum, ranks[0], nullptr); });
    expect(outcome, rondoTimeout, {"tag 77"});
    EXPECT_LT(outcome.seconds, kLate);
    lost.expect_timeout(ranks[0]);
}

TEST_P(TaggedTimeout, ComesWhileOtherMessagesMove) {
    const Ranks ranks(2, with_timeout(kTimeout));
    ranks.run([](int rank, rondoComm_t comm) {
        const OwnStream busy;
        std::optional<Lost> lost;
        if (rank == 0) lost.emplace(comm);
        const std::vector<std::uint8_t> data = values(1, 200'000);
        std::vector<std::uint8_t> got(data.size());
        std::uint64_t done = 0;
        for (rondoResult_t result = rondoSuccess; result == rondoSuccess; ++done) {
            result = rank == 0 ? send(comm, data, 1, 5, busy.get())
                               : rondoRecvTagged(got.data(), got.size(), rondoUint8, 0, 5, comm, nullptr, busy.get());
            const rondoResult_t ended = rondoStreamSynchronize(busy.get());
            if (result == rondoSuccess) result = ended;
        }
        EXPECT_GT(done, 20U);
        if (lost) lost->expect_timeout(comm);
    });
}

/// The same for a message that is waited for without a stream, while those on streams move.
TEST_P(TaggedTimeout, ComesWithoutAStreamWhileMessagesOnStreamsMove) {
    const Ranks ranks(2, with_timeout(kTimeout));
    ranks.run([](int rank, rondoComm_t comm) {
        const std::vector<std::uint8_t> data = values(1, 200'000);
        std::vector<std::uint8_t> got(data.size());
        const OwnStream busy;
        for (int i = 0; i < 20'000; ++i) {  // more than can go in the time
            ASSERT_EQ(rank == 1 ? send(comm, data, 0, 5, busy.get())
                                : rondoRecvTagged(got.data(), got.size(), rondoUint8, 1, 5, comm, nullptr, busy.get()),
                      rondoSuccess);
        }
        if (rank == 0) {
            const Outcome outcome = outcome_of([&] { return receive(comm, 1, 1, 78).result; });
            expect(outcome, rondoTimeout, {"tagged receive of up to 1 bytes from rank 1 (tag 78)"});
            EXPECT_GE(outcome.seconds, kTimeout);
            EXPECT_LT(outcome.seconds, kLate);
        }
        EXPECT_EQ(rondoStreamSynchronize(busy.get()), rondoTimeout);
    });
}

/// And for an operation that misses a rank.
TEST_P(TaggedTimeout, OfAnOperationComesWhileMessagesMove) {
    const Ranks ranks(2, with_timeout(kTimeout));
    ranks.run([](int rank, rondoComm_t comm) {
        const std::vector<std::uint8_t> data = values(1, 200'000);
        std::vector<std::uint8_t> got(data.size());
        const OwnStream busy;
        for (int i = 0; i < 20'000; ++i) {
            ASSERT_EQ(rank == 1 ? send(comm, data, 0, 5, busy.get())
                                : rondoRecvTagged(got.data(), got.size(), rondoUint8, 1, 5, comm, nullptr, busy.get()),
                      rondoSuccess);
        }
        if (rank == 0) {
            float value = 1;
            const Outcome outcome =
                outcome_of([&] { return rondoAllReduce(&value, &value, 1, rondoFloat32, rondoSum, comm, nullptr); });
            expect(outcome, rondoTimeout, {"all_reduce", "missing: 1"});
            EXPECT_GE(outcome.seconds, kTimeout);
            EXPECT_LT(outcome.seconds, kLate);
        }
        EXPECT_EQ(rondoStreamSynchronize(busy.get()), rondoTimeout);
    });
}

/// Messages that come on are no reason to give up, however long they take.
TEST_P(TaggedTimeout, CountsFromTheLastProgress) {
    const Ranks ranks(2, with_timeout(kTimeout));
    ranks.run([](int rank, rondoComm_t comm) {
        const OwnStream stream;
        constexpr int kParts = 5;
        std::vector<std::uint8_t> got(kParts);
        if (rank == 0) {
            ASSERT_EQ(rondoGroupStart(), rondoSuccess);
            for (int tag = 0; tag < kParts; ++tag) {
                ASSERT_EQ(rondoRecvTagged(&got[static_cast<std::size_t>(tag)], 1, rondoUint8, 1, tag, comm, nullptr,
                                          stream.get()),
                          rondoSuccess);
            }
            ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
            EXPECT_EQ(rondoStreamSynchronize(stream.get()), rondoSuccess);
            for (int tag = 0; tag < kParts; ++tag) {
                EXPECT_EQ(got[static_cast<std::size_t>(tag)], byte_of(static_cast<std::uint64_t>(tag), 0));
            }
            return;
        }
        for (int tag = 0; tag < kParts; ++tag) {
            std::this_thread::sleep_for(std::chrono::duration<double>(kTimeout / 2));
            ASSERT_EQ(send(comm, values(static_cast<std::uint64_t>(tag), 1), 0, tag), rondoSuccess);
        }
    });
}

}  // namespace rondo::api::test
