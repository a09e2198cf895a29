#pragma once
// File descriptors that a forked child must not keep: a socket that lives on in a child hides the death of its process
// from the peers. The child closes its copies inside fork(), before any of its code runs.

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/runtime.hpp"

namespace rondo {

/// An open file descriptor of this process alone, closed at the end of its life. In a forked child an inherited object
/// is empty. Open with O_CLOEXEC or its like: this class cares for fork alone.
class ProcessDescriptor {
public:
    ProcessDescriptor() = default;
    ProcessDescriptor(ProcessDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), token_(other.token_) {}
    ProcessDescriptor& operator=(ProcessDescriptor&& other) noexcept;
    ProcessDescriptor(const ProcessDescriptor&) = delete;
    ProcessDescriptor& operator=(const ProcessDescriptor&) = delete;
    ~ProcessDescriptor() { reset(); }

    /// The descriptor that `make()` opens; `make` returns -1 and sets errno where it cannot, and must not block: no
    /// fork happens meanwhile. Where the process is at its soft limit of descriptors, the limit is raised to the hard
    /// one and `make` called again. Empty, with errno set, on failure.
    template <class Make>
    static ProcessDescriptor open(Make&& make) {
        const std::lock_guard lock(Runtime::get().descriptors().mutex());
        int fd = -1;
        DescriptorTable::with_room([&] { return (fd = make()) >= 0; });
        return keep(fd);
    }

    /// -1 if there is none.
    [[nodiscard]] int get() const noexcept { return Runtime::get().same_process(token_) ? fd_ : -1; }
    explicit operator bool() const noexcept { return get() >= 0; }

    /// Closes it now.
    void reset() noexcept;

    /// Gives it up: it stays open, also in children.
    [[nodiscard]] int release() noexcept;

private:
    static ProcessDescriptor keep(int fd);

    int fd_ = -1;
    ProcessToken token_;
};

}  // namespace rondo
