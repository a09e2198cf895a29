// Kernels of the 64-bit integers.

#include "reduce/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/int64.cpp"
#include <hwy/foreach_target.h>

#include "reduce/kernels-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

Kernel int64_choice(DataType type, ReduceOp op) {
    if (type == DataType::Int64) return integer_kernel<std::int64_t>(op);
    if (type == DataType::Uint64) return integer_kernel<std::uint64_t>(op);
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::reduce {

HWY_EXPORT(int64_choice);

Kernel int64_kernel(DataType type, ReduceOp op) noexcept { return HWY_DYNAMIC_DISPATCH(int64_choice)(type, op); }

}  // namespace rondo::reduce
#endif
