#pragma once
// Which connections have become readable or writable: one system call for all of them, and a bell for other threads.
//
// Events are edges: one comes when something has changed, so a flow keeps what it was told until the system refuses it,
// and nothing needs to be registered anew when output gets stuck.

#include <chrono>

#include "base/process_descriptor.hpp"

namespace rondo::transport::tcp {

class Flow;

class Poller {
public:
    /// Errors: SystemError.
    Poller();

    /// Errors: SystemError.
    void add(Flow& flow);
    void remove(const Flow& flow) noexcept;

    [[nodiscard]] int flows() const noexcept { return flows_; }

    /// Marks the flows that have become readable or writable.
    void poll() noexcept;
    /// The same, after having waited for that, for wake(), or until time is up.
    void wait(std::chrono::nanoseconds longest) noexcept;
    /// From any thread: ends the wait() in progress or the next one, unless a poll() comes between.
    void wake() noexcept;

private:
    ProcessDescriptor epoll_;
    ProcessDescriptor wake_;
    const int epoll_fd_;
    const int wake_fd_;
    bool precise_ = true;  // the system has epoll_pwait2
    int flows_ = 0;
};

}  // namespace rondo::transport::tcp
