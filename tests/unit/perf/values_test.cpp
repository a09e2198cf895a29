// The inputs' promise, tried by reducing them as a library would: in random orders and groupings, rounding after every
// step, in the type's own arithmetic.

#include "driver/values.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace rondo::perf {
namespace {

constexpr std::size_t kElements = 97;

template <class Element>
std::vector<typename Element::Bits> input_of(const Inputs& inputs, int rank, std::size_t first, std::size_t count) {
    std::vector<typename Element::Bits> bits(count);
    fill(inputs, rank, first, count, reinterpret_cast<std::byte*>(bits.data()));
    return bits;
}

template <class Element>
typename Element::Bits combine_step(rondoRedOp_t op, typename Element::Bits a, typename Element::Bits b) {
    using Bits = typename Element::Bits;
    if constexpr (Element::kFloating) {
        const double x = Element::decode(a);
        const double y = Element::decode(b);
        if (op == rondoProd) return Element::encode(x * y);
        if (op == rondoMax) return x > y ? a : b;
        if (op == rondoMin) return x < y ? a : b;
        return Element::encode(x + y);
    } else {
        using Value = typename Element::Value;
        const auto x = static_cast<Value>(a);
        const auto y = static_cast<Value>(b);
        if (op == rondoMax) return static_cast<Bits>(std::max(x, y));
        if (op == rondoMin) return static_cast<Bits>(std::min(x, y));
        const std::uint64_t wide = op == rondoProd ? std::uint64_t{a} * b : std::uint64_t{a} + b;
        return static_cast<Bits>(wide);
    }
}

/// Reduces by joining two randomly chosen partial results until one is left.
template <class Element>
typename Element::Bits reduce_randomly(rondoRedOp_t op, std::vector<typename Element::Bits> terms,
                                       std::mt19937& random) {
    while (terms.size() > 1) {
        std::swap(terms[random() % terms.size()], terms.back());
        const auto one = terms.back();
        terms.pop_back();
        auto& other = terms[random() % terms.size()];
        other = combine_step<Element>(op, one, other);
    }
    return terms.front();
}

template <class Element>
typename Element::Bits divide(typename Element::Bits sum, int nranks) {
    if constexpr (Element::kFloating) {
        return Element::encode(Element::decode(sum) / nranks);
    } else {
        using Value = typename Element::Value;
        using Wide = std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>;
        return static_cast<typename Element::Bits>(static_cast<Wide>(static_cast<Value>(sum)) /
                                                   static_cast<Wide>(nranks));
    }
}

class EveryTypeAndOp : public ::testing::TestWithParam<std::tuple<TypeInfo, OpInfo>> {
protected:
    [[nodiscard]] Inputs inputs(int nranks, std::uint64_t iteration = 3) const {
        return {std::get<0>(GetParam()).type, std::get<1>(GetParam()).op, true, nranks, 42, iteration};
    }
};

INSTANTIATE_TEST_SUITE_P(Values, EveryTypeAndOp,
                         ::testing::Combine(::testing::ValuesIn(all_types().begin(), all_types().end()),
                                            ::testing::ValuesIn(all_ops().begin(), all_ops().end())),
                         [](const auto& param) {
                             return fmt::format("{}_{}", std::get<0>(param.param).name, std::get<1>(param.param).name);
                         });

TEST_P(EveryTypeAndOp, AnyOrderGivesTheExpectedBits) {
    std::mt19937 random(7);
    for (int nranks = 1; nranks <= 64; ++nranks) {
        const Inputs in = inputs(nranks);
        with_element(in.type, [&]<class Element>() {
            using Bits = typename Element::Bits;
            std::vector<Bits> expected(kElements);
            fill_reduced(in, 5, kElements, reinterpret_cast<std::byte*>(expected.data()));
            std::vector<std::vector<Bits>> ranks;
            for (int rank = 0; rank < nranks; ++rank) ranks.push_back(input_of<Element>(in, rank, 5, kElements));
            for (std::size_t i = 0; i < kElements; ++i) {
                std::vector<Bits> terms;
                for (const auto& rank : ranks) terms.push_back(rank[i]);
                for (int order = 0; order < 3; ++order) {
                    Bits result = reduce_randomly<Element>(in.op, terms, random);
                    if (in.op == rondoAvg) result = divide<Element>(result, nranks);
                    ASSERT_EQ(result, expected[i]) << "nranks " << nranks << " element " << i;
                }
            }
        });
    }
}

TEST_P(EveryTypeAndOp, ManyRanksAreStillExact) {
    std::mt19937 random(8);
    for (const int nranks : {127, 128, 129, 255, 300, 1024}) {
        const Inputs in = inputs(nranks);
        with_element(in.type, [&]<class Element>() {
            using Bits = typename Element::Bits;
            Bits expected{};
            fill_reduced(in, 1000, 1, reinterpret_cast<std::byte*>(&expected));
            std::vector<Bits> terms;
            for (int rank = 0; rank < nranks; ++rank) terms.push_back(input_of<Element>(in, rank, 1000, 1)[0]);
            Bits result = reduce_randomly<Element>(in.op, terms, random);
            if (in.op == rondoAvg) result = divide<Element>(result, nranks);
            EXPECT_EQ(result, expected) << "nranks " << nranks;
        });
    }
}

TEST_P(EveryTypeAndOp, ALostContributionIsSeen) {
    for (const int nranks : {2, 3, 5, 8, 64}) {
        const Inputs in = inputs(nranks);
        with_element(in.type, [&]<class Element>() {
            using Bits = typename Element::Bits;
            std::vector<Bits> expected(kElements);
            fill_reduced(in, 0, kElements, reinterpret_cast<std::byte*>(expected.data()));
            for (int lost = 0; lost < nranks; ++lost) {
                std::vector<Bits> partial(kElements);
                for (std::size_t i = 0; i < kElements; ++i) {
                    bool first = true;
                    for (int rank = 0; rank < nranks; ++rank) {
                        if (rank == lost) continue;
                        const Bits term = input_of<Element>(in, rank, i, 1)[0];
                        partial[i] = first ? term : combine_step<Element>(in.op, partial[i], term);
                        first = false;
                    }
                    if (in.op == rondoAvg) partial[i] = divide<Element>(partial[i], nranks);
                }
                const Comparison result =
                    compare(in.type, tolerance_of(in), reinterpret_cast<const std::byte*>(expected.data()),
                            reinterpret_cast<const std::byte*>(partial.data()), kElements);
                // A minimum over 64 ranks is one of the 97 elements of most ranks, but not surely of each.
                const bool rarely = (in.op == rondoMax || in.op == rondoMin) && nranks == 64;
                EXPECT_TRUE(rarely || result.wrong > 0) << "nranks " << nranks << " without rank " << lost;
            }
        });
    }
}

TEST_P(EveryTypeAndOp, ValuesDependOnRankElementIterationAndSeed) {
    const Inputs base = inputs(4);
    with_element(base.type, [&]<class Element>() {
        const auto reference = input_of<Element>(base, 1, 0, kElements);
        Inputs iteration = base;
        iteration.iteration += 1;
        Inputs seed = base;
        seed.seed += 1;
        EXPECT_NE(reference, input_of<Element>(base, 2, 0, kElements));
        EXPECT_NE(reference, input_of<Element>(base, 1, 1, kElements));
        EXPECT_NE(reference, input_of<Element>(iteration, 1, 0, kElements));
        EXPECT_NE(reference, input_of<Element>(seed, 1, 0, kElements));
        EXPECT_EQ(reference, input_of<Element>(base, 1, 0, kElements));
    });
}

TEST_P(EveryTypeAndOp, AnySliceHoldsTheSameValues) {
    const Inputs in = inputs(3);
    with_element(in.type, [&]<class Element>() {
        using Bits = typename Element::Bits;
        const auto whole = input_of<Element>(in, 2, 0, kElements);
        const auto part = input_of<Element>(in, 2, 11, 40);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 11));
        // One byte off every alignment.
        std::vector<std::byte> bytes(kElements * sizeof(Bits) + 1);
        fill(in, 2, 0, kElements, bytes.data() + 1);
        EXPECT_EQ(std::memcmp(bytes.data() + 1, whole.data(), kElements * sizeof(Bits)), 0);
        EXPECT_EQ(compare_with_input(in, 2, 0, kElements, bytes.data() + 1).wrong, 0U);
        EXPECT_GT(compare_with_input(in, 1, 0, kElements, bytes.data() + 1).wrong, 0U);
    });
}

