#include "bootstrap/sockets.hpp"

#include <fmt/core.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.hpp"
#include "bootstrap/interfaces.hpp"

namespace rondo::bootstrap {

namespace {

constexpr int kPortsTried = 64;
constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

ProcessDescriptor open_socket(int family) {
    return ProcessDescriptor::open([=] { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

void set_option(int fd, int level, int name, int value) noexcept {
    static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value) == 0);
}

/// Bound and listening; empty with errno set on failure. `both`: an IPv6 one takes IPv4 as well.
TcpListener try_listen_at(SocketAddress where, bool both) {
    TcpListener listener{open_socket(where.family()), 0};
    if (!listener.socket) return listener;
    const int fd = listener.socket.get();
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (where.family() == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, both ? 0 : 1);
    if (::bind(fd, where.get(), where.size) != 0 || ::listen(fd, kBacklog) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&where.storage), &where.size) != 0) {
        const int error = errno;
        listener.socket.reset();
        errno = error;
        return listener;
    }
    sockaddr_in6 v6{};
    std::memcpy(&v6, &where.storage, sizeof v6);  // the port has the same place in both families
    listener.port = ntohs(v6.sin6_port);
    return listener;
}

/// At `port` (0: any) of any address, or of loopback.
TcpListener try_listen(int family, std::uint16_t port, bool loopback) {
    Address address;
    address.v6 = family == AF_INET6;
    if (loopback) address = family == AF_INET6 ? *Address::parse("::1") : Address::v4_loopback();
    return try_listen_at(SocketAddress::tcp(address, port), true);
}

/// A link-local address is one of each interface that has it.
std::uint32_t scope_of(const Address& address) {
    if (!address.v6 || !address.link_local()) return 0;
    for (const Interface& interface : list_interfaces()) {
        if (interface.up && interface.address == address) return interface.index;
    }
    return 0;
}

/// listen(port) at each port of the range until one is free.
template <class Listen>
auto listen_in(const PortRange& range, Listen listen) {
    int error = 0;
    for (std::uint32_t port = range.first; port <= range.last; ++port) {
        auto listener = listen(static_cast<std::uint16_t>(port));
        if (listener.port != 0) return listener;
        error = errno;
        if (error != EADDRINUSE && error != EACCES) break;
    }
    throw make_system_error(error,
                            "no free TCP port in RONDO_PORT_RANGE={}-{} ({} ports, one for each process of this host); "
                            "widen the range, or end what holds its ports",
                            range.first, range.last, range.last - range.first + 1);
}

/// IPv6 with IPv4 inside, else IPv4.
TcpListener try_listen_anywhere(std::uint16_t port) {
    TcpListener listener = try_listen(AF_INET6, port, false);
    const bool no_v6 = !listener.socket && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL);
    return no_v6 ? try_listen(AF_INET, port, false) : std::move(listener);
}

}  // namespace

SocketAddress SocketAddress::tcp(const Address& address, std::uint16_t port, std::uint32_t scope) {
    SocketAddress to;
    to.text = address.text(port);
    if (address.v6) {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        v6.sin6_scope_id = scope;
        std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof v6.sin6_addr);
        std::memcpy(&to.storage, &v6, sizeof v6);
        to.size = sizeof v6;
    } else {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, address.bytes.data(), sizeof v4.sin_addr);
        std::memcpy(&to.storage, &v4, sizeof v4);
        to.size = sizeof v4;
    }
    return to;
}

SocketAddress SocketAddress::abstract_unix(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
    std::copy_n(name.begin(), size, address.sun_path + 1);
    SocketAddress to;
    std::memcpy(&to.storage, &address, sizeof address);
    to.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    to.text = "Unix socket @" + name;
    return to;
}

TcpListener listen_anywhere(const PortRange& range) {
    if (!range.given()) {
        TcpListener listener = try_listen_anywhere(0);
        if (!listener.socket) throw make_system_error(errno, "listening at a free TCP port");
        return listener;
    }
    return listen_in(range, try_listen_anywhere);
}

TcpListeners listen_on(const std::vector<Address>& addresses, std::uint16_t port) {
    TcpListeners all;
    for (const Address& address : addresses) {
        const std::uint16_t at = all.port != 0 ? all.port : port;
        TcpListener listener = try_listen_at(SocketAddress::tcp(address, at, scope_of(address)), false);
        if (listener.socket) {
            all.port = listener.port;
            all.sockets.push_back(std::move(listener.socket));
            all.addresses.push_back(address);
        } else if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) {
            const int error = errno;
            all = {};
            errno = error;
            return all;
        }
    }
    if (all.sockets.empty()) errno = EADDRNOTAVAIL;
    return all;
}

TcpListeners listen_on(const std::vector<Address>& addresses, const PortRange& range) {
    if (range.given()) return listen_in(range, [&](std::uint16_t port) { return listen_on(addresses, port); });
    // A port that is free at the first address may be taken at another.
    for (int i = 0; i < kPortsTried; ++i) {
        TcpListeners listeners = listen_on(addresses, std::uint16_t{0});
        if (!listeners.sockets.empty()) return listeners;
        if (errno != EADDRINUSE) break;
    }
    throw make_system_error(errno, "listening at a TCP port of the interfaces that RONDO_SOCKET_IFNAME chooses");
}

TcpListener listen_at(std::uint16_t port, bool loopback) {
    return loopback ? try_listen(AF_INET, port, true) : try_listen_anywhere(port);
}

UnixListener listen_unix() {
    UnixListener listener{open_socket(AF_UNIX), {}};
    if (!listener.socket) throw make_system_error(errno, "opening a Unix socket");
    const int fd = listener.socket.get();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // The address family alone: the kernel chooses an abstract name, which leaves nothing behind.
    socklen_t size = sizeof address.sun_family;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(fd, kBacklog) != 0) {
        throw make_system_error(errno, "listening at an abstract Unix socket");
    }
    size = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw make_system_error(errno, "name of an abstract Unix socket");
    }
    const std::size_t before = offsetof(sockaddr_un, sun_path) + 1;
    if (size > before) listener.name.assign(address.sun_path + 1, size - before);
    return listener;
}

ProcessDescriptor begin_connect(const SocketAddress& to) {
    ProcessDescriptor socket = open_socket(to.family());
    if (!socket) return socket;
    if (to.family() != AF_UNIX) set_no_delay(socket.get());
    if (::connect(socket.get(), to.get(), to.size) == 0 || errno == EINPROGRESS) return socket;
    const int error = errno;
    socket.reset();
    errno = error;
    return socket;
}

ProcessDescriptor accept_from(int listener, std::string& peer) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    ProcessDescriptor socket = ProcessDescriptor::open(
        [&] { return ::accept4(listener, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (!socket) return socket;
    if (const auto address = Address::of(reinterpret_cast<const sockaddr*>(&from))) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &from, sizeof v6);
        peer = address->text(ntohs(v6.sin6_port));
        set_no_delay(socket.get());
    } else {
        peer = "a process of this host";
    }
    return socket;
}

void set_no_delay(int fd) noexcept { set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

void set_silence_limit(int fd, double seconds) noexcept {
    constexpr int kProbes = 3;
    const double limit = std::clamp(seconds, 1.0, 86400.0);
    const int part = std::max(1, static_cast<int>(limit / (kProbes + 1)));
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, part);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, part);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(limit * 1000));
}

}  // namespace rondo::bootstrap
