#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace rondo::test {

namespace {

/// Calls function(T{}) with the C++ type of `type`.
template <class Function>
void with_type(const Type& type, Function&& function) {
    switch (type.rondo) {
        case rondoInt8: return function(std::int8_t{});
        case rondoUint8: return function(std::uint8_t{});
        case rondoInt16: return function(std::int16_t{});
        case rondoUint16: return function(std::uint16_t{});
        case rondoInt32: return function(std::int32_t{});
        case rondoUint32: return function(std::uint32_t{});
        case rondoInt64: return function(std::int64_t{});
        case rondoUint64: return function(std::uint64_t{});
        case rondoFloat32: return function(float{});
        default: return function(double{});
    }
}

template <class T>
T value_for(rondoRedOp_t op, std::uint64_t bits) {
    const auto low = static_cast<int>(bits % 16);
    if (op == rondoProd) {
        if constexpr (std::is_floating_point_v<T>) {
            constexpr T kFactors[] = {T{1}, T{-1}, T{2}, T{-2}, T{0.5}, T{-0.5}, T{1}, T{-1}};
            return kFactors[bits % 8];
        }
        return static_cast<T>(1 + low % 3);
    }
    // At most 15 ranks of 8 are inside an int8_t.
    if constexpr (std::is_signed_v<T>) return static_cast<T>(low - 8);
    return static_cast<T>(low);
}

}  // namespace

const std::vector<Type>& types() {
    static const std::vector<Type> all{
        {"int8", rondoInt8, MPI_INT8_T, 1, false},    {"uint8", rondoUint8, MPI_UINT8_T, 1, false},
        {"int16", rondoInt16, MPI_INT16_T, 2, false}, {"uint16", rondoUint16, MPI_UINT16_T, 2, false},
        {"int32", rondoInt32, MPI_INT32_T, 4, false}, {"uint32", rondoUint32, MPI_UINT32_T, 4, false},
        {"int64", rondoInt64, MPI_INT64_T, 8, false}, {"uint64", rondoUint64, MPI_UINT64_T, 8, false},
        {"float", rondoFloat32, MPI_FLOAT, 4, true},  {"double", rondoFloat64, MPI_DOUBLE, 8, true}};
    return all;
}

const std::vector<Op>& ops() {
    static const std::vector<Op> all{{"sum", rondoSum, MPI_SUM},
                                     {"prod", rondoProd, MPI_PROD},
                                     {"max", rondoMax, MPI_MAX},
                                     {"min", rondoMin, MPI_MIN},
                                     {"avg", rondoAvg, MPI_SUM}};
    return all;
}

std::uint64_t hash(std::uint64_t call, int rank, std::size_t element) noexcept {
    // The finalizer of splitmix64 (Steele, Lea and Flood, 2014).
    std::uint64_t z = call * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(rank) * 0xD1B54A32D192ED03U + element;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

void fill(const Type& type, const Op& op, std::uint64_t call, int rank, std::size_t count, std::byte* out) {
    with_type(type, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < count; ++i) {
            const T value = value_for<T>(op.rondo, hash(call, rank, i));
            std::memcpy(out + i * sizeof(T), &value, sizeof(T));
        }
    });
}

void fill_bits(std::uint64_t call, int rank, std::size_t bytes, std::byte* out) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
        const std::uint64_t bits = hash(call, rank, i);
        std::memcpy(out + i, &bits, std::min(sizeof(bits), bytes - i));
    }
}

void divide(const Type& type, int nranks, std::size_t count, std::byte* values) {
    with_type(type, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < count; ++i) {
            T value;
            std::memcpy(&value, values + i * sizeof(T), sizeof(T));
            value = static_cast<T>(value / static_cast<T>(nranks));
            std::memcpy(values + i * sizeof(T), &value, sizeof(T));
        }
    });
}

std::size_t first_difference(const Type& type, const Op& op, std::size_t count, const std::byte* a,
                             const std::byte* b) {
    if (!type.floating || op.rondo != rondoAvg) {
        if (count == 0 || std::memcmp(a, b, count * type.size) == 0) return count;
    }
    std::size_t at = count;
    with_type(type, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < count && at == count; ++i) {
            T x;
            T y;
            std::memcpy(&x, a + i * sizeof(T), sizeof(T));
            std::memcpy(&y, b + i * sizeof(T), sizeof(T));
            if constexpr (std::is_floating_point_v<T>) {
                if (op.rondo == rondoAvg) {
                    const T up = std::nextafter(y, x);
                    if (x != y && x != up) at = i;
                    continue;
                }
            }
            if (std::memcmp(&x, &y, sizeof(T)) != 0) at = i;
        }
    });
    return at;
}

}  // namespace rondo::test
