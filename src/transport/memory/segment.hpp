#pragma once
// A mapping of zeroed memory: of this process alone, or shared with those who get its descriptor. It has no name, so
// nothing is left behind whenever and however its users end, and its size does not depend on any mounted file system.

#include <cstddef>
#include <utility>

#include "base/descriptor.hpp"

namespace rondo::transport::memory {

class Segment {
public:
    /// Private to this process. Errors: SystemError.
    static Segment anonymous(std::size_t bytes);
    /// Behind a descriptor that can be handed to other processes; it can never shrink under its users. Errors:
    /// SystemError naming the limit where one is in the way (RLIMIT_FSIZE, address space).
    static Segment create(std::size_t bytes);
    /// Another process's. Errors: SystemError.
    static Segment attach(Descriptor descriptor);

    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&&) = delete;
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment();

    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// -1 where the segment is private.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

    /// Takes the memory for a part of the segment now, so that no later touch can fail. Errors: SystemError.
    void reserve(std::size_t offset, std::size_t bytes) const;

private:
    Segment(std::byte* base, std::size_t size, Descriptor descriptor) noexcept
        : base_(base), size_(size), descriptor_(std::move(descriptor)) {}

    std::byte* base_;
    std::size_t size_;
    Descriptor descriptor_;
};

}  // namespace rondo::transport::memory
