#include "transport/tcp/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace rondo::transport::tcp {

namespace {

ProcessDescriptor tcp_socket() {
    ProcessDescriptor made = ProcessDescriptor::open([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    if (!made) throw make_system_error(errno, "socket for a connection within the process");
    return made;
}

sockaddr_in name_of(const ProcessDescriptor& socket) {
    sockaddr_in name{};
    socklen_t length = sizeof(name);
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0) {
        throw make_system_error(errno, "getsockname");
    }
    return name;
}

}  // namespace

std::pair<ProcessDescriptor, ProcessDescriptor> loopback_pair() {
    const ProcessDescriptor listener = tcp_socket();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener.get(), 8) != 0) {
        throw make_system_error(errno, "listening on 127.0.0.1");
    }
    address = name_of(listener);
    ProcessDescriptor caller = tcp_socket();
    if (::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        throw make_system_error(errno, "connecting to 127.0.0.1:{}", ntohs(address.sin_port));
    }
    const std::uint16_t own_port = name_of(caller).sin_port;
    while (true) {
        sockaddr_in peer{};
        socklen_t length = sizeof(peer);
        // The connection is there already: this does not block.
        ProcessDescriptor called = ProcessDescriptor::open(
            [&] { return ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer), &length, SOCK_CLOEXEC); });
        if (!called && errno != EINTR) throw make_system_error(errno, "accepting on 127.0.0.1");
        // Whoever else found the port is turned away.
        if (called && peer.sin_port == own_port) return {std::move(caller), std::move(called)};
    }
}

}  // namespace rondo::transport::tcp
