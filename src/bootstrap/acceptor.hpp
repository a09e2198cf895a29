#pragma once
// The listeners of a service, and the connections that have proved nothing yet. On the service thread alone.

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/process_descriptor.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/loop.hpp"
#include "bootstrap/service.hpp"

namespace rondo::bootstrap {

class Registry;

class Acceptor {
public:
    Acceptor(Loop& loop, Registry& registry, const AcceptLimits& limits);
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    /// Accepts from a listening socket from now on.
    void add(ProcessDescriptor listener);

    /// Listens at a port of its own for one communicator more, at these addresses; where there are none, at those of
    /// loopback or at all. The last holder of the result closes it, on the service thread. Null with errno set where
    /// the port cannot be had.
    std::shared_ptr<void> share_port(std::uint16_t port, bool loopback, const std::vector<Address>& addresses);

    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
    void clear();

private:
    struct Waiting {
        Waiting(ProcessDescriptor fd, std::string from, ServerHandshake::Lookup lookup)
            : socket(std::move(fd)), peer(std::move(from)), handshake(std::move(lookup)) {}
        ProcessDescriptor socket;
        std::string peer;
        ServerHandshake handshake;
        Loop::Clock::time_point since = Loop::Clock::now();
    };
    using Place = std::list<Waiting>::iterator;

    void accept_all(int listener);
    void take(ProcessDescriptor socket, std::string peer);
    void advance(Place place);
    bool send_output(Waiting& waiting);
    void finish(Place place);
    void drop(Place place, const std::string& reason);
    void close_listener(int listener);
    void pause();
    void resume();
    void arm_timer();
    void drop_late();
    void complain(const std::string& peer, const std::string& reason);
    [[nodiscard]] double patience() const;

    Loop& loop_;
    Registry& registry_;
    const AcceptLimits limits_;
    std::map<int, ProcessDescriptor> listeners_;
    std::map<std::pair<std::uint16_t, bool>, std::weak_ptr<void>> shared_ports_;
    std::list<Waiting> waiting_;  // the oldest first
    bool paused_ = false;
    Loop::TimerId timer_ = 0;
    Loop::TimerId resume_timer_ = 0;
    std::uint64_t unsaid_ = 0;  // complaints that were not logged
    Loop::Clock::time_point said_{};
};

}  // namespace rondo::bootstrap
