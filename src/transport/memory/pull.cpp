#include "transport/memory/pull.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

namespace rondo::transport::memory {

namespace {

// The kernel moves at most this much in one call.
constexpr std::size_t kMost = std::size_t{1} << 30U;

}  // namespace

int pull(pid_t pid, const void* source, void* target, std::size_t bytes) noexcept {
    auto* to = static_cast<std::byte*>(target);
    const auto* from = static_cast<const std::byte*>(source);
    while (bytes > 0) {
        const std::size_t wanted = std::min(bytes, kMost);
        const iovec local{to, wanted};
        // The call only reads there; its type has no const.
        const iovec remote{const_cast<std::byte*>(from), wanted};
        const ssize_t got = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) return EFAULT;
        to += got;
        from += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return 0;
}

int PullSample::test(pid_t pid, const std::uint64_t* data, std::uint64_t key) noexcept {
    const std::unique_ptr<std::array<std::uint64_t, kWords>> copy(new (std::nothrow)
                                                                      std::array<std::uint64_t, kWords>{});
    if (!copy) return ENOMEM;
    if (const int error = pull(pid, data, copy->data(), sizeof(*copy)); error != 0) return error;
    for (std::size_t i = 0; i < kWords; ++i) {
        if ((*copy)[i] != word(key, i)) return EILSEQ;
    }
    return 0;
}

}  // namespace rondo::transport::memory
