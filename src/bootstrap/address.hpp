#pragma once
// Internet addresses as bytes, without ports.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace rondo::bootstrap {

struct Address {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{};  ///< the first 4 count for IPv4

    [[nodiscard]] bool loopback() const noexcept;    ///< 127.0.0.0/8, ::1
    [[nodiscard]] bool link_local() const noexcept;  ///< 169.254.0.0/16, fe80::/10
    /// "10.0.0.1", "fd00::2".
    [[nodiscard]] std::string text() const;
    /// "10.0.0.1:4711", "[fd00::2]:4711".
    [[nodiscard]] std::string text(std::uint16_t port) const;

    auto operator<=>(const Address&) const = default;

    static Address v4_loopback() noexcept { return {false, {127, 0, 0, 1}}; }
    /// A numeric address in its usual text form.
    static std::optional<Address> parse(const std::string& text);
    /// Of a socket address of either family; IPv4 mapped into IPv6 comes back as IPv4.
    static std::optional<Address> of(const sockaddr* address);
};

/// Where a process listens: in the order in which others should try.
struct Contact {
    std::vector<Address> addresses;
    std::uint16_t port = 0;

    bool operator==(const Contact&) const = default;
};

/// "10.0.0.1:4711 or [fd00::2]:4711".
std::string describe(const Contact& contact);

}  // namespace rondo::bootstrap
