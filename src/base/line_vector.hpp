#pragma once
// Vectors that share no cache line with anything else. For what one thread writes often: small blocks of the heap lie
// side by side, and a neighbour that another core writes would take the line away each time.

#include <cstddef>
#include <new>
#include <vector>

namespace rondo {

/// Two cache lines of 64 bytes: processors fetch them in pairs.
inline constexpr std::size_t kLinePair = 128;

template <class T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kAlign{kLinePair};

    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): as allocators are

    T* allocate(std::size_t count) {
        const std::size_t bytes = (count * sizeof(T) + kLinePair - 1) / kLinePair * kLinePair;
        return static_cast<T*>(::operator new(bytes, kAlign));
    }
    void deallocate(T* place, std::size_t) noexcept { ::operator delete(place, kAlign); }

    template <class U>
    bool operator==(const LineAllocator<U>&) const noexcept {
        return true;
    }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace rondo
