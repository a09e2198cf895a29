#pragma once
// What ranks put in and what must come out. Inputs are a hash of (seed, iteration, rank, element), shaped so that every
// order of reduction, with a rounding after each step, gives the same bits:
//
//   moved as is     any bits, NaN patterns included
//   sum, integers   any value: wrapping addition is associative
//   prod, integers  any value = 3 (mod 4): odd factors never collapse the product to 0, and none of them is 1
//   sum, floats     small integers times a power of two that depends on the element: every partial sum fits in the
//                   significand (|sum| <= 2^8 for bfloat16 with any number of ranks)
//   prod, floats    one factor with a full mantissa, up to twelve powers +-2 or +-1/2, the others +-1
//   max, min        any value, for floats finite and not -0
//   avg, floats     as sum; expected: the exact sum divided by the ranks, rounded to nearest
//   avg, integers   of one sign in an element, bounded so that the sum does not wrap, and in half of the elements a
//                   multiple of the ranks; expected: the exact sum divided by the ranks, truncated toward zero
//
// Comparison is of bits. Only the average of floats over a number of ranks that is not a power of two may be off by one
// unit in the last place, since multiplying by the reciprocal is as good an implementation as dividing.

#include <cstddef>
#include <cstdint>
#include <string>

#include "driver/element.hpp"

namespace rondo::perf {

/// The inputs of one operation.
struct Inputs {
    rondoDataType_t type = rondoFloat32;
    rondoRedOp_t op = rondoSum;
    bool reduces = true;  ///< false: elements are moved as they are, and op has no meaning
    int nranks = 1;
    std::uint64_t seed = 0;
    std::uint64_t iteration = 0;
};

/// Result of comparing elements; `first` and the two values describe the first wrong element (bits, zero-extended).
struct Comparison {
    std::uint64_t wrong = 0;
    std::size_t first = 0;
    std::uint64_t expected = 0;
    std::uint64_t actual = 0;
};

/// Writes elements [first, first + count) of rank `rank`'s input to `out`, which may have any alignment.
void fill(const Inputs& inputs, int rank, std::size_t first, std::size_t count, std::byte* out);

/// Writes elements [first, first + count) of the reduction over all ranks' inputs to `out`. inputs.reduces is true.
void fill_reduced(const Inputs& inputs, std::size_t first, std::size_t count, std::byte* out);

/// Units in the last place by which a right result may differ: 0 or 1.
int tolerance_of(const Inputs& inputs) noexcept;

/// Compares `count` elements; tolerance in units in the last place (floats only).
Comparison compare(rondoDataType_t type, int tolerance, const std::byte* expected, const std::byte* actual,
                   std::size_t count);

/// Compares `actual` with elements [first, first + count) of rank `rank`'s input.
Comparison compare_with_input(const Inputs& inputs, int rank, std::size_t first, std::size_t count,
                              const std::byte* actual);

/// Number of bytes of [actual, actual + bytes) that differ from `value`.
std::uint64_t bytes_unlike(std::byte value, const std::byte* actual, std::size_t bytes) noexcept;

/// Flips the bit of element `index` that changes any value by far more than one unit in the last place.
void flip_bit(rondoDataType_t type, std::byte* data, std::size_t index);

/// The element's value as text, for messages.
std::string text_of(rondoDataType_t type, std::uint64_t bits);

}  // namespace rondo::perf
