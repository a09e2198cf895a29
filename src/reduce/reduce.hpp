#pragma once
// Reduce-copy on host memory: the one operation that every step of a plan is.
//
// One kernel for each element type and operation, in versions for several SIMD instruction sets of which the best that
// the processor has is chosen at run time. The bits of a result depend on the operands and their order only: not on
// the instruction set, alignment, count, or the position of an element.
//
// Arithmetic:
// - Integers: sum and product wrap. Avg divides the wrapped sum and truncates toward zero.
// - Float16 and Bfloat16: all operands are converted to float32, accumulated there in order, and rounded once (to
//   nearest, ties to even) at the end. Avg divides in float32 before rounding. Float32 and Float64: in their own type.
// - Float Avg is a true division by the divisor, converted to the type of the accumulation.
// - Min and Max of floats: any NaN operand gives NaN; -0 is less than +0.
// - A NaN that results from arithmetic is the positive quiet NaN without payload (Float32: 0x7fc00000).
// - A single source without a division is copied: every bit stays, signalling NaNs and payloads included.
// The rounding mode must be to nearest, and subnormals must not be flushed (the state in which a program starts).

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace rondo::reduce {

/// Every dst[d][i] = finish(src[0][i] (op) src[1][i] (op) ...), i < count, evaluated from left to right.
///
/// Pointers may have any alignment. No byte outside [pointer, pointer + count * size) is read or written. A destination
/// may be the same range as a source, or as another destination; ranges that overlap in part are not allowed. Sources
/// may overlap each other in any way. With count 0 the pointers are not used.
struct ReduceCopy {
    void* const* dst = nullptr;        ///< [ndst]
    int ndst = 0;                      ///< >= 1
    const void* const* src = nullptr;  ///< [nsrc]
    int nsrc = 0;                      ///< >= 1
    std::size_t count = 0;             ///< elements of each operand
    std::uint32_t divisor = 1;         ///< of Avg, >= 1; the number of ranks
    bool post = false;                 ///< Avg: divide by `divisor`; without it Avg is Sum. Other operations ignore it
    bool stream = false;  ///< store past the caches: for outputs larger than the cache that nobody reads soon
};

/// When a kernel returns, all its stores (non-temporal ones too) come before any later store of the calling thread.
using Kernel = void (*)(const ReduceCopy&) noexcept;

/// The kernel of an element type and an operation for this processor; never null for valid values. To be asked once and
/// kept: the kernel itself contains no dispatch.
Kernel kernel_for(DataType type, ReduceOp op) noexcept;

/// Copies `bytes` bytes from `src` to each of dst[0..ndst), reading the source once. Rules of ReduceCopy.
void copy(void* const* dst, int ndst, const void* src, std::size_t bytes, bool stream) noexcept;

/// The instruction set that kernel_for chose: "AVX3" (AVX-512), "AVX2", "NEON" or "SCALAR" (portable code).
const char* target_name() noexcept;

}  // namespace rondo::reduce
