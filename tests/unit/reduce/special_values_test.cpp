// The written rules of the arithmetic, each by name, at every position of a body and its tail.

#include "reduce/reduce.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "reference.hpp"

namespace rondo::reduce::test {
namespace {

constexpr std::size_t kCount = 4 * 64 + 77;  // strips, whole vectors and every tail, of all types and targets

/// Runs one call in which the first operands of every element are `operands`, on every target, and expects `want`
/// everywhere.
template <class T>
void expect_everywhere(DataType type, ReduceOp op, const std::vector<T>& operands, T want, std::uint32_t divisor = 1) {
    static_assert(std::is_unsigned_v<T>);
    std::vector<std::vector<T>> sources;
    std::vector<const void*> src;
    for (const T operand : operands) sources.emplace_back(kCount, operand);
    for (const auto& source : sources) src.push_back(source.data());
    for (const std::int64_t target : usable_targets()) {
        const ForcedTarget forced(target);
        std::vector<T> out(kCount);
        void* dst = out.data();
        kernel_for(type, op)({.dst = &dst,
                              .ndst = 1,
                              .src = src.data(),
                              .nsrc = static_cast<int>(src.size()),
                              .count = kCount,
                              .divisor = divisor,
                              .post = divisor != 1});
        for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], want) << describe(type, op) << " element " << i;
    }
}

