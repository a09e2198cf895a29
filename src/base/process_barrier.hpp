#pragma once
// One side of an agreement pays for both. Where two threads each store one word and then load the other's, both may
// miss what the other stored (Dekker's problem) unless each has a full barrier between its store and its load. If one
// of them does so often and the other rarely, the rare one calls process_barrier() between its two: membarrier(2)
// executes a full barrier on every core that runs a thread of this process. That barrier falls either before the
// other's load, which then sees the rare side's store, or after the other's store, which the rare side's load then
// sees. The often side only keeps the compiler from swapping its store and its load (atomic_signal_fence).

#include <sys/syscall.h>
#include <unistd.h>

namespace rondo {

/// False where the kernel has no such barrier; both sides must then use seq_cst operations of their own. The first call
/// registers the process.
inline bool has_process_barrier() noexcept {
    constexpr int kRegisterPrivateExpedited = 1 << 4;  // linux/membarrier.h
    static const bool registered = ::syscall(SYS_membarrier, kRegisterPrivateExpedited, 0, 0) == 0;
    return registered;
}

/// A full barrier on every core that runs a thread of this process. Only where has_process_barrier().
inline void process_barrier() noexcept {
    constexpr int kPrivateExpedited = 1 << 3;  // linux/membarrier.h
    ::syscall(SYS_membarrier, kPrivateExpedited, 0, 0);
}

}  // namespace rondo
