#pragma once
// The service of a process: one thread that sleeps in epoll, one listener for other hosts and one for this one, and the
// communicators that connections may be meant for. The library's one belongs to the Runtime
// (`Runtime::get().service<Service>()`); tests make several in one process.
//
// A forked child keeps none of its descriptors; its Runtime makes a service of its own.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "base/settings.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/hello.hpp"

namespace rondo::bootstrap {

class Acceptor;
class Liveness;
class Loop;
class Registry;

/// What connections may cost that have proved nothing.
struct AcceptLimits {
    double hello_seconds = 5;           ///< a handshake that takes longer is cut off
    double crowded_seconds = 1;         ///< the same while `unauthenticated` are waiting
    std::size_t unauthenticated = 512;  ///< as many at once; more wait in the listener's queue
};

class Service {
public:
    /// Starts nothing.
    Service() : Service(AcceptLimits{}) {}
    explicit Service(const AcceptLimits& limits);
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    /// Ends the thread. All sessions must be closed.
    ~Service();

    /// Starts the thread and the listeners, once. Of the settings it uses RONDO_PORT_RANGE and RONDO_SOCKET_IFNAME, at
    /// the first call: where the latter is given, the process listens at the addresses that it chooses and at loopback,
    /// else at all. Errors: SystemError (no free port in the range, no thread, no descriptor), InvalidUsage (no such
    /// interface).
    void start(const Settings& settings);
    [[nodiscard]] bool started() const noexcept { return started_.load(std::memory_order_acquire); }

    /// Runs `task` on the service thread, after those posted before. Tasks that have not run when the service ends
    /// never do.
    void post(std::function<void()> task);
    [[nodiscard]] bool on_thread() const noexcept;

    /// Of the listeners, once started.
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] const std::string& unix_name() const noexcept { return unix_name_; }
    /// Where the listeners are, once started; empty: at all addresses.
    [[nodiscard]] const std::vector<Address>& addresses() const noexcept { return addresses_; }
    /// How others reach this process: its addresses as the settings choose them, loopback last; of those, where it
    /// listens.
    [[nodiscard]] Contact contact(const Settings& settings) const;

    /// 0, 1, 2, ...: number of the communicators made from the environment by this process.
    std::uint64_t next_environment_number() noexcept { return environment_number_.fetch_add(1); }

    /// Is this the process that made it?
    [[nodiscard]] bool in_own_process() const noexcept { return Runtime::get().same_process(token_); }

    // For this room.
    [[nodiscard]] const std::shared_ptr<Loop>& loop() noexcept { return loop_; }
    [[nodiscard]] Registry& registry() noexcept { return *registry_; }
    [[nodiscard]] Acceptor& acceptor() noexcept { return *acceptor_; }
    [[nodiscard]] Liveness& liveness() noexcept { return *liveness_; }

private:
    const ProcessToken token_;
    const AcceptLimits limits_;
    std::mutex start_mutex_;
    std::atomic<bool> started_{false};
    std::atomic<std::uint64_t> environment_number_{0};
    std::shared_ptr<Loop> loop_;
    std::unique_ptr<Registry> registry_;
    std::unique_ptr<Acceptor> acceptor_;
    std::unique_ptr<Liveness> liveness_;
    std::uint16_t port_ = 0;
    std::vector<Address> addresses_;
    std::string unix_name_;
};

}  // namespace rondo::bootstrap
