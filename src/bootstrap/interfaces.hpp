#pragma once
// Which addresses of this machine others should try.

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/address.hpp"

namespace rondo::bootstrap {

/// One address of one interface.
struct Interface {
    std::string name;
    Address address;
    bool up = true;  ///< and running
    std::uint32_t index = 0;
};

/// All addresses of this machine, by getifaddrs. Errors: SystemError.
std::vector<Interface> list_interfaces();

/// "eth0 10.0.0.1, lo 127.0.0.1".
std::string describe(const std::vector<Interface>& interfaces);

/// The addresses to publish, in the order in which others should try them. `filter` is RONDO_SOCKET_IFNAME: beginnings
/// of names, ^ in front for all but these, = in front for whole names. Without one, interfaces that commonly lead
/// nowhere (bridges of containers, virtual ends) and link-local addresses come in only where there is nothing better.
/// Loopback is last: it serves single hosts alone. Errors: InvalidUsage where the filter leaves nothing, with all
/// interfaces.
std::vector<Address> choose_addresses(const std::vector<Interface>& interfaces, const std::string& filter);

}  // namespace rondo::bootstrap
