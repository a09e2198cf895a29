// Kernels of the 8-bit integers.

#include "reduce/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/int8.cpp"
#include <hwy/foreach_target.h>

#include "reduce/kernels-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

Kernel int8_choice(DataType type, ReduceOp op) {
    if (type == DataType::Int8) return integer_kernel<std::int8_t>(op);
    if (type == DataType::Uint8) return integer_kernel<std::uint8_t>(op);
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::reduce {

HWY_EXPORT(int8_choice);

Kernel int8_kernel(DataType type, ReduceOp op) noexcept { return HWY_DYNAMIC_DISPATCH(int8_choice)(type, op); }

}  // namespace rondo::reduce
#endif
