// Kernels of the 16-bit floating types, which are reduced in float32.

#include "reduce/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/half.cpp"
#include <hwy/foreach_target.h>

#include "reduce/kernels-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

Kernel half_choice(DataType type, ReduceOp op) {
    if (type == DataType::Float16) return floating_kernel<Half>(op);
    if (type == DataType::Bfloat16) return floating_kernel<Brain>(op);
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::reduce {

HWY_EXPORT(half_choice);

Kernel half_kernel(DataType type, ReduceOp op) noexcept { return HWY_DYNAMIC_DISPATCH(half_choice)(type, op); }

}  // namespace rondo::reduce
#endif
