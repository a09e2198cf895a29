#pragma once
// What the kernels are compared with: one element at a time, written plainly and without the kernels' code; inputs that
// contain every awkward value; and a way to run a test on each instruction set that was compiled and the machine has.

#include "reduce/targets.hpp"

#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/types.hpp"
#include "reduce/convert.hpp"
#include "reduce/reduce.hpp"

namespace rondo::reduce::test {

/// A 16-bit floating value as its bits, with the conversions of its type.
struct Float16Bits {
    std::uint16_t bits = 0;
    [[nodiscard]] float value() const { return float16_to_float32(bits); }
    static Float16Bits from(float value) { return {float32_to_float16(value)}; }
    static constexpr std::uint16_t kNan = 0x7e00;
};
struct Bfloat16Bits {
    std::uint16_t bits = 0;
    [[nodiscard]] float value() const { return bfloat16_to_float32(bits); }
    static Bfloat16Bits from(float value) { return {float32_to_bfloat16(value)}; }
    static constexpr std::uint16_t kNan = 0x7fc0;
};

template <class T>
T smaller(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
        if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
}

template <class T>
T larger(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
        if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
}

template <class T>
T combine(ReduceOp op, T a, T b) {
    if (op == ReduceOp::Min) return smaller(a, b);
    if (op == ReduceOp::Max) return larger(a, b);
    if constexpr (std::is_floating_point_v<T>) {
        return op == ReduceOp::Prod ? a * b : a + b;
    } else {  // modulo 2^64, of which modulo 2^bits follows
        const auto x = static_cast<std::uint64_t>(a);
        const auto y = static_cast<std::uint64_t>(b);
        return static_cast<T>(op == ReduceOp::Prod ? x * y : x + y);
    }
}

/// The reduction of `values` (never empty), divided when divisor != 0, with a canonical NaN.
template <class T>
T reduce_values(ReduceOp op, const std::vector<T>& values, std::uint32_t divisor) {
    T result = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) result = combine(op, result, values[i]);
    if constexpr (std::is_floating_point_v<T>) {
        if (divisor != 0) result = result / static_cast<T>(divisor);
        if (std::isnan(result)) result = std::numeric_limits<T>::quiet_NaN();
    } else if (divisor != 0) {
        if constexpr (std::is_signed_v<T>) {
            result = static_cast<T>(static_cast<std::int64_t>(result) / static_cast<std::int64_t>(divisor));
        } else {
            result = static_cast<T>(static_cast<std::uint64_t>(result) / divisor);
        }
    }
    return result;
}

template <class T>
T read_as(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

template <class T>
void reduce_native(ReduceOp op, const std::vector<const std::byte*>& at, std::uint32_t divisor, std::byte* out) {
    std::vector<T> values;
    for (const std::byte* from : at) values.push_back(read_as<T>(from));
    const T result = reduce_values(op, values, divisor);
    std::memcpy(out, &result, sizeof(T));
}

template <class Bits>
void reduce_narrow(ReduceOp op, const std::vector<const std::byte*>& at, std::uint32_t divisor, std::byte* out) {
    std::vector<float> values;
    for (const std::byte* from : at) values.push_back(Bits{read_as<std::uint16_t>(from)}.value());
    const float result = reduce_values(op, values, divisor);
    const std::uint16_t bits = std::isnan(result) ? Bits::kNan : Bits::from(result).bits;
    std::memcpy(out, &bits, sizeof(bits));
}

/// The expected `count` elements for sources of any alignment. `divisor` counts where `post` and op is Avg.
inline std::vector<std::byte> expected(DataType type, ReduceOp op, const std::vector<const std::byte*>& sources,
                                       std::size_t count, std::uint32_t divisor, bool post) {
    const std::size_t size = size_of(type);
    std::vector<std::byte> out(count * size);
    const std::uint32_t by = op == ReduceOp::Avg && post && divisor != 1 ? divisor : 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<const std::byte*> at;
        for (const std::byte* source : sources) at.push_back(source + i * size);
        std::byte* const to = out.data() + i * size;
        if (at.size() == 1 && by == 0) {
            std::memcpy(to, at[0], size);
            continue;
        }
        switch (type) {
            case DataType::Int8: reduce_native<std::int8_t>(op, at, by, to); break;
            case DataType::Uint8: reduce_native<std::uint8_t>(op, at, by, to); break;
            case DataType::Int16: reduce_native<std::int16_t>(op, at, by, to); break;
            case DataType::Uint16: reduce_native<std::uint16_t>(op, at, by, to); break;
            case DataType::Int32: reduce_native<std::int32_t>(op, at, by, to); break;
            case DataType::Uint32: reduce_native<std::uint32_t>(op, at, by, to); break;
            case DataType::Int64: reduce_native<std::int64_t>(op, at, by, to); break;
            case DataType::Uint64: reduce_native<std::uint64_t>(op, at, by, to); break;
            case DataType::Float16: reduce_narrow<Float16Bits>(op, at, by, to); break;
            case DataType::Bfloat16: reduce_narrow<Bfloat16Bits>(op, at, by, to); break;
            case DataType::Float32: reduce_native<float>(op, at, by, to); break;
            case DataType::Float64: reduce_native<double>(op, at, by, to); break;
        }
    }
    return out;
}

