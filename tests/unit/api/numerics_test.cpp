// What numbers come out: averages, wrapping, NaN and infinities, the same bits everywhere and every time.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "comm_ranks.hpp"
#include "element.hpp"

namespace rondo::api::test {

namespace {

constexpr const char* kAllReduceAlgorithms[] = {"ring",     "tree",  "halving_doubling", "pat", "one_shot",
                                                "two_shot", "direct"};

rondoConfig_t forced(const std::string& algo) {
    rondoConfig_t how = config();
    how.algo = algo.c_str();
    return how;
}

/// All-reduces one vector of each rank; returns the results of all ranks.
template <class T>
std::vector<std::vector<T>> all_reduce(const Ranks& ranks, rondoDataType_t type, rondoRedOp_t op,
                                       const std::vector<std::vector<T>>& inputs) {
    std::vector<std::vector<T>> outputs(inputs.size(), std::vector<T>(inputs[0].size()));
    ranks.run([&](int rank, rondoComm_t comm) {
        const auto r = static_cast<std::size_t>(rank);
        EXPECT_EQ(rondoAllReduce(inputs[r].data(), outputs[r].data(), inputs[r].size(), type, op, comm, nullptr),
                  rondoSuccess)
            << rondoGetLastError(comm);
    });
    return outputs;
}

/// The value of rank r alone in a vector, for all ranks.
template <class T>
std::vector<std::vector<T>> one_each(std::initializer_list<T> values, std::size_t count = 1) {
    std::vector<std::vector<T>> inputs;
    for (const T value : values) inputs.emplace_back(count, value);
    return inputs;
}

template <class T>
void expect_all(const std::vector<std::vector<T>>& outputs, T value, const std::string& what) {
    for (const auto& output : outputs) {
        for (const T element : output) ASSERT_EQ(element, value) << what;
    }
}

class EachAlgorithm : public testing::TestWithParam<const char*> {};

}  // namespace

TEST_P(EachAlgorithm, AverageDividesByTheNumberOfRanks) {
    const Ranks ranks(3, forced(GetParam()));
    for (const std::size_t count : {1, 2, 3, 7, 1000}) {
        expect_all(all_reduce(ranks, rondoFloat32, rondoAvg, one_each<float>({1, 2, 3}, count)), 2.0F, "float");
        expect_all(all_reduce(ranks, rondoFloat64, rondoAvg, one_each<double>({1, 2, 3}, count)), 2.0, "double");
        expect_all(all_reduce(ranks, rondoInt64, rondoAvg, one_each<std::int64_t>({1, 2, 3}, count)), std::int64_t{2},
                   "int64");
        const auto halves = one_each<std::uint16_t>({0x3c00, 0x4000, 0x4200}, count);  // 1, 2, 3
        expect_all(all_reduce(ranks, rondoFloat16, rondoAvg, halves), std::uint16_t{0x4000}, "half");
    }
}

TEST_P(EachAlgorithm, IntegersWrapAndAveragesTruncate) {
    const Ranks ranks(3, forced(GetParam()));
    expect_all(all_reduce(ranks, rondoInt8, rondoSum, one_each<std::int8_t>({120, 100, 0})), std::int8_t{-36},
               "120 + 100");
    expect_all(all_reduce(ranks, rondoInt8, rondoAvg, one_each<std::int8_t>({100, 100, 100})), std::int8_t{14},
               "wrapped avg");
    expect_all(all_reduce(ranks, rondoInt32, rondoAvg, one_each<std::int32_t>({1, 2, 4})), 2, "7 / 3");
    expect_all(all_reduce(ranks, rondoInt32, rondoAvg, one_each<std::int32_t>({-1, -2, -4})), -2, "-7 / 3");
    expect_all(all_reduce(ranks, rondoInt32, rondoAvg, one_each<std::int32_t>({INT32_MAX, INT32_MAX, INT32_MAX})),
               715827881, "three times INT32_MAX");
    expect_all(all_reduce(ranks, rondoUint64, rondoSum, one_each<std::uint64_t>({UINT64_MAX, 2, 0})), std::uint64_t{1},
               "wrap");
    expect_all(all_reduce(ranks, rondoUint64, rondoAvg, one_each<std::uint64_t>({UINT64_MAX - 5, 1, 1})),
               std::uint64_t{UINT64_MAX - 3} / 3, "near 2^64");
    expect_all(all_reduce(ranks, rondoInt64, rondoProd, one_each<std::int64_t>({INT64_MAX, 2, 1})), std::int64_t{-2},
               "product");
}

// NaN wins in min and max, whichever rank has it and wherever in the vector it is; infinities are extremes.
TEST_P(EachAlgorithm, NanPropagatesAndInfinityIsAnExtreme) {
    constexpr int kRanks = 4;
    constexpr std::size_t kCount = 64;
    const Ranks ranks(kRanks, forced(GetParam()));
    const auto check = [&]<class T>(rondoDataType_t type, T zero, T nan, T inf, T minus_inf, auto is_nan) {
        const T plain[kRanks] = {minus_inf, zero, inf, zero};
        for (const rondoRedOp_t op : {rondoMax, rondoMin}) {
            for (std::size_t holder = 0; holder < kRanks; ++holder) {
                std::vector<std::vector<T>> inputs;
                for (const T value : plain) inputs.emplace_back(kCount, value);
                // Every third element: vector bodies and scalar tails of every part.
                for (std::size_t i = holder % 3; i < kCount; i += 3) inputs[holder][i] = nan;
                for (const auto& output : all_reduce(ranks, type, op, inputs)) {
                    for (std::size_t i = 0; i < kCount; ++i) {
                        const bool has_nan = i % 3 == holder % 3;
                        ASSERT_EQ(is_nan(output[i]), has_nan)
                            << "op " << op << " holder " << holder << " element " << i;
                        if (!has_nan && holder != 0 && holder != 2) {
                            ASSERT_EQ(output[i], op == rondoMax ? inf : minus_inf);
                        }
                    }
                }
            }
        }
    };
    const auto real_nan = [](auto x) { return std::isnan(x); };
    check(rondoFloat32, 0.0F, NAN, INFINITY, -INFINITY, real_nan);
    check(rondoFloat64, 0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, real_nan);
    using Bits = std::uint16_t;
    check(rondoFloat16, Bits{0}, Bits{0x7e01}, Bits{0x7c00}, Bits{0xfc00},
          [](Bits x) { return (x & 0x7fff) > 0x7c00; });
    check(rondoBfloat16, Bits{0}, Bits{0xffc1}, Bits{0x7f80}, Bits{0xff80},
          [](Bits x) { return (x & 0x7fff) > 0x7f80; });
}

// Rounding depends on the order of additions. Whatever the order is: it is the same on all ranks and in every run,
// however ranks are late.
TEST_P(EachAlgorithm, GivesTheSameBitsOnAllRanksAndInEveryRun) {
    for (const int nranks : {4, 7}) {
        const std::size_t count = 3001;
        std::vector<std::vector<float>> inputs;
        std::mt19937 random(seed());
        for (int rank = 0; rank < nranks; ++rank) {
            std::vector<float> input;
            for (std::size_t i = 0; i < count; ++i) {
                const float awkward[] = {1e8F, 1, -1e8F, 1.0F / 3};
                const auto bits = static_cast<std::uint32_t>(random());
                input.push_back(i % 2 == 0
                                    ? awkward[(i / 2 + static_cast<std::size_t>(rank)) % 4]
                                    : std::ldexp(static_cast<float>(bits % 65521), static_cast<int>(bits >> 28U) - 16));
            }
            inputs.push_back(input);
        }
        std::vector<float> first;
        for (int launch = 0; launch < 3; ++launch) {
            const Ranks ranks(nranks, forced(GetParam()));
            std::vector<std::vector<float>> outputs(static_cast<std::size_t>(nranks), std::vector<float>(count));
            ranks.run([&](int rank, rondoComm_t comm) {
                const auto r = static_cast<std::size_t>(rank);
                std::mt19937 delays(static_cast<unsigned>(launch * 100 + rank));
                std::vector<float> output(count);
                for (int repeat = 0; repeat < 8; ++repeat) {
                    if (delays() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays() % 300));
                    ASSERT_EQ(
                        rondoAllReduce(inputs[r].data(), output.data(), count, rondoFloat32, rondoSum, comm, nullptr),
                        rondoSuccess);
                    if (repeat > 0) {
                        ASSERT_EQ(std::memcmp(output.data(), outputs[r].data(), count * 4), 0) << "repeat " << repeat;
                    }
                    outputs[r] = output;
                }
            });
            for (const auto& output : outputs) {
                if (first.empty()) first = output;
                ASSERT_EQ(std::memcmp(output.data(), first.data(), count * 4), 0)
                    << nranks << " ranks, launch " << launch;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(AllReduce, EachAlgorithm, testing::ValuesIn(kAllReduceAlgorithms),
                         [](const auto& algorithm) { return std::string(algorithm.param); });

// A rank that adds more than two inputs in one step rounds once: 256 + 1 + 1 + 1 = 260 in bfloat16, to even.
TEST(Numerics, OneStepRoundsSixteenBitSumsOnce) {
    for (const char* algorithm : {"one_shot", "direct"}) {
        const Ranks ranks(4, forced(algorithm));
        for (std::size_t holder = 0; holder < 4; ++holder) {
            auto inputs = one_each<std::uint16_t>({0x3f80, 0x3f80, 0x3f80, 0x3f80}, 40);
            for (auto& element : inputs[holder]) element = 0x4380;  // 256
            expect_all(all_reduce(ranks, rondoBfloat16, rondoSum, inputs), std::uint16_t{0x4382}, algorithm);
        }
    }
}

TEST(Numerics, AverageOfReduceAndReduceScatter) {
    for (const char* algorithm : {"ring", "direct"}) {
        const Ranks ranks(3, forced(algorithm));
        ranks.run([&](int rank, rondoComm_t comm) {
            for (const std::size_t count : {1, 2, 3, 7, 1000}) {
                const std::vector<float> input(3 * count, static_cast<float>(rank + 1));
                std::vector<float> output(count);
                ASSERT_EQ(rondoReduceScatter(input.data(), output.data(), count, rondoFloat32, rondoAvg, comm, nullptr),
                          rondoSuccess);
                for (const float element : output) ASSERT_EQ(element, 2.0F) << algorithm << " reduce_scatter " << count;
                std::fill(output.begin(), output.end(), -1.0F);
                ASSERT_EQ(rondoReduce(input.data(), output.data(), count, rondoFloat32, rondoAvg, 1, comm, nullptr),
                          rondoSuccess);
                for (const float element : output)
                    ASSERT_EQ(element, rank == 1 ? 2.0F : -1.0F) << algorithm << " reduce";
            }
        });
    }
}

}  // namespace rondo::api::test
