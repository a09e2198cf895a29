#include "base/network_settings.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/settings_registry.hpp"

namespace rondo {

namespace {

constexpr std::size_t kMostTextBytes = 4096;
constexpr std::string_view kPortRangeForm = "two ports as 40000-40099, 1 to 65535, the first no larger than the second";
constexpr std::string_view kHostPortForm = "host:port or [IPv6 address]:port";

std::uint16_t parse_port(std::string_view text) { return static_cast<std::uint16_t>(parse_integer(text, 1, 65535)); }

std::string checked_text(std::string_view text, std::string_view allowed) {
    const bool control = std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; });
    if (!control && text.size() <= kMostTextBytes) return std::string(text);
    throw make_error(Code::InvalidArgument, "'{}' {} (allowed: {})", printable(text),
                     control ? std::string("holds a control character")
                             : fmt::format("has {} characters, more than {}", text.size(), kMostTextBytes),
                     allowed);
}

SettingSpec text(std::string_view name, std::string_view type, std::string NetworkSettings::*field,
                 std::string_view allowed, std::string_view meaning) {
    return {.name = name,
            .type = type,
            .allowed = std::string(allowed),
            .meaning = meaning,
            .set = [=](Settings& s, std::string_view value) { s.network.*field = checked_text(value, allowed); },
            .show = [=](const Settings& s) { return s.network.*field; }};
}

SettingSpec number(std::string_view name, std::int32_t NetworkSettings::*field, std::int32_t min, std::int32_t max,
                   std::string_view meaning) {
    return {.name = name,
            .type = "integer",
            .allowed = fmt::format("{} to {}", min, max),
            .meaning = meaning,
            .set =
                [=](Settings& s, std::string_view value) {
                    s.network.*field = static_cast<std::int32_t>(parse_integer(value, min, max));
                },
            .show =
                [=](const Settings& s) {
                    const std::int32_t value = s.network.*field;
                    return value < min ? std::string() : fmt::format("{}", value);
                }};
}

SettingSpec port_range(std::string_view name, std::string_view meaning) {
    return {.name = name,
            .type = "ports",
            .allowed = std::string(kPortRangeForm),
            .meaning = meaning,
            .set = [](Settings& s, std::string_view value) { s.network.port_range = parse_port_range(value); },
            .show = [](const Settings& s) { return s.network.port_range.text(); }};
}

SettingSpec host_port(std::string_view name, std::string_view meaning) {
    return {.name = name,
            .type = "host:port",
            .allowed = std::string(kHostPortForm),
            .meaning = meaning,
            .set =
                [](Settings& s, std::string_view value) {
                    parse_host_port(value);
                    s.network.comm_id = value;
                },
            .show = [](const Settings& s) { return s.network.comm_id; }};
}

/// Its value is never shown: not in tables, not in logs, not in errors.
SettingSpec secret(std::string_view name, std::string_view meaning) {
    return {.name = name,
            .type = "secret",
            .allowed = fmt::format("{} to {} characters", kLeastSecretBytes, kMostSecretBytes),
            .meaning = meaning,
            .set =
                [](Settings& s, std::string_view value) {
                    if (value.size() < kLeastSecretBytes || value.size() > kMostSecretBytes) {
                        throw make_error(Code::InvalidArgument, "the secret has {} characters (allowed: {} to {})",
                                         value.size(), kLeastSecretBytes, kMostSecretBytes);
                    }
                    s.network.comm_secret = value;
                },
            .show =
                [](const Settings& s) {
                    return s.network.comm_secret.empty() ? std::string() : std::string(kHiddenValue);
                }};
}

}  // namespace

std::string PortRange::text() const { return given() ? fmt::format("{}-{}", first, last) : std::string(); }

PortRange parse_port_range(std::string_view text) {
    const std::size_t dash = text.find('-');
    try {
        if (dash != std::string_view::npos) {
            const PortRange range{parse_port(text.substr(0, dash)), parse_port(text.substr(dash + 1))};
            if (range.first <= range.last) return range;
        }
    } catch (const Error&) {
        // The text below says more.
    }
    throw make_error(Code::InvalidArgument, "'{}' is no range of ports (allowed: {})", printable(text), kPortRangeForm);
}

HostPort parse_host_port(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    try {
        if (colon != std::string_view::npos) {
            std::string_view host = text.substr(0, colon);
            const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
            if (brackets) host = host.substr(1, host.size() - 2);
            const bool plain = host.find_first_of(brackets ? " []/" : " []:/") == std::string_view::npos;
            if (!host.empty() && plain) {
                return {checked_text(host, kHostPortForm), parse_port(text.substr(colon + 1))};
            }
        }
    } catch (const Error&) {
        // The text below says more.
    }
    throw make_error(Code::InvalidArgument, "'{}' is no place to meet (allowed: {}, port 1 to 65535)", printable(text),
                     kHostPortForm);
}

std::vector<SettingSpec> network_setting_specs() {
    return {
        text("RONDO_SOCKET_IFNAME", "text", &NetworkSettings::socket_ifname,
             "beginnings of names of interfaces, as eth,ib; ^ in front: all but these; = in front: whole names",
             "network interfaces to use; unset: all but loopback, bridges of containers and virtual ends, if there are "
             "others"),
        port_range("RONDO_PORT_RANGE", "TCP ports that this library may listen at; unset: any free port"),
        text("RONDO_HOSTID", "text", &NetworkSettings::host_id, "up to 4096 printable characters",
             "what processes of one host have in common; unset: boot id and network namespace"),
        host_port("RONDO_COMM_ID",
                  "place where ranks meet that were started without a unique id; rank 0 listens there"),
        number("RONDO_RANK", &NetworkSettings::rank, 0, kMostRanks - 1, "this process's rank, with RONDO_COMM_ID"),
        number("RONDO_NRANKS", &NetworkSettings::nranks, 1, kMostRanks, "number of ranks, with RONDO_COMM_ID"),
        secret("RONDO_COMM_SECRET",
               "secret that the ranks of RONDO_COMM_ID (or of a launcher's variables) share; without one only the "
               "loopback interface is served; never shown"),
        text("RONDO_COMM_SECRET_FILE", "path", &NetworkSettings::comm_secret_file,
             "the path of a file that can be read", "file with that secret, which others must not be able to read"),
    };
}

}  // namespace rondo
