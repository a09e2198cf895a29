#include "driver/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "driver/values.hpp"

namespace rondo::perf {

Arena::Arena(std::size_t bytes) : capacity_((std::max<std::size_t>(bytes, 1) + 4095) / 4096 * 4096) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, capacity_)));
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_.get(), 0, capacity_);
}

void Arena::write_guards(std::size_t index) const noexcept {
    std::byte* const data = slot(index);
    std::memset(data - kGuardBytes, static_cast<int>(kGuard), kGuardBytes);
    std::memset(data + layout_.bytes, static_cast<int>(kGuard), kGuardBytes);
}

std::uint64_t Arena::broken_guards(std::size_t index) const noexcept {
    const std::byte* const data = slot(index);
    return bytes_unlike(kGuard, data - kGuardBytes, kGuardBytes) +
           bytes_unlike(kGuard, data + layout_.bytes, kGuardBytes);
}

}  // namespace rondo::perf
