// Choice of the kernel, and the copy.

#include "reduce/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/reduce.cpp"
#include <hwy/foreach_target.h>

#include "reduce/kernels-inl.hpp"
#include "reduce/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

Kernel copy_choice() { return &copy_kernel<std::uint8_t>; }

const char* name_choice() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::reduce {

HWY_EXPORT(copy_choice);
HWY_EXPORT(name_choice);

const char* target_name() noexcept { return HWY_DYNAMIC_DISPATCH(name_choice)(); }

Kernel kernel_for(DataType type, ReduceOp op) noexcept {
    switch (type) {
        case DataType::Int8:
        case DataType::Uint8: return int8_kernel(type, op);
        case DataType::Int16:
        case DataType::Uint16: return int16_kernel(type, op);
        case DataType::Int32:
        case DataType::Uint32: return int32_kernel(type, op);
        case DataType::Int64:
        case DataType::Uint64: return int64_kernel(type, op);
        case DataType::Float16:
        case DataType::Bfloat16: return half_kernel(type, op);
        case DataType::Float32:
        case DataType::Float64: return float_kernel(type, op);
    }
    return nullptr;
}

void copy(void* const* dst, int ndst, const void* src, std::size_t bytes, bool stream) noexcept {
    const Kernel kernel = HWY_DYNAMIC_DISPATCH(copy_choice)();
    kernel({.dst = dst, .ndst = ndst, .src = &src, .nsrc = 1, .count = bytes, .stream = stream});
}

}  // namespace rondo::reduce
#endif
