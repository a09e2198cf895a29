// Sends and receives, alone and in groups: any pattern completes, every byte arrives.

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <random>

#include "collective_case.hpp"
#include "comm_ranks.hpp"

namespace rondo::api::test {

namespace {

/// Byte `i` of message `tag` from `from` to `to`.
std::uint8_t byte_of(int from, int to, int tag, std::size_t i) {
    return static_cast<std::uint8_t>(hash(static_cast<std::uint64_t>(from) << 40U |
                                          static_cast<std::uint64_t>(to) << 32U | static_cast<std::uint64_t>(tag)) +
                                     i * 7 + i / 251);
}

std::vector<std::uint8_t> message(int from, int to, int tag, std::size_t bytes) {
    std::vector<std::uint8_t> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = byte_of(from, to, tag, i);
    return made;
}

/// One rank's group: buffers live until it has ended.
class Exchange {
public:
    Exchange(int rank, rondoComm_t comm) : rank_(rank), comm_(comm) {}

    void send(int to, int tag, std::size_t bytes) {
        buffers_.push_back(std::make_unique<std::vector<std::uint8_t>>(message(rank_, to, tag, bytes)));
        EXPECT_EQ(rondoSend(buffers_.back()->data(), bytes, rondoUint8, to, comm_, nullptr), rondoSuccess)
            << rondoGetLastError(nullptr);
    }

    void receive(int from, int tag, std::size_t bytes) {
        buffers_.push_back(std::make_unique<std::vector<std::uint8_t>>(bytes + 2, std::uint8_t{0xee}));
        expected_.emplace_back(buffers_.back().get(), message(from, rank_, tag, bytes));
        EXPECT_EQ(rondoRecv(buffers_.back()->data() + 1, bytes, rondoUint8, from, comm_, nullptr), rondoSuccess)
            << rondoGetLastError(nullptr);
    }