/// SplitMix64: a value for every index, without state.
constexpr std::uint64_t mix(std::uint64_t index) {
    std::uint64_t z = index * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// Bit patterns of `type` that code gets wrong: extremes, signed zeros, subnormals, infinities, NaNs of both signs,
/// quiet and signalling, with payloads.
inline std::vector<std::uint64_t> awkward_bits(DataType type) {
    switch (type) {
        case DataType::Float16:
            return {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff,
                    0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0xfd55, 0x3c00, 0x1400};
        case DataType::Bfloat16:
            return {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x7f7f, 0xff7f,
                    0x7f80, 0xff80, 0x7fc0, 0xffff, 0x7f81, 0xffa5, 0x3f80, 0x3b80};
        case DataType::Float32:
            return {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff,
                    0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff, 0x7f800001, 0xffa12345, 0x3f800000, 0x33800000};
        case DataType::Float64:
            return {0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
                    0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
                    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xffffffffffffffff,
                    0x7ff0000000000001, 0xfff5a5a5a5a5a5a5, 0x3ff0000000000000, 0x3ca0000000000000};
        default: {
            const std::uint64_t top = std::uint64_t{1} << (8 * size_of(type) - 1);
            return {0, 1, ~std::uint64_t{0}, top, top - 1, top + 1, ~std::uint64_t{1}, 2, 3};
        }
    }
}

/// Element `index` of source `source`: of four elements, one is awkward, one is any bit pattern, and two are moderate,
/// so that sums and products of many sources stay numbers often enough. All distinct per source and element.
inline std::uint64_t input_bits(DataType type, std::uint64_t source, std::uint64_t index) {
    const std::uint64_t random = mix(source * 1000003 + index);
    const std::uint64_t kind = mix(index) % 4;  // of the element in all sources: awkward values meet each other
    if (kind == 0) {
        const std::vector<std::uint64_t> awkward = awkward_bits(type);
        return awkward[random % awkward.size()];
    }
    if (kind == 1) return random >> 1;
    const double moderate = std::ldexp(static_cast<double>(random >> 11), -53) * 4 - 2;  // in [-2, 2)
    switch (type) {
        case DataType::Float16: return float32_to_float16(static_cast<float>(moderate));
        case DataType::Bfloat16: return float32_to_bfloat16(static_cast<float>(moderate));
        case DataType::Float32: return std::bit_cast<std::uint32_t>(static_cast<float>(moderate));
        case DataType::Float64: return std::bit_cast<std::uint64_t>(moderate);
        default: return random;
    }
}

inline void fill_inputs(DataType type, std::uint64_t source, std::byte* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t bits = input_bits(type, source, i);
        std::memcpy(to + i * size_of(type), &bits, size_of(type));  // little-endian: the low bytes
    }
}

/// Masks for Highway's target choice, with the fallback (portable code) as 0, of what this machine can run.
inline std::vector<std::int64_t> usable_targets() {
    std::vector<std::int64_t> targets{0};
    for (const std::int64_t target : {HWY_NEON, HWY_AVX2, HWY_AVX3}) {
        if ((hwy::SupportedTargets() & target) != 0) targets.push_back(target);
    }
    return targets;
}

/// Makes kernel_for choose from one target while it lives.
class ForcedTarget {
public:
    explicit ForcedTarget(std::int64_t target) { hwy::GetChosenTarget().Update(target); }
    ~ForcedTarget() { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
    ForcedTarget(const ForcedTarget&) = delete;
    ForcedTarget& operator=(const ForcedTarget&) = delete;
};

inline std::string describe(DataType type, ReduceOp op) {
    return std::string(target_name()) + " " + std::string(name_of(type)) + " " + std::string(name_of(op));
}

/// The index of the first element that differs, or count.
inline std::size_t first_difference(const std::byte* a, const std::byte* b, std::size_t count, std::size_t size) {
    if (count == 0 || std::memcmp(a, b, count * size) == 0) return count;
    std::size_t i = 0;
    while (std::memcmp(a + i * size, b + i * size, size) == 0) ++i;
    return i;
}

}  // namespace rondo::reduce::test