std::uint32_t f32(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t f64(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint16_t f16(float value) { return float32_to_float16(value); }
std::uint16_t b16(float value) { return float32_to_bfloat16(value); }
template <class T>
std::make_unsigned_t<T> bits(T value) {
    return static_cast<std::make_unsigned_t<T>>(value);
}

constexpr float kInf32 = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNan32 = 0x7fc00000;
constexpr std::uint64_t kNan64 = 0x7ff8000000000000;

TEST(SpecialValues, SumsAndProductsOfIntegersWrap) {
    expect_everywhere<std::uint8_t>(DataType::Int8, ReduceOp::Sum, {127, 1}, 128);
    expect_everywhere<std::uint8_t>(DataType::Int8, ReduceOp::Prod, {0x80, 0xff}, 0x80);
    expect_everywhere<std::uint8_t>(DataType::Uint8, ReduceOp::Prod, {255, 255, 255}, 255);
    expect_everywhere<std::uint16_t>(DataType::Int16, ReduceOp::Sum, {0x7fff, 0x7fff}, 0xfffe);
    expect_everywhere<std::uint16_t>(DataType::Uint16, ReduceOp::Prod, {0xffff, 0xffff}, 1);
    expect_everywhere<std::uint32_t>(DataType::Int32, ReduceOp::Sum, {0x7fffffff, 1}, 0x80000000);
    expect_everywhere<std::uint32_t>(DataType::Int32, ReduceOp::Prod, {0x80000000, 0xffffffff}, 0x80000000);
    expect_everywhere<std::uint64_t>(DataType::Int64, ReduceOp::Sum, {0x7fffffffffffffff, 1}, 0x8000000000000000);
    expect_everywhere<std::uint64_t>(DataType::Uint64, ReduceOp::Prod, {0x123456789abcdef1, 0xfedcba9876543211},
                                     0x123456789abcdef1 * 0xfedcba9876543211);
}

TEST(SpecialValues, AveragesOfIntegersTruncateTowardZero) {
    expect_everywhere<std::uint8_t>(DataType::Int8, ReduceOp::Avg, {bits<std::int8_t>(-4), bits<std::int8_t>(-3)},
                                    bits<std::int8_t>(-3), 2);
    expect_everywhere<std::uint8_t>(DataType::Int8, ReduceOp::Avg, {100, 100}, bits<std::int8_t>(-28), 2);
    expect_everywhere<std::uint8_t>(DataType::Uint8, ReduceOp::Avg, {254, 1}, 85, 3);
    expect_everywhere<std::uint16_t>(DataType::Int16, ReduceOp::Avg, {0x8000, 0}, bits<std::int16_t>(-10922), 3);
    expect_everywhere<std::uint16_t>(DataType::Uint16, ReduceOp::Avg, {0xffff, 0}, 0, 65536);
    expect_everywhere<std::uint32_t>(DataType::Int32, ReduceOp::Avg, {bits(-7), 0}, bits(-3), 2);
    expect_everywhere<std::uint32_t>(DataType::Int32, ReduceOp::Avg, {0x80000000, 0}, bits(-715827882), 3);
    expect_everywhere<std::uint32_t>(DataType::Int32, ReduceOp::Avg, {0x80000000, 0}, 0, 0xffffffff);
    expect_everywhere<std::uint32_t>(DataType::Uint32, ReduceOp::Avg, {0xfffffffe, 0}, 0, 0xffffffff);
    expect_everywhere<std::uint32_t>(DataType::Uint32, ReduceOp::Avg, {0xffffffff, 0}, 1, 0xffffffff);
    expect_everywhere<std::uint64_t>(DataType::Int64, ReduceOp::Avg, {0x8000000000000000, 0}, 0xd555555555555556, 3);
    expect_everywhere<std::uint64_t>(DataType::Uint64, ReduceOp::Avg, {0xffffffffffffffff, 0}, 0x5555555555555555, 3);
}

/// Quotients around every multiple, where a division by way of floating point would first go wrong.
TEST(SpecialValues, AveragesOfLargeIntegersAreExact) {
    for (const std::uint32_t divisor : {2u, 3u, 7u, 10u, 641u, 65535u, 65537u, 0x7fffffffu, 0xfffffffbu}) {
        std::vector<std::uint32_t> values;
        for (std::uint64_t k = 0; k < 300; ++k) {
            const std::uint64_t multiple = mix(k) % (0x100000000u / divisor + 1) * divisor;
            for (const std::uint64_t near : {multiple - 1, multiple, multiple + 1}) {
                values.push_back(static_cast<std::uint32_t>(near));
            }
        }
        for (const std::int64_t target : usable_targets()) {
            const ForcedTarget forced(target);
            std::vector<std::uint32_t> out(values.size());
            const void* src = values.data();
            void* dst = out.data();
            const std::size_t count = values.size();
            const ReduceCopy call{
                .dst = &dst, .ndst = 1, .src = &src, .nsrc = 1, .count = count, .divisor = divisor, .post = true};
            kernel_for(DataType::Uint32, ReduceOp::Avg)(call);
            for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], values[i] / divisor) << values[i];
            kernel_for(DataType::Int32, ReduceOp::Avg)(call);
            for (std::size_t i = 0; i < out.size(); ++i) {
                const std::int64_t want = static_cast<std::int64_t>(static_cast<std::int32_t>(values[i])) / divisor;
                ASSERT_EQ(static_cast<std::int32_t>(out[i]), want) << values[i] << " / " << divisor;
            }
        }
    }
}

TEST(SpecialValues, WithoutPostTheAverageIsTheSum) {
    const std::vector<float> a(kCount, 1.5f);
    const std::vector<float> b(kCount, 4.0f);
    std::vector<float> out(kCount);
    const std::array<const void*, 2> src{a.data(), b.data()};
    void* dst = out.data();
    kernel_for(DataType::Float32,
               ReduceOp::Avg)({.dst = &dst, .ndst = 1, .src = src.data(), .nsrc = 2, .count = kCount, .divisor = 2});
    for (const float value : out) ASSERT_EQ(value, 5.5f);
}

TEST(SpecialValues, OtherOperationsIgnorePost) {
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {f32(3.0f), f32(4.0f)}, f32(7.0f), 2);
    expect_everywhere<std::uint32_t>(DataType::Int32, ReduceOp::Max, {3, 4}, 4, 2);
}

