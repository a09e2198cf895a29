// Kernels of float32 and float64.

#include "reduce/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/float.cpp"
#include <hwy/foreach_target.h>

#include "reduce/kernels-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

Kernel float_choice(DataType type, ReduceOp op) {
    if (type == DataType::Float32) return floating_kernel<Native<float>>(op);
    if (type == DataType::Float64) return floating_kernel<Native<double>>(op);
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::reduce {

HWY_EXPORT(float_choice);

Kernel float_kernel(DataType type, ReduceOp op) noexcept { return HWY_DYNAMIC_DISPATCH(float_choice)(type, op); }

}  // namespace rondo::reduce
#endif
