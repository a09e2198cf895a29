#pragma once
// Scalar conversions between float32 and the two 16-bit floating types, on their bit patterns.
//
// All round to nearest, ties to even, keep the sign of zero, and produce and accept subnormals. A NaN stays a NaN: it
// keeps its sign and the leading bits of its payload and becomes quiet.

#include <bit>
#include <cstdint>

namespace rondo::reduce {

/// IEEE 754 binary16 `bits` as float32; exact.
constexpr float float16_to_float32(std::uint16_t bits) noexcept {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1f) {
        const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
        return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
    }
    if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float32
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    return std::bit_cast<float>(sign | ((exponent + (127 - 15)) << 23) | (mantissa << 13));
}

/// The IEEE 754 binary16 nearest to `value`; magnitudes from 65520 on become infinite.
constexpr std::uint16_t float32_to_float16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    }
    if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude >= 0x38800000u) {  // normal in binary16: drop 13 bits; a carry runs into the exponent, as it must
        const std::uint32_t rebiased = magnitude - ((127u - 15u) << 23);
        return static_cast<std::uint16_t>(sign | ((rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13));
    }
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below half of the least subnormal
    // Subnormal in binary16: a multiple of 2^-24. The significand counts units of 2^(exponent - 150).
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t shift = 126 - exponent;  // 14..24
    const std::uint32_t odd = (significand >> shift) & 1u;
    const std::uint32_t rounded = (significand + (1u << (shift - 1)) - 1u + odd) >> shift;
    return static_cast<std::uint16_t>(sign | rounded);
}

/// bfloat16 `bits` as float32; exact.
constexpr float bfloat16_to_float32(std::uint16_t bits) noexcept {
    const std::uint32_t quiet = (bits & 0x7fffu) > 0x7f80u ? 0x400000u : 0u;
    return std::bit_cast<float>((static_cast<std::uint32_t>(bits) << 16) | quiet);
}

/// The bfloat16 nearest to `value`.
constexpr std::uint16_t float32_to_bfloat16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace rondo::reduce