TEST(SpecialValues, NanPropagatesThroughMinAndMaxFromEitherSide) {
    for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
        for (const std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu}) {
            for (const float other : {-kInf32, -1.0f, 0.0f, 2.0f, kInf32}) {
                expect_everywhere<std::uint32_t>(DataType::Float32, op, {nan, f32(other)}, kNan32);
                expect_everywhere<std::uint32_t>(DataType::Float32, op, {f32(other), nan}, kNan32);
                expect_everywhere<std::uint32_t>(DataType::Float32, op, {f32(1.0f), nan, f32(other)}, kNan32);
            }
        }
        expect_everywhere<std::uint64_t>(DataType::Float64, op, {0xfff0000000000001, f64(-1.0)}, kNan64);
        expect_everywhere<std::uint64_t>(DataType::Float64, op, {f64(-1.0), 0x7ff0000000000001}, kNan64);
        expect_everywhere<std::uint16_t>(DataType::Float16, op, {0xfc01, f16(5.0f)}, 0x7e00);
        expect_everywhere<std::uint16_t>(DataType::Bfloat16, op, {b16(5.0f), 0xffff}, 0x7fc0);
    }
}

TEST(SpecialValues, NegativeZeroIsLessThanPositiveZero) {
    const std::uint32_t minus = f32(-0.0f);
    const std::uint32_t plus = f32(0.0f);
    for (const auto& pair : {std::vector{minus, plus}, std::vector{plus, minus}}) {
        expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Min, pair, minus);
        expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Max, pair, plus);
    }
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Max, {minus, minus}, minus);
    expect_everywhere<std::uint64_t>(DataType::Float64, ReduceOp::Max, {f64(-0.0), f64(0.0)}, f64(0.0));
    expect_everywhere<std::uint64_t>(DataType::Float64, ReduceOp::Min, {f64(0.0), f64(-0.0)}, f64(-0.0));
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Min, {0x0000, 0x8000}, 0x8000);
    expect_everywhere<std::uint16_t>(DataType::Bfloat16, ReduceOp::Max, {0x8000, 0x0000}, 0x0000);
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {minus, minus}, minus);
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {minus, plus}, plus);
}

TEST(SpecialValues, NansOfArithmeticAreCanonical) {
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {f32(kInf32), f32(-kInf32)}, kNan32);
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {0xffc12345, 0x7f800001}, kNan32);
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Prod, {f32(kInf32), f32(-0.0f)}, kNan32);
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Avg, {0xfff00000, f32(1.0f)}, kNan32, 3);
    expect_everywhere<std::uint64_t>(DataType::Float64, ReduceOp::Prod, {0xfff0000000000001, f64(0.5)}, kNan64);
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Sum, {0x7c00, 0xfc00}, 0x7e00);
    expect_everywhere<std::uint16_t>(DataType::Bfloat16, ReduceOp::Sum, {0xff81, 0x3f80}, 0x7fc0);
}

TEST(SpecialValues, ACopyKeepsEveryBit) {
    for (const ReduceOp op : kAllReduceOps) {
        for (const std::uint32_t pattern : {0x7f800001u, 0xffa12345u, 0x80000000u, 0x00000001u}) {
            expect_everywhere<std::uint32_t>(DataType::Float32, op, {pattern}, pattern);
        }
        expect_everywhere<std::uint64_t>(DataType::Float64, op, {0xfff0000000000001}, 0xfff0000000000001);
        expect_everywhere<std::uint16_t>(DataType::Float16, op, {0x7c01}, 0x7c01);
        expect_everywhere<std::uint16_t>(DataType::Bfloat16, op, {0xff81}, 0xff81);
    }
    const std::uint32_t signalling = 0x7f800001;
    std::uint32_t out = 0;
    const void* src = &signalling;
    void* dst = &out;
    kernel_for(DataType::Float32,
               ReduceOp::Avg)({.dst = &dst, .ndst = 1, .src = &src, .nsrc = 1, .count = 1, .divisor = 1, .post = true});
    EXPECT_EQ(out, signalling);
}

