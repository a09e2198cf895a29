#pragma once
// Networks of several ranks in one process, connected by socket pairs or over loopback TCP.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/process_descriptor.hpp"
#include "transport/doorbell.hpp"
#include "transport/tcp/network.hpp"

namespace rondo::transport::tcp::test {

enum class Wire { SocketPair, Loopback };

inline ProcessDescriptor owned(int fd) {
    if (fd < 0) throw std::runtime_error(std::strerror(errno));
    return ProcessDescriptor::open([fd] { return fd; });
}

/// Both ends of a connection. `buffer` > 0: bytes of the system's buffers.
inline std::pair<ProcessDescriptor, ProcessDescriptor> connected(Wire wire, int buffer = 0) {
    const auto shrink = [buffer](int fd) {
        if (buffer == 0) return;
        ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
        ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    };
    if (wire == Wire::SocketPair) {
        std::array<int, 2> fds{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0)
            throw std::runtime_error("socketpair");
        for (const int fd : fds) shrink(fd);
        return {owned(fds[0]), owned(fds[1])};
    }
    const ProcessDescriptor listener = owned(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ProcessDescriptor client = owned(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    shrink(listener.get());
    shrink(client.get());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.get(), plain, bytes) != 0 || ::listen(listener.get(), 1) != 0 ||
        ::getsockname(listener.get(), plain, &bytes) != 0 || ::connect(client.get(), plain, bytes) != 0) {
        throw std::runtime_error("loopback");
    }
    ProcessDescriptor server = owned(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    shrink(server.get());
    return {std::move(client), std::move(server)};
}

class Networks {
public:
    Networks(Rank nranks, std::uint32_t slots, std::size_t slot_bytes, int flows, Wire wire, int buffer = 0)
        : wire_(wire), buffer_(buffer) {
        for (Rank rank = 0; rank < nranks; ++rank) {
            ranks_.push_back(std::make_unique<One>(*this, rank, nranks, slots, slot_bytes, flows));
        }
    }

    Network& operator[](Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]->network; }
    Doorbell& bell(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]->bell; }
    /// Ends a rank's connections as its death would.
    void kill(Rank rank) { ranks_[static_cast<std::size_t>(rank)]->network.reset(); }
    /// The sockets of connections that `rank` has asked for, in order.
    [[nodiscard]] const std::vector<int>& sockets(Rank rank) const {
        return ranks_[static_cast<std::size_t>(rank)]->sockets;
    }
    [[nodiscard]] Rank size() const { return static_cast<Rank>(ranks_.size()); }

private:
    struct One final : Dialer {
        One(Networks& all, Rank own, Rank nranks, std::uint32_t slots, std::size_t slot_bytes, int flows)
            : networks(all),
              rank(own),
              network(std::make_unique<Network>(own, nranks, slots, slot_bytes, bell, *this, flows)) {}
        void dial(Rank peer, int flow) override {
            auto [mine, theirs] = connected(networks.wire_, networks.buffer_);
            sockets.push_back(mine.get());
            networks[peer].deliver(rank, flow, std::move(theirs));
            networks[rank].deliver(peer, flow, std::move(mine));
        }
        Networks& networks;
        Rank rank;
        std::vector<int> sockets;
        Doorbell bell;
        std::unique_ptr<Network> network;
    };

    const Wire wire_;
    const int buffer_;
    std::vector<std::unique_ptr<One>> ranks_;
};

}  // namespace rondo::transport::tcp::test
