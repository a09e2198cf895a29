#pragma once
// The settings by which processes find and know each other.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// TCP ports to listen at, both ends included.
struct PortRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;

    [[nodiscard]] bool given() const noexcept { return first != 0; }
    /// "a-b"; "" where not given.
    [[nodiscard]] std::string text() const;

    bool operator==(const PortRange&) const = default;
};

/// A place as users write it: "name:port", "10.0.0.1:port" or "[fd00::2]:port".
struct HostPort {
    std::string host;  ///< without the brackets
    std::uint16_t port = 0;

    bool operator==(const HostPort&) const = default;
};

/// Errors of both: InvalidArgument with the text and what is allowed.
PortRange parse_port_range(std::string_view text);
HostPort parse_host_port(std::string_view text);

struct NetworkSettings {
    std::string socket_ifname;
    PortRange port_range;
    std::string host_id;
    std::string comm_id;
    std::int32_t rank = -1;   ///< -1: unset
    std::int32_t nranks = 0;  ///< 0: unset
    std::string comm_secret;
    std::string comm_secret_file;

    bool operator==(const NetworkSettings&) const = default;
};

inline constexpr std::size_t kLeastSecretBytes = 16;
inline constexpr std::size_t kMostSecretBytes = 4096;
inline constexpr std::int32_t kMostRanks = 1 << 20;

struct SettingSpec;

/// Their part of the registry.
std::vector<SettingSpec> network_setting_specs();

}  // namespace rondo
