#pragma once
// Opening sockets as this room wants them: non-blocking, closed at exec and in forked children, without delay.

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/process_descriptor.hpp"
#include "base/settings.hpp"
#include "bootstrap/address.hpp"

namespace rondo::bootstrap {

/// Where a socket goes to or comes from.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
    std::string text;  ///< "10.0.0.1:4711", "@0001a" for an abstract Unix address

    static SocketAddress tcp(const Address& address, std::uint16_t port, std::uint32_t scope = 0);
    static SocketAddress abstract_unix(const std::string& name);
    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] int family() const noexcept { return storage.ss_family; }
};

struct TcpListener {
    ProcessDescriptor socket;
    std::uint16_t port = 0;
};

/// Listens on all interfaces, IPv6 and IPv4 alike where there is IPv6, at a free port of the range. Errors: SystemError
/// (no port is free: names the range).
TcpListener listen_anywhere(const PortRange& range);

/// Listens at one port, on all interfaces or on that of loopback alone. Empty socket, with errno set, on failure.
TcpListener listen_at(std::uint16_t port, bool loopback);

/// Listeners at one port of several addresses.
struct TcpListeners {
    std::vector<ProcessDescriptor> sockets;
    std::uint16_t port = 0;
    std::vector<Address> addresses;  ///< those of them that there are
};

/// Listens at these addresses alone, at one free port of the range. Errors: SystemError (no port is free, or none of
/// the addresses is one of this machine's).
TcpListeners listen_on(const std::vector<Address>& addresses, const PortRange& range);

/// The same at one port (0: any). No socket, with errno set, on failure. Addresses that this machine does not have are
/// left out, if it has others.
TcpListeners listen_on(const std::vector<Address>& addresses, std::uint16_t port);

struct UnixListener {
    ProcessDescriptor socket;
    std::string name;  ///< abstract, without the leading NUL; chosen by the kernel
};

/// Errors: SystemError.
UnixListener listen_unix();

/// A non-blocking socket that has begun to connect. Empty, with errno set, on failure.
ProcessDescriptor begin_connect(const SocketAddress& to);

/// A connection accepted from a listener; empty, with errno set, if there is none.
ProcessDescriptor accept_from(int listener, std::string& peer);

/// No delay of small messages; for TCP sockets.
void set_no_delay(int fd) noexcept;

/// A peer that is silent for `seconds` is given up: keep-alive probes, and a limit to unacknowledged data.
void set_silence_limit(int fd, double seconds) noexcept;

}  // namespace rondo::bootstrap
