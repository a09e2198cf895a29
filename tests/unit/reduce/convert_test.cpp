// Exhaustive checks of the 16-bit conversions against arithmetic on the values that the bits stand for.

#include "reduce/convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rondo::reduce {
namespace {

/// Value of a finite, non-negative pattern by the definition of the format.
double value_by_definition(std::uint32_t bits, int mantissa_bits, int bias) {
    const auto mantissa = static_cast<double>(bits & ((1u << mantissa_bits) - 1));
    const int exponent = static_cast<int>(bits >> mantissa_bits);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return std::ldexp(mantissa + std::ldexp(1.0, mantissa_bits), exponent - bias - mantissa_bits);
}

struct Format {
    int mantissa_bits;
    int bias;
    std::uint32_t infinity;
    float (*widen)(std::uint16_t);
    std::uint16_t (*narrow)(float);
};

constexpr Format kFloat16{10, 15, 0x7c00, [](std::uint16_t b) { return float16_to_float32(b); },
                          [](float v) { return float32_to_float16(v); }};
constexpr Format kBfloat16{7, 127, 0x7f80, [](std::uint16_t b) { return bfloat16_to_float32(b); },
                           [](float v) { return float32_to_bfloat16(v); }};

std::uint16_t narrowed(const Format& format, double value) { return format.narrow(static_cast<float>(value)); }

void check_widening(const Format& format) {
    for (std::uint32_t bits = 0; bits < format.infinity; ++bits) {
        const double value = value_by_definition(bits, format.mantissa_bits, format.bias);
        ASSERT_EQ(static_cast<double>(format.widen(static_cast<std::uint16_t>(bits))), value) << bits;
        const float negative = format.widen(static_cast<std::uint16_t>(bits | 0x8000u));
        ASSERT_EQ(static_cast<double>(negative), -value) << bits;
        ASSERT_TRUE(std::signbit(negative)) << bits;
    }
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(format.widen(static_cast<std::uint16_t>(format.infinity)), infinity);
    EXPECT_EQ(format.widen(static_cast<std::uint16_t>(format.infinity | 0x8000u)), -infinity);
}

/// Between neighbours: the midpoint goes to the even one, anything on either side of it to the nearer.
void check_rounding(const Format& format) {
    const float up = std::numeric_limits<float>::infinity();
    for (std::uint32_t bits = 0; bits < format.infinity; ++bits) {
        const double low = value_by_definition(bits, format.mantissa_bits, format.bias);
        // The value after the largest is where infinity stands for rounding.
        const double high = value_by_definition(bits + 1, format.mantissa_bits, format.bias);
        const double middle = (low + high) / 2;
        const auto exact = static_cast<float>(middle);
        ASSERT_EQ(static_cast<double>(exact), middle) << bits;
        const auto even = static_cast<std::uint16_t>(bits % 2 == 0 ? bits : bits + 1);
        ASSERT_EQ(narrowed(format, low), bits);
        ASSERT_EQ(format.narrow(exact), even) << bits;
        ASSERT_EQ(format.narrow(std::nextafter(exact, 0.0f)), bits) << bits;
        ASSERT_EQ(format.narrow(std::nextafter(exact, up)), bits + 1) << bits;
        ASSERT_EQ(narrowed(format, -low), bits | 0x8000u);
        ASSERT_EQ(format.narrow(-exact), even | 0x8000u) << bits;
        ASSERT_EQ(format.narrow(-std::nextafter(exact, 0.0f)), bits | 0x8000u) << bits;
        ASSERT_EQ(format.narrow(-std::nextafter(exact, up)), (bits + 1) | 0x8000u) << bits;
    }
    EXPECT_EQ(format.narrow(up), format.infinity);
    EXPECT_EQ(format.narrow(-up), format.infinity | 0x8000u);
    EXPECT_EQ(format.narrow(std::numeric_limits<float>::max()), format.infinity);
}

/// Every NaN pattern widens to a quiet NaN with its sign and payload, and comes back as itself made quiet.
void check_nans(const Format& format) {
    const std::uint32_t quiet_bit = 1u << (format.mantissa_bits - 1);
    for (std::uint32_t bits = format.infinity + 1; bits < 0x8000u; ++bits) {
        for (const std::uint32_t sign : {0x0000u, 0x8000u}) {
            const float wide = format.widen(static_cast<std::uint16_t>(bits | sign));
            const auto wide_bits = std::bit_cast<std::uint32_t>(wide);
            ASSERT_TRUE(std::isnan(wide)) << bits;
            ASSERT_NE(wide_bits & 0x400000u, 0u) << bits;
            ASSERT_EQ(wide_bits >> 31, sign >> 15) << bits;
            ASSERT_EQ(format.narrow(wide), bits | sign | quiet_bit) << bits;
        }
    }
    // A signalling NaN whose payload lies entirely in the bits that are dropped must not become an infinity.
    const auto narrow = format.narrow(std::bit_cast<float>(0x7f800001u));
    EXPECT_EQ(narrow, format.infinity | quiet_bit);
}

TEST(Convert, Float16WidensExactly) { check_widening(kFloat16); }
TEST(Convert, Bfloat16WidensExactly) { check_widening(kBfloat16); }
TEST(Convert, Float16RoundsToNearestEven) { check_rounding(kFloat16); }
TEST(Convert, Bfloat16RoundsToNearestEven) { check_rounding(kBfloat16); }
TEST(Convert, Float16KeepsNansQuiet) { check_nans(kFloat16); }
TEST(Convert, Bfloat16KeepsNansQuiet) { check_nans(kBfloat16); }

TEST(Convert, UnderflowKeepsTheSign) {
    EXPECT_EQ(float32_to_float16(-0x1p-26f), 0x8000);
    EXPECT_EQ(float32_to_float16(0x1p-149f), 0x0000);
    EXPECT_EQ(float32_to_bfloat16(-0x1p-149f), 0x8000);
}

static_assert(float32_to_float16(1.0f) == 0x3c00 && float16_to_float32(0xc000) == -2.0f);
static_assert(float32_to_bfloat16(1.0f) == 0x3f80 && bfloat16_to_float32(0xc000) == -2.0f);

}  // namespace
}  // namespace rondo::reduce