TEST(SpecialValues, SubnormalsAreNotFlushed) {
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {1, 1}, 2);
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Prod, {f32(0x1p-126f), f32(0.5f)}, f32(0x1p-127f));
    expect_everywhere<std::uint64_t>(DataType::Float64, ReduceOp::Avg, {4, 4}, 4, 2);
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Sum, {1, 2}, 3);
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Prod, {0x0400, f16(0.5f)}, 0x0200);
    expect_everywhere<std::uint16_t>(DataType::Bfloat16, ReduceOp::Sum, {1, 2}, 3);
}

/// 2048 + 1 + 1 in float16: rounded after each addition it would stay 2048; in float32 it is 2050.
TEST(SpecialValues, NarrowSumsRoundOnceAtTheEnd) {
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Sum, {f16(2048.0f), f16(1.0f), f16(1.0f)},
                                     f16(2050.0f));
    expect_everywhere<std::uint16_t>(DataType::Bfloat16, ReduceOp::Sum, {b16(256.0f), b16(1.0f), b16(1.0f)},
                                     b16(258.0f));
    // A sum beyond the range that comes back, and an average whose sum is beyond it.
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Sum, {f16(65504.0f), f16(65504.0f), f16(-65504.0f)},
                                     f16(65504.0f));
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Avg, {f16(65504.0f), f16(65504.0f)}, f16(65504.0f),
                                     2);
    // Ties to even: 2049 lies between 2048 and 2050, 2051 between 2050 and 2052.
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Sum, {f16(2048.0f), f16(1.0f)}, f16(2048.0f));
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Sum, {f16(2050.0f), f16(1.0f)}, f16(2052.0f));
    expect_everywhere<std::uint16_t>(DataType::Bfloat16, ReduceOp::Sum, {b16(256.0f), b16(1.0f)}, b16(256.0f));
    expect_everywhere<std::uint16_t>(DataType::Bfloat16, ReduceOp::Sum, {b16(258.0f), b16(1.0f)}, b16(260.0f));
    expect_everywhere<std::uint16_t>(DataType::Float16, ReduceOp::Sum, {f16(65504.0f), f16(16.0f)}, 0x7c00);
}

/// (a + b) + c and a + (b + c) differ here: the order is that of the sources.
TEST(SpecialValues, SourcesAreTakenFromLeftToRight) {
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {f32(1.0f), f32(0x1p30f), f32(-0x1p30f)}, 0);
    expect_everywhere<std::uint32_t>(DataType::Float32, ReduceOp::Sum, {f32(0x1p30f), f32(-0x1p30f), f32(1.0f)},
                                     f32(1.0f));
    expect_everywhere<std::uint64_t>(DataType::Float64, ReduceOp::Prod, {f64(0x1p1000), f64(0x1p1000), f64(0x1p-1000)},
                                     f64(std::numeric_limits<double>::infinity()));
}

/// One NaN in turn at every position of a vector sum: it stays there and disturbs no other element.
TEST(SpecialValues, ANanStaysAtItsPosition) {
    const std::vector<float> ones(kCount, 1.0f);
    for (const std::int64_t target : usable_targets()) {
        const ForcedTarget forced(target);
        for (const ReduceOp op : kAllReduceOps) {
            for (std::size_t at = 0; at < kCount; ++at) {
                std::vector<float> other(kCount, 2.0f);
                other[at] = std::bit_cast<float>(0xffc00001u);
                const std::array<const void*, 2> src{ones.data(), other.data()};
                void* dst = other.data();
                kernel_for(DataType::Float32,
                           op)({.dst = &dst, .ndst = 1, .src = src.data(), .nsrc = 2, .count = kCount});
                const float rest = reduce_values<float>(op, {1.0f, 2.0f}, 0);
                for (std::size_t i = 0; i < kCount; ++i) {
                    ASSERT_EQ(f32(other[i]), i == at ? kNan32 : f32(rest)) << describe(DataType::Float32, op) << i;
                }
            }
        }
    }
}

}  // namespace
}  // namespace rondo::reduce::test
