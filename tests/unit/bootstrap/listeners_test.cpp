// Where a process listens: at all addresses, or at those that RONDO_SOCKET_IFNAME chooses and at loopback.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/error.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/sockets.hpp"
#include "unit/bootstrap/members.hpp"

namespace rondo::bootstrap {
namespace {

/// 0 where somebody listens there, else the error.
int knock(const Address& address, std::uint16_t port) {
    const ProcessDescriptor socket = begin_connect(SocketAddress::tcp(address, port));
    if (!socket) return errno;
    pollfd ready{socket.get(), POLLOUT, 0};
    if (::poll(&ready, 1, 2000) != 1) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

Address v4(const char* text) { return *Address::parse(text); }

/// An IPv4 address of this machine that is none of loopback.
std::optional<Interface> other_interface() {
    for (const Interface& interface : list_interfaces()) {
        if (interface.up && !interface.address.v6 && !interface.address.loopback()) return interface;
    }
    return std::nullopt;
}

TEST(Listeners, AtSomeAddressesAreAtNoOther) {
    const TcpListeners some = listen_on({v4("127.0.0.1"), v4("127.0.0.3")}, std::uint16_t{0});
    ASSERT_EQ(some.sockets.size(), 2U);
    EXPECT_EQ(knock(v4("127.0.0.1"), some.port), 0);
    EXPECT_EQ(knock(v4("127.0.0.3"), some.port), 0) << "one port for all";
    EXPECT_EQ(knock(v4("127.0.0.2"), some.port), ECONNREFUSED);
    EXPECT_EQ(listen_on({v4("127.0.0.1")}, some.port).sockets.size(), 0U);
    EXPECT_EQ(errno, EADDRINUSE);
    const TcpListener any = listen_anywhere({});
    EXPECT_EQ(knock(v4("127.0.0.2"), any.port), 0);
}

TEST(Listeners, LeaveOutAddressesOfOtherMachines) {
    const TcpListeners some = listen_on({v4("192.0.2.77"), v4("127.0.0.1")}, PortRange{});
    EXPECT_EQ(some.addresses, (std::vector<Address>{v4("127.0.0.1")}));
    EXPECT_EQ(listen_on({v4("192.0.2.77")}, std::uint16_t{0}).sockets.size(), 0U);
    EXPECT_EQ(errno, EADDRNOTAVAIL);
}

TEST(Listeners, OfAServiceAreAtAllAddressesUnlessInterfacesAreChosen) {
    Service open;
    open.start(Settings{});
    EXPECT_TRUE(open.addresses().empty());
    EXPECT_EQ(knock(v4("127.0.0.2"), open.port()), 0);

    Settings settings;
    settings.network.socket_ifname = "=lo";
    Service narrow;
    narrow.start(settings);
    EXPECT_EQ(knock(v4("127.0.0.1"), narrow.port()), 0);
    EXPECT_EQ(knock(v4("127.0.0.2"), narrow.port()), ECONNREFUSED);
    if (const auto other = other_interface()) {
        EXPECT_EQ(knock(other->address, open.port()), 0);
        EXPECT_EQ(knock(other->address, narrow.port()), ECONNREFUSED) << other->name;
        // One that asks for more later is told of what there is.
        const Contact contact = narrow.contact(Settings{});
        EXPECT_EQ(std::count(contact.addresses.begin(), contact.addresses.end(), other->address), 0);
        EXPECT_FALSE(contact.addresses.empty());
    }
}

TEST(Listeners, AtTheChosenInterfacesAreReached) {
    const auto other = other_interface();
    Settings settings;
    settings.network.socket_ifname = other ? "=" + other->name : "=lo";
    Service a;
    Service b;
    a.start(settings);
    b.start(settings);
    if (other) {
        EXPECT_EQ(knock(other->address, a.port()), 0);
        EXPECT_EQ(knock(v4("127.0.0.2"), a.port()), ECONNREFUSED);
    }
    const UniqueId id = make_unique_id(a, settings);
    Member first;
    Member second;
    SessionOptions options = options_for(&a, id, 2);
    options.settings = settings;
    first.open(options);
    options.service = &b;
    second.open(options);
    first.join(0);
    second.join(1);
    EXPECT_TRUE(first.owner.await_roster());
    EXPECT_TRUE(second.owner.await_roster());
}

/// The port of rank 0, where ranks meet by the environment, is one of these listeners.
TEST(Listeners, AtThePlaceInTheEnvironmentAreNotAtOthers) {
    const std::uint16_t port = listen_on({v4("127.0.0.1")}, std::uint16_t{0}).port;
    Settings settings;
    settings.network.comm_id = fmt::format("127.0.0.3:{}", port);
    settings.network.rank = 0;
    settings.network.nranks = 2;
    settings.network.comm_secret = "0123456789abcdef0123456789abcdef";
    settings.network.socket_ifname = "=lo";
    Service a;
    Member root;
    const UniqueId id = id_from_environment(
                            settings, [](const std::string&) { return std::nullopt; }, 0)
                            .id;
    // As if the place were of another interface: a loopback address alone gets a listener of loopback anyway.
    Identity identity = decode(id);
    identity.loopback = false;
    SessionOptions options = options_for(&a, encode(identity), 2);
    options.settings = settings;
    root.open(options);
    root.join(0);
    for (int i = 0; i < 500 && knock(v4("127.0.0.3"), port) != 0; ++i) ::poll(nullptr, 0, 2);
    EXPECT_EQ(knock(v4("127.0.0.3"), port), 0);
    EXPECT_EQ(knock(v4("127.0.0.1"), port), 0);
    EXPECT_EQ(knock(v4("127.0.0.2"), port), ECONNREFUSED);
}

}  // namespace
}  // namespace rondo::bootstrap
