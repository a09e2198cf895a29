#pragma once
// Elements of every type for the tests of collectives: inputs whose reductions are exact in any order, and the
// reference that results are compared with. Nothing here uses the library's arithmetic.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::api::test {

inline constexpr rondoDataType_t kTypes[] = {rondoInt8,    rondoUint8,    rondoInt16,   rondoUint16,
                                             rondoInt32,   rondoUint32,   rondoInt64,   rondoUint64,
                                             rondoFloat16, rondoBfloat16, rondoFloat32, rondoFloat64};
inline constexpr rondoRedOp_t kOps[] = {rondoSum, rondoProd, rondoMax, rondoMin, rondoAvg};

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) as a function of its index.
constexpr std::uint64_t hash(std::uint64_t index) {
    std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30U) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27U) * 0x94d049bb133111ebU;
    return z ^ z >> 31U;
}

/// A binary floating format of 16 bits: sign, `Exponent` bits, fraction.
template <int Exponent>
struct Small {
    std::uint16_t bits = 0;

    static constexpr int kFraction = 15 - Exponent;
    static constexpr int kBias = (1 << (Exponent - 1)) - 1;

    [[nodiscard]] double value() const {
        const int exponent = bits >> kFraction & ((1 << Exponent) - 1);
        const int fraction = bits & ((1 << kFraction) - 1);
        const double sign = (bits & 0x8000) != 0 ? -1 : 1;
        if (exponent == (1 << Exponent) - 1) {
            return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
        }
        if (exponent == 0) return sign * std::ldexp(fraction, 1 - kBias - kFraction);
        return sign * std::ldexp((1 << kFraction) + fraction, exponent - kBias - kFraction);
    }

    /// Rounds to nearest, ties to even; for numbers and infinities, not for NaN.
    static Small from(double x) {
        const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
        if (x == 0) return {sign};
        x = std::fabs(x);
        const std::uint16_t infinity = ((1 << Exponent) - 1) << kFraction;
        if (std::isinf(x)) return {static_cast<std::uint16_t>(sign | infinity)};
        int exponent = 0;
        std::frexp(x, &exponent);
        exponent = std::max(exponent - 1, 1 - kBias);                               // of the leading bit, or subnormal
        const double scaled = std::nearbyint(std::ldexp(x, kFraction - exponent));  // in units of the last place
        // The fraction's carry runs into the exponent, and out of the largest number into infinity.
        const auto magnitude =
            static_cast<std::int64_t>(scaled) + (static_cast<std::int64_t>(exponent + kBias - 1) << kFraction);
        return {static_cast<std::uint16_t>(sign | std::min<std::int64_t>(magnitude, infinity))};
    }
};
using Half = Small<5>;
using Brain = Small<8>;

/// Calls f(T{}) with the C++ type of `type`.
template <class F>
decltype(auto) with_type(rondoDataType_t type, F f) {
    switch (type) {
        case rondoInt8: return f(std::int8_t{});
        case rondoUint8: return f(std::uint8_t{});
        case rondoInt16: return f(std::int16_t{});
        case rondoUint16: return f(std::uint16_t{});
        case rondoInt32: return f(std::int32_t{});
        case rondoUint32: return f(std::uint32_t{});
        case rondoInt64: return f(std::int64_t{});
        case rondoUint64: return f(std::uint64_t{});
        case rondoFloat16: return f(Half{});
        case rondoBfloat16: return f(Brain{});
        case rondoFloat32: return f(float{});
        case rondoFloat64: break;
    }
    return f(double{});
}

inline std::size_t size_of(rondoDataType_t type) {
    return with_type(type, [](auto zero) { return sizeof(zero); });
}

/// Element `index` of `rank`. Integers: any bits, so that sums and products wrap. Floats: small integers whose sum over
/// 16 ranks is exact in the type, or for products powers of two whose product is.
template <class T>
T input_value(rondoRedOp_t op, int rank, std::int64_t index) {
    const std::uint64_t random = hash(static_cast<std::uint64_t>(index) * 64 + static_cast<std::uint64_t>(rank));
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(random >> 7U);
    } else {
        const double factors[] = {1, 2, -1, 0.5, -2, -0.5, 1, -1};
        const int spread = sizeof(T) == 2 ? 16 : 4000;
        const double value = op == rondoProd ? factors[random % 8]
                                             : static_cast<double>(random % static_cast<unsigned>(spread)) - spread / 3;
        if constexpr (std::is_floating_point_v<T>) {
            return static_cast<T>(value);
        } else {
            return T::from(value);
        }
    }
}

/// The reduction of one element of each rank, in rank order, by the definition of the operation.
template <class T>
T reduce_values(rondoRedOp_t op, const std::vector<T>& values) {
    const auto ranks = values.size();
    if constexpr (std::is_integral_v<T>) {
        std::uint64_t sum = 0;
        std::uint64_t product = 1;
        T least = values[0];
        T most = values[0];
        for (const T value : values) {
            sum += static_cast<std::uint64_t>(value);
            product *= static_cast<std::uint64_t>(value);
            least = std::min(least, value);
            most = std::max(most, value);
        }
        const T wrapped = static_cast<T>(sum);
        switch (op) {
            case rondoSum: return wrapped;
            case rondoProd: return static_cast<T>(product);
            case rondoMax: return most;
            case rondoMin: return least;
            case rondoAvg: break;
        }
        if constexpr (std::is_signed_v<T>)
            return static_cast<T>(static_cast<std::int64_t>(wrapped) / static_cast<std::int64_t>(ranks));
        return static_cast<T>(static_cast<std::uint64_t>(wrapped) / ranks);
    } else {
        const auto number = [](T value) {
            if constexpr (std::is_floating_point_v<T>)
                return static_cast<double>(value);
            else
                return value.value();
        };
        double result = number(values[0]);
        for (std::size_t i = 1; i < ranks; ++i) {
            const double value = number(values[i]);
            result = op == rondoProd  ? result * value
                     : op == rondoMax ? std::max(result, value)
                     : op == rondoMin ? std::min(result, value)
                                      : result + value;
        }
        // Sums are exact; the quotient is rounded in float32 for all types but float64, and then to the type.
        if constexpr (std::is_same_v<T, double>) {
            return op == rondoAvg ? result / static_cast<double>(ranks) : result;
        } else {
            const float narrow =
                op == rondoAvg ? static_cast<float>(result) / static_cast<float>(ranks) : static_cast<float>(result);
            if constexpr (std::is_same_v<T, float>) {
                return narrow;
            } else {
                return T::from(narrow);
            }
        }
    }
}

}  // namespace rondo::api::test
