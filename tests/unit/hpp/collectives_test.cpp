// The typed and untyped collectives of the C++ interface, ranks in threads.

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <rondo/rondo.hpp>
#include <span>
#include <vector>

#include "ranks.hpp"

namespace {

using rondo::Communicator;
using rondo_test::on_ranks;

constexpr int kRanks = 4;
constexpr std::size_t kCount = 37;

/// A value for each rank and element, no two alike below 100 elements a rank.
template <class T>
T value(int rank, std::size_t i) {
    return static_cast<T>(100 * rank + static_cast<int>(i));
}

template <class T>
std::vector<T> values(int rank, std::size_t count) {
    std::vector<T> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = value<T>(rank, i);
    return made;
}

template <class T>
class Typed : public testing::Test {};
// Types that hold the sum 600 + 4 i exactly; bytes are below.
using Numbers = testing::Types<std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
                               float, double, long long>;
TYPED_TEST_SUITE(Typed, Numbers);

TYPED_TEST(Typed, AllReduceOutOfPlaceAndInPlace) {
    on_ranks(kRanks, [](Communicator& comm) {
        const std::vector<TypeParam> input = values<TypeParam>(comm.rank(), kCount);
        std::vector<TypeParam> output(kCount);
        comm.all_reduce(input, output);
        std::vector<TypeParam> both = input;
        comm.all_reduce(both, rondoMax);
        for (std::size_t i = 0; i < kCount; ++i) {
            EXPECT_EQ(output[i], static_cast<TypeParam>(600 + 4 * static_cast<int>(i)));
            EXPECT_EQ(both[i], value<TypeParam>(kRanks - 1, i));
        }
    });
}

TEST(Collectives, BytesAreUnsignedAndChars) {
    on_ranks(kRanks, [](Communicator& comm) {
        std::vector<std::int8_t> small(kCount, static_cast<std::int8_t>(-3 - comm.rank()));
        comm.all_reduce(small, rondoMin);
        EXPECT_EQ(small, std::vector<std::int8_t>(kCount, -6));
        std::vector<std::uint8_t> large(kCount, static_cast<std::uint8_t>(250 + comm.rank()));
        comm.all_reduce(large, rondoMax);
        EXPECT_EQ(large, std::vector<std::uint8_t>(kCount, 253));
    });
}

TEST(Collectives, HalfAndBfloat16AreAddedAsSuch) {
    on_ranks(kRanks, [](Communicator& comm) {
        // 1.5 in each format, times four ranks: 6.
        std::vector<rondo::Half> half(kCount, rondo::Half{0x3e00});
        comm.all_reduce(half);
        EXPECT_EQ(half, std::vector<rondo::Half>(kCount, rondo::Half{0x4600}));
        std::vector<rondo::Bfloat16> brain(kCount, rondo::Bfloat16{0x3fc0});
        comm.all_reduce(brain);
        EXPECT_EQ(brain, std::vector<rondo::Bfloat16>(kCount, rondo::Bfloat16{0x40c0}));
    });
}

TEST(Collectives, ReduceReachesTheRootAlone) {
    on_ranks(kRanks, [](Communicator& comm) {
        const std::vector<int> input = values<int>(comm.rank(), kCount);
        std::vector<int> output(comm.rank() == 2 ? kCount : 0);
        comm.reduce(input, output, 2);
        for (std::size_t i = 0; i < output.size(); ++i) EXPECT_EQ(output[i], 600 + 4 * static_cast<int>(i));
    });
}

TEST(Collectives, BroadcastInBothForms) {
    on_ranks(kRanks, [](Communicator& comm) {
        const std::vector<int> input = values<int>(comm.rank(), comm.rank() == 1 ? kCount : 0);
        std::vector<int> output(kCount, -1);
        comm.broadcast(input, output, 1);
        EXPECT_EQ(output, values<int>(1, kCount));
        std::vector<int> both = values<int>(comm.rank(), kCount);
        comm.broadcast(both, 3);
        EXPECT_EQ(both, values<int>(3, kCount));
    });
}

TEST(Collectives, AllGatherAndItsOwnBlock) {
    on_ranks(kRanks, [](Communicator& comm) {
        const std::vector<int> input = values<int>(comm.rank(), kCount);
        std::vector<int> output(kRanks * kCount, -1);
        comm.all_gather(input, output);
        std::vector<int> both(kRanks * kCount, -1);
        const std::span<int> own = std::span(both).subspan(static_cast<std::size_t>(comm.rank()) * kCount, kCount);
        for (std::size_t i = 0; i < kCount; ++i) own[i] = input[i];
        comm.all_gather(own, both);
        for (int rank = 0; rank < kRanks; ++rank) {
            for (std::size_t i = 0; i < kCount; ++i) {
                EXPECT_EQ(output[static_cast<std::size_t>(rank) * kCount + i], value<int>(rank, i));
            }
        }
        EXPECT_EQ(both, output);
    });
}

TEST(Collectives, ReduceScatterGivesEachRankItsBlock) {
    on_ranks(kRanks, [](Communicator& comm) {
        std::vector<long> input(kRanks * kCount);
        for (std::size_t i = 0; i < input.size(); ++i) input[i] = 1000 * comm.rank() + static_cast<long>(i);
        std::vector<long> output(kCount);
        comm.reduce_scatter(input, output);
        for (std::size_t i = 0; i < kCount; ++i) {
            const auto at = static_cast<long>(static_cast<std::size_t>(comm.rank()) * kCount + i);
            EXPECT_EQ(output[i], 6000 + 4 * at);
        }
    });
}

TEST(Collectives, AllToAllTransposes) {
    on_ranks(kRanks, [](Communicator& comm) {
        std::vector<int> input(kRanks * kCount);
        for (std::size_t i = 0; i < input.size(); ++i) input[i] = 1000 * comm.rank() + static_cast<int>(i);
        std::vector<int> output(input.size());
        comm.all_to_all(input, output);
        for (int from = 0; from < kRanks; ++from) {
            for (std::size_t i = 0; i < kCount; ++i) {
                const auto at = static_cast<int>(static_cast<std::size_t>(comm.rank()) * kCount + i);
                EXPECT_EQ(output[static_cast<std::size_t>(from) * kCount + i], 1000 * from + at);
            }
        }
    });
}

TEST(Collectives, GroupedExchangeWithBothNeighbours) {
    on_ranks(kRanks, [](Communicator& comm) {
        const int next = (comm.rank() + 1) % kRanks;
        const int prev = (comm.rank() + kRanks - 1) % kRanks;
        const std::vector<int> mine = values<int>(comm.rank(), kCount);
        std::vector<int> from_next(kCount);
        std::vector<int> from_prev(kCount);
        rondo::group([&] {
            comm.send(mine, next);
            comm.send(mine, prev);
            comm.recv(from_next, next);
            comm.recv(from_prev, prev);
        });
        EXPECT_EQ(from_next, values<int>(next, kCount));
        EXPECT_EQ(from_prev, values<int>(prev, kCount));
    });
}

TEST(Collectives, UntypedFormsAreTheCFunctions) {
    on_ranks(kRanks, [](Communicator& comm) {
        const std::vector<float> input = values<float>(comm.rank(), kCount);
        std::vector<float> output(kCount);
        comm.all_reduce(input.data(), output.data(), kCount, rondoFloat32, rondoAvg);
        for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(output[i], 150.0F + static_cast<float>(i));
        std::vector<float> all(kRanks * kCount);
        comm.all_gather(input.data(), all.data(), kCount, rondoFloat32);
        EXPECT_EQ(all[3 * kCount + 5], value<float>(3, 5));
        std::vector<float> block(kCount);
        comm.reduce_scatter(all.data(), block.data(), kCount, rondoFloat32, rondoSum);
        EXPECT_EQ(block[7], 4 * value<float>(comm.rank(), 7));
        std::vector<float> turned(kRanks * kCount);
        comm.all_to_all(all.data(), turned.data(), kCount, rondoFloat32);
        EXPECT_EQ(turned[2 * kCount + 1], value<float>(comm.rank(), 1));
        comm.reduce(input.data(), output.data(), kCount, rondoFloat32, rondoMax, 0);
        if (comm.rank() == 0) {
            EXPECT_EQ(output[9], value<float>(kRanks - 1, 9));
        }
        output = input;
        comm.broadcast(output.data(), output.data(), kCount, rondoFloat32, 2);
        EXPECT_EQ(output, values<float>(2, kCount));
        comm.barrier();
    });
}

TEST(Collectives, CountZeroIsLegal) {
    on_ranks(kRanks, [](Communicator& comm) {
        comm.all_reduce(std::span<float>{});
        std::vector<float> empty;
        comm.all_gather(empty, std::span<float>{});
        float one = static_cast<float>(comm.rank());
        comm.all_reduce(std::span(&one, 1));
        EXPECT_EQ(one, 6.0F);
    });
}

TEST(Collectives, TrafficIsWhatThePlanSays) {
    on_ranks(kRanks, [](Communicator& comm) {
        std::vector<float> data(kCount, 1.0F);
        comm.all_reduce(data);
        const rondo::Traffic planned = comm.planned_traffic();
        const rondo::Traffic moved = comm.traffic();
        EXPECT_EQ(moved.sent_bytes, planned.sent_bytes);
        EXPECT_EQ(moved.sent_messages, planned.sent_messages);
        EXPECT_EQ(moved.direct_bytes, planned.direct_bytes);
        const auto sum = std::accumulate(moved.sent_bytes.begin(), moved.sent_bytes.end(), std::uint64_t{0}) +
                         std::accumulate(moved.direct_bytes.begin(), moved.direct_bytes.end(), std::uint64_t{0});
        EXPECT_GE(sum, kCount * sizeof(float));
        EXPECT_TRUE(rondo_test::contains(comm.last_plan(), "all_reduce/")) << comm.last_plan();
        EXPECT_TRUE(rondo_test::contains(comm.last_plan(), "/n4/")) << comm.last_plan();
    });
}

}  // namespace
