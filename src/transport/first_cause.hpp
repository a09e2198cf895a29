#pragma once
// Why a communicator failed, as this process knows it: stored once, the first cause.

#include <atomic>
#include <mutex>
#include <utility>

#include "base/cause.hpp"

namespace rondo::transport {

class FirstCause {
public:
    /// Stores the cause if none is stored. Returns true if this one was the first.
    bool set(Cause cause) {
        const std::lock_guard lock(mutex_);
        if (cause_.code != Code::Success) return false;
        cause_ = std::move(cause);
        failed_.store(true, std::memory_order_seq_cst);
        return true;
    }

    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }

    /// Code Success while there is none.
    [[nodiscard]] Cause get() const {
        const std::lock_guard lock(mutex_);
        return cause_;
    }

private:
    mutable std::mutex mutex_;
    Cause cause_;
    std::atomic<bool> failed_{false};
};

}  // namespace rondo::transport