TEST_P(EveryTypeAndOp, AFlippedBitIsOneWrongElement) {
    for (const int nranks : {3, 4}) {
        const Inputs in = inputs(nranks);
        const std::size_t size = info_of(in.type).size;
        std::vector<std::byte> expected(kElements * size);
        fill_reduced(in, 0, kElements, expected.data());
        for (std::size_t i = 0; i < kElements; ++i) {
            std::vector<std::byte> actual = expected;
            flip_bit(in.type, actual.data(), i);
            const Comparison result = compare(in.type, tolerance_of(in), expected.data(), actual.data(), kElements);
            ASSERT_EQ(result.wrong, 1U);
            ASSERT_EQ(result.first, i);
            ASSERT_NE(result.expected, result.actual);
        }
    }
}

TEST(Values, MovedElementsHoldAnyBits) {
    for (const TypeInfo& type : all_types()) {
        const Inputs in{type.type, rondoSum, false, 2, 1, 0};
        std::vector<std::byte> bytes(8192 * type.size);
        fill(in, 0, 0, 8192, bytes.data());
        std::set<std::byte> distinct(bytes.begin(), bytes.end());
        EXPECT_EQ(distinct.size(), 256U) << type.name;
        EXPECT_EQ(tolerance_of(in), 0);
    }
}

