#pragma once
// What the translation units of this room offer to kernel_for. Each returns null for a type that is not its own.

#include "base/types.hpp"
#include "reduce/reduce.hpp"

namespace rondo::reduce {

Kernel int8_kernel(DataType type, ReduceOp op) noexcept;
Kernel int16_kernel(DataType type, ReduceOp op) noexcept;
Kernel int32_kernel(DataType type, ReduceOp op) noexcept;
Kernel int64_kernel(DataType type, ReduceOp op) noexcept;
Kernel half_kernel(DataType type, ReduceOp op) noexcept;   ///< Float16 and Bfloat16
Kernel float_kernel(DataType type, ReduceOp op) noexcept;  ///< Float32 and Float64

}  // namespace rondo::reduce