    /// True if everything has arrived, and nothing beside it.
    [[nodiscard]] bool right() const {
        for (const auto& [buffer, bytes] : expected_) {
            if (buffer->front() != 0xee || buffer->back() != 0xee) return false;
            if (!bytes.empty() && std::memcmp(buffer->data() + 1, bytes.data(), bytes.size()) != 0) return false;
        }
        return true;
    }

private:
    int rank_;
    rondoComm_t comm_;
    std::vector<std::unique_ptr<std::vector<std::uint8_t>>> buffers_;
    std::vector<std::pair<const std::vector<std::uint8_t>*, std::vector<std::uint8_t>>> expected_;
};

/// Runs fill(rank, exchange) as one group on every rank.
template <class Fill>
void run_group(const Ranks& ranks, Fill fill) {
    ranks.run([&](int rank, rondoComm_t comm) {
        Exchange exchange(rank, comm);
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        fill(rank, exchange);
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
        EXPECT_TRUE(exchange.right()) << "rank " << rank;
    });
}

constexpr std::size_t kSizes[] = {0, 1, 100, 112, 113, 5000, 300'000, 2'000'000};

}  // namespace

TEST(Group, RingOfFive) {
    const Ranks ranks(5);
    for (const std::size_t bytes : kSizes) {
        run_group(ranks, [&](int rank, Exchange& exchange) {
            exchange.send((rank + 1) % 5, 1, bytes);
            exchange.receive((rank + 4) % 5, 1, bytes);
        });
    }
}

TEST(Group, AllPairsInAnyOrder) {
    for (const int n : {2, 3, 6}) {
        const Ranks ranks(n);
        for (const std::size_t bytes : kSizes) {
            run_group(ranks, [&](int rank, Exchange& exchange) {
                std::mt19937 random(static_cast<unsigned>(rank) + static_cast<unsigned>(bytes));
                std::vector<int> order(static_cast<std::size_t>(2 * n));  // sends, receives; itself too
                for (int i = 0; i < 2 * n; ++i) order[static_cast<std::size_t>(i)] = i;
                std::shuffle(order.begin(), order.end(), random);
                for (const int i : order) {
                    if (i < n) exchange.send(i, 3, bytes);
                    if (i >= n) exchange.receive(i - n, 3, bytes);
                }
            });
        }
    }
}

// More messages to one peer than there are slots, all sends before all receives.
TEST(Group, ManyMessagesToTheSamePeer) {
    for (const int slots : {1, 4}) {
        rondoConfig_t how = config();
        how.slots = slots;
        const Ranks ranks(2, how);
        run_group(ranks, [&](int rank, Exchange& exchange) {
            const std::size_t sizes[] = {10, 200'000, 0, 113, 700'000};
            for (int i = 0; i < 40; ++i) exchange.send(1 - rank, i, sizes[i % 5] + static_cast<std::size_t>(i % 3));
            for (int i = 0; i < 40; ++i) exchange.receive(1 - rank, i, sizes[i % 5] + static_cast<std::size_t>(i % 3));
        });
    }
}

TEST(Group, WithItself) {
    const Ranks ranks(2);
    run_group(ranks, [](int rank, Exchange& exchange) {
        for (int i = 0; i < 12; ++i) exchange.receive(rank, i, kSizes[static_cast<std::size_t>(i) % 8]);
        for (int i = 0; i < 12; ++i) exchange.send(rank, i, kSizes[static_cast<std::size_t>(i) % 8]);
        exchange.send(1 - rank, 5, 3);
        exchange.receive(1 - rank, 5, 3);
    });
}

// What one side does in one group the other may do in several, or without any.
TEST(Group, NeedNotBeEqualOnBothSides) {
    const Ranks ranks(2);
    for (const std::size_t bytes : {std::size_t{1024}, std::size_t{65536}, std::size_t{3'000'000}}) {
        ranks.run([&](int rank, rondoComm_t comm) {
            Exchange exchange(rank, comm);
            if (rank == 0) {
                ASSERT_EQ(rondoGroupStart(), rondoSuccess);
                for (int i = 0; i < 3; ++i) exchange.send(1, i, bytes);
                exchange.receive(1, 9, bytes);
                ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
            } else {
                exchange.receive(0, 0, bytes);
                ASSERT_EQ(rondoGroupStart(), rondoSuccess);
                exchange.receive(0, 1, bytes);
                exchange.receive(0, 2, bytes);
                ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
                exchange.send(0, 9, bytes);
            }
            EXPECT_TRUE(exchange.right()) << "rank " << rank;
        });
    }
}

// The transfers of a group wait for their own peers only: rank 1 takes its message from rank 0 only after rank 2 has
// taken all of its own.
TEST(Group, APeerThatComesLateHoldsUpNoOther) {
    constexpr std::size_t kBig = 3'000'000;
    const Ranks ranks(3, with_timeout(10));
    ranks.run([&](int rank, rondoComm_t comm) {
        Exchange exchange(rank, comm);
        if (rank == 0) {
            ASSERT_EQ(rondoGroupStart(), rondoSuccess);
            exchange.send(1, 1, kBig);
            exchange.send(2, 2, kBig);
            exchange.receive(1, 4, kBig);
            exchange.receive(2, 5, kBig);
            ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
        } else if (rank == 2) {
            exchange.receive(0, 2, kBig);
            exchange.send(1, 3, 8);
            exchange.send(0, 5, kBig);
        } else {
            exchange.receive(2, 3, 8);
            exchange.receive(0, 1, kBig);
            exchange.send(0, 4, kBig);
        }
        EXPECT_TRUE(exchange.right()) << "rank " << rank;
    });
}

TEST(Group, NestsAndMixesTransfersWithCollectives) {
    const Ranks ranks(3);
    ranks.run([](int rank, rondoComm_t comm) {
        Exchange exchange(rank, comm);
        std::vector<int> a(5000, rank + 1);
        std::vector<int> b(5000);
        std::vector<int> c(5000);
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        ASSERT_EQ(rondoAllReduce(a.data(), b.data(), 5000, rondoInt32, rondoSum, comm, nullptr), rondoSuccess);
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        exchange.send((rank + 1) % 3, 1, 100'000);
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
        exchange.receive((rank + 2) % 3, 1, 100'000);
        // The second collective reads what the first one wrote: they run in order.
        ASSERT_EQ(rondoAllReduce(b.data(), c.data(), 5000, rondoInt32, rondoMax, comm, nullptr), rondoSuccess);
        ASSERT_EQ(b[0], 0) << "nothing runs before the outermost end";
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
        EXPECT_TRUE(exchange.right());
        for (const int value : c) ASSERT_EQ(value, 6);
    });
}

TEST(Group, EmptyOnesAreNothing) {
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
    expect(outcome_of([] { return rondoGroupEnd(); }), rondoInvalidUsage, {"rondoGroupEnd", "rondoGroupStart"});
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
}

TEST(Group, AnErrorInsideIsReportedAtTheEndAndNothingRuns) {
    const Ranks ranks(2);
    ranks.run([](int rank, rondoComm_t comm) {
        int data = rank + 1;
        int sum = -1;
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        EXPECT_EQ(rondoAllReduce(&data, &sum, 1, rondoInt32, rondoSum, comm, nullptr), rondoSuccess);
        EXPECT_EQ(rondoBroadcast(&data, &data, 1, rondoInt32, 17, comm, nullptr), rondoInvalidArgument);
        EXPECT_EQ(rondoSend(nullptr, 5, rondoInt32, 0, comm, nullptr), rondoInvalidArgument);
        EXPECT_EQ(rondoGroupStart(), rondoSuccess);
        EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << "an inner end reports nothing";
        expect(outcome_of([] { return rondoGroupEnd(); }), rondoInvalidArgument, {"rondoBroadcast", "root 17"});
        EXPECT_EQ(sum, -1);
        // The next group starts clean, and the communicator is whole.
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        EXPECT_EQ(rondoAllReduce(&data, &sum, 1, rondoInt32, rondoSum, comm, nullptr), rondoSuccess);
        EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
        EXPECT_EQ(sum, 3);
    });
}

// Ungrouped: a send of at most one FIFO returns before its receiver comes.
TEST(Send, OfOneFifoNeedsNoReceiverYet) {
    const Ranks ranks(2);
    ranks.run([](int rank, rondoComm_t comm) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{1024}, std::size_t{65536}, std::size_t{524288}}) {
            Exchange exchange(rank, comm);
            exchange.send(1 - rank, 2, bytes);  // both send first
            exchange.receive(1 - rank, 2, bytes);
            ASSERT_TRUE(exchange.right()) << bytes;
        }
    });
}

TEST(Send, LongerThanAFifoWaitsForItsReceiver) {
    const Ranks ranks(2, with_timeout(0.4));
    std::vector<std::uint8_t> data(4'000'000);
    expect(outcome_of([&] { return rondoSend(data.data(), data.size(), rondoUint8, 1, ranks[0], nullptr); }),
           rondoTimeout, {"send/recv", "waiting for rank(s) 1"});
}

TEST(Send, ManyInOrderBetweenCollectives) {
    const Ranks ranks(2);
    ranks.run([](int rank, rondoComm_t comm) {
        for (int i = 0; i < 600; ++i) {
            Exchange exchange(rank, comm);
            const std::size_t bytes = hash(static_cast<std::uint64_t>(i)) % 3000;
            if (rank == i % 2) {
                exchange.send(1 - rank, i, bytes);
            } else {
                exchange.receive(1 - rank, i, bytes);
            }
            ASSERT_TRUE(exchange.right());
            if (i % 7 == 0) {
                ASSERT_EQ(run_case({.count = static_cast<std::size_t>(i)}, rank, 2, comm), "");
            }
        }
    });
}

// Uneven and empty rows and columns; what each pair exchanges is drawn anew each round, and more patterns appear than
// the library remembers plans for.
TEST(Group, RandomSparseMatricesWithCollectivesBetween) {
    constexpr int kRanks = 5;
    constexpr int kRounds = 1100;
    std::cout << "seed " << seed() << " (RONDO_TESTS_SEED)\n";
    const Ranks ranks(kRanks);
    ranks.run([&](int rank, rondoComm_t comm) {
        std::mt19937 random(seed());  // the same on every rank: the matrix is known to all
        for (int round = 0; round < kRounds; ++round) {
            std::size_t matrix[kRanks][kRanks];
            for (auto& row : matrix) {
                for (std::size_t& bytes : row) {
                    const auto kind = random() % 5;
                    bytes = kind < 2 ? 0 : kind == 2 ? random() % 40 : kind == 3 ? random() % 3000 : random() % 40'000;
                }
            }
            if (round % 50 == 0) std::memset(matrix, 0, sizeof(matrix));
            const bool skip_empty = random() % 2 == 0;  // pairs without bytes: no call at all, or calls of 0 bytes
            Exchange exchange(rank, comm);
            ASSERT_EQ(rondoGroupStart(), rondoSuccess);
            for (int peer = 0; peer < kRanks; ++peer) {
                if (matrix[rank][peer] > 0 || !skip_empty) exchange.send(peer, round, matrix[rank][peer]);
                if (matrix[peer][rank] > 0 || !skip_empty) exchange.receive(peer, round, matrix[peer][rank]);
            }
            ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
            ASSERT_TRUE(exchange.right()) << "round " << round;
            if (round % 10 == 0) {
                ASSERT_EQ(run_case({.count = static_cast<std::size_t>(round)}, rank, kRanks, comm), "");
            }
        }
    });
}

TEST(Group, UnevenMatricesByHand) {
    const Ranks four(4);
    const std::size_t matrix[4][4] = {{0, 3, 0, 1}, {0, 0, 0, 0}, {2, 0, 5, 0}, {0, 0, 7, 0}};
    run_group(four, [&](int rank, Exchange& exchange) {
        for (int peer = 0; peer < 4; ++peer) {
            exchange.send(peer, 1, matrix[rank][peer]);
            exchange.receive(peer, 1, matrix[peer][rank]);
        }
    });
    const Ranks two(2);
    run_group(two, [](int rank, Exchange& exchange) {
        exchange.send(0, 1, rank == 0 ? 1 : 0);
        exchange.send(1, 1, rank == 0 ? 1 : 0);
        exchange.receive(0, 1, 1);
        exchange.receive(1, 1, 0);
    });
}

}  // namespace rondo::api::test
