#include "bootstrap/address.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace rondo::bootstrap {

bool Address::loopback() const noexcept {
    if (!v6) return bytes[0] == 127;
    return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; });
}

bool Address::link_local() const noexcept {
    return v6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

std::string Address::text() const {
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), buffer.data(), buffer.size());
    return buffer.data();
}

std::string Address::text(std::uint16_t port) const {
    return v6 ? fmt::format("[{}]:{}", text(), port) : fmt::format("{}:{}", text(), port);
}

std::optional<Address> Address::parse(const std::string& text) {
    Address address;
    if (::inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
    address.v6 = true;
    if (::inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
    return std::nullopt;
}

std::optional<Address> Address::of(const sockaddr* address) {
    if (address == nullptr) return std::nullopt;
    Address found;
    if (address->sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, address, sizeof v4);
        std::memcpy(found.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
        return found;
    }
    if (address->sa_family != AF_INET6) return std::nullopt;
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        std::memcpy(found.bytes.data(), v6.sin6_addr.s6_addr + 12, 4);
        return found;
    }
    found.v6 = true;
    std::memcpy(found.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    return found;
}

std::string describe(const Contact& contact) {
    std::string text;
    for (const Address& address : contact.addresses) {
        if (!text.empty()) text += " or ";
        text += address.text(contact.port);
    }
    return text;
}

}  // namespace rondo::bootstrap
