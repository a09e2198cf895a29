// Element types and buffers of the C++ interface; included by rondo.hpp.
#ifndef RONDO_ELEMENT_HPP_
#define RONDO_ELEMENT_HPP_

#include <rondo/rondo.h>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

namespace rondo {
inline namespace cpp0 {

// --- Element types -------------------------------------------------------------------------------------------

/// An IEEE 754 binary16 number as its bits. Converting is the program's business.
struct Half {
    std::uint16_t bits = 0;
    bool operator==(const Half&) const = default;
};

/// A bfloat16 number as its bits: the upper half of a float32.
struct Bfloat16 {
    std::uint16_t bits = 0;
    bool operator==(const Bfloat16&) const = default;
};
static_assert(sizeof(Half) == 2 && sizeof(Bfloat16) == 2);

namespace detail {

template <class T>
constexpr int find_data_type() noexcept {
    constexpr bool by_size = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;
    if constexpr (std::is_same_v<T, Half>) {
        return rondoFloat16;
    } else if constexpr (std::is_same_v<T, Bfloat16>) {
        return rondoBfloat16;
    } else if constexpr (std::is_same_v<T, float>) {
        return rondoFloat32;
    } else if constexpr (std::is_same_v<T, double>) {
        return rondoFloat64;
    } else if constexpr (std::is_same_v<T, std::byte>) {
        return rondoUint8;
    } else if constexpr (by_size && std::is_signed_v<T>) {
        return sizeof(T) == 1 ? rondoInt8 : sizeof(T) == 2 ? rondoInt16 : sizeof(T) == 4 ? rondoInt32 : rondoInt64;
    } else if constexpr (by_size) {
        return sizeof(T) == 1 ? rondoUint8 : sizeof(T) == 2 ? rondoUint16 : sizeof(T) == 4 ? rondoUint32 : rondoUint64;
    } else {
        return -1;
    }
}

}  // namespace detail

/// Types that have a rondoDataType_t: integers of 1, 2, 4 and 8 bytes (by size and sign, so that long and long long
/// both count), float, double, Half, Bfloat16, and std::byte (as rondoUint8). Not bool, not long double.
template <class T>
concept Element = detail::find_data_type<T>()
>= 0;

/// The rondoDataType_t of an element type.
template <Element T>
inline constexpr rondoDataType_t data_type_of = static_cast<rondoDataType_t>(detail::find_data_type<T>());

// --- Buffers -------------------------------------------------------------------------------------------------

/// A contiguous range of elements that outlives the expression it stands in: an lvalue, or a span.
template <class R>
concept InputBuffer = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && Element<std::ranges::range_value_t<R>>;

/// The same, writable.
template <class R>
concept OutputBuffer = InputBuffer<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Two buffers of one element type, the second writable.
template <class In, class Out>
concept BufferPair = InputBuffer<In> && OutputBuffer<Out> &&
    std::is_same_v<std::ranges::range_value_t<In>, std::ranges::range_value_t<Out>>;

namespace detail {

template <class R>
inline constexpr rondoDataType_t type_in = data_type_of<std::ranges::range_value_t<R>>;

template <class R>
std::size_t size_of(R&& range) {
    return static_cast<std::size_t>(std::ranges::size(range));
}

}  // namespace detail

}  // namespace cpp0
}  // namespace rondo

#endif  // RONDO_ELEMENT_HPP_
