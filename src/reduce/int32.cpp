// Kernels of the 32-bit integers.

#include "reduce/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/int32.cpp"
#include <hwy/foreach_target.h>

#include "reduce/kernels-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

Kernel int32_choice(DataType type, ReduceOp op) {
    if (type == DataType::Int32) return integer_kernel<std::int32_t>(op);
    if (type == DataType::Uint32) return integer_kernel<std::uint32_t>(op);
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::reduce {

HWY_EXPORT(int32_choice);

Kernel int32_kernel(DataType type, ReduceOp op) noexcept { return HWY_DYNAMIC_DISPATCH(int32_choice)(type, op); }

}  // namespace rondo::reduce
#endif
