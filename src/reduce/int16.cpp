// Kernels of the 16-bit integers.

#include "reduce/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/int16.cpp"
#include <hwy/foreach_target.h>

#include "reduce/kernels-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

Kernel int16_choice(DataType type, ReduceOp op) {
    if (type == DataType::Int16) return integer_kernel<std::int16_t>(op);
    if (type == DataType::Uint16) return integer_kernel<std::uint16_t>(op);
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::reduce {

HWY_EXPORT(int16_choice);

Kernel int16_kernel(DataType type, ReduceOp op) noexcept { return HWY_DYNAMIC_DISPATCH(int16_choice)(type, op); }

}  // namespace rondo::reduce
#endif