TEST(Values, ComparisonCountsEveryWrongElementAcrossTiles) {
    const Inputs in{rondoInt16, rondoSum, false, 2, 1, 0};
    constexpr std::size_t kCount = 20000;  // several tiles of compare and of compare_with_input
    std::vector<std::byte> bytes(kCount * 2);
    fill(in, 1, 0, kCount, bytes.data());
    const std::vector<std::byte> expected = bytes;
    const std::vector<std::size_t> wrong{3, 2047, 2048, 8192, 19999};
    for (const std::size_t i : wrong) flip_bit(rondoInt16, bytes.data(), i);
    for (const Comparison& result : {compare(rondoInt16, 0, expected.data(), bytes.data(), kCount),
                                     compare_with_input(in, 1, 0, kCount, bytes.data())}) {
        EXPECT_EQ(result.wrong, wrong.size());
        EXPECT_EQ(result.first, 3U);
    }
}

TEST(Values, ToleranceIsOneUnitAndOnlyForUnevenFloatAverages) {
    EXPECT_EQ(tolerance_of({rondoFloat32, rondoAvg, true, 3, 0, 0}), 1);
    EXPECT_EQ(tolerance_of({rondoFloat32, rondoAvg, true, 4, 0, 0}), 0);
    EXPECT_EQ(tolerance_of({rondoInt32, rondoAvg, true, 3, 0, 0}), 0);
    EXPECT_EQ(tolerance_of({rondoFloat32, rondoSum, true, 3, 0, 0}), 0);
    const auto wrong = [](float a, float b, int tolerance) {
        return compare(rondoFloat32, tolerance, reinterpret_cast<std::byte*>(&a), reinterpret_cast<std::byte*>(&b), 1)
            .wrong;
    };
    const float next = std::nextafter(1.0F, 2.0F);
    EXPECT_EQ(wrong(1.0F, next, 1), 0U);
    EXPECT_EQ(wrong(1.0F, next, 0), 1U);
    EXPECT_EQ(wrong(1.0F, std::nextafter(next, 2.0F), 1), 1U);
    EXPECT_EQ(wrong(1.0F, std::numeric_limits<float>::quiet_NaN(), 1), 1U);
    EXPECT_EQ(wrong(1.0F, -1.0F, 1), 1U);
}

TEST(Element, EverySixteenBitValueSurvivesDecodeAndEncode) {
    for (const int mantissa : {7, 10}) {
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            const double value = decode16(static_cast<std::uint16_t>(bits), mantissa);
            if (std::isnan(value)) {
                EXPECT_TRUE(std::isnan(decode16(encode16(value, mantissa), mantissa)));
                continue;
            }
            // encode16 takes what is below the normal doubles for zero; no 16-bit value is.
            ASSERT_EQ(encode16(value, mantissa), bits) << "mantissa " << mantissa;
        }
    }
}

TEST(Element, SixteenBitValuesAreKnown) {
    EXPECT_EQ(decode16(0x3c00, 10), 1.0);
    EXPECT_EQ(decode16(0x7bff, 10), 65504.0);
    EXPECT_EQ(decode16(0x0001, 10), std::ldexp(1.0, -24));
    EXPECT_EQ(decode16(0x3f80, 7), 1.0);
    EXPECT_EQ(decode16(0xc000, 7), -2.0);
    EXPECT_EQ(encode16(65520.0, 10), 0x7c00);  // half way to the next: to even, infinity
    EXPECT_EQ(encode16(65519.0, 10), 0x7bff);
    EXPECT_EQ(encode16(1.0 + std::ldexp(1.0, -11), 10), 0x3c00);  // tie, to even
    EXPECT_EQ(encode16(1.0 + 3 * std::ldexp(1.0, -11), 10), 0x3c02);
    EXPECT_EQ(encode16(std::ldexp(1.0, -25), 10), 0x0000);  // tie between 0 and the smallest subnormal
    EXPECT_EQ(encode16(std::ldexp(1.5, -25), 10), 0x0001);
    EXPECT_EQ(encode16(257.0, 7), 0x4380);  // 256
    EXPECT_EQ(encode16(259.0, 7), 0x4382);  // 260
}

TEST(Element, EveryNameIsFoundAgain) {
    EXPECT_EQ(all_types().size(), 12U);
    for (const TypeInfo& type : all_types()) EXPECT_EQ(type_named(type.name), type.type);
    for (const OpInfo& op : all_ops()) EXPECT_EQ(op_named(op.name), op.op);
    EXPECT_FALSE(type_named("float31").has_value());
    EXPECT_FALSE(op_named("xor").has_value());
}

}  // namespace
}  // namespace rondo::perf
