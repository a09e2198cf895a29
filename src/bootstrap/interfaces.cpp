#include "bootstrap/interfaces.hpp"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/descriptor_table.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"

namespace rondo::bootstrap {

namespace {

/// Bridges and virtual ends that container engines and virtual machines make.
constexpr std::array<std::string_view, 8> kDoubtful{"docker", "br-",     "veth", "virbr",
                                                    "cni",    "flannel", "cali", "podman"};

bool doubtful(const Interface& interface) {
    return std::any_of(kDoubtful.begin(), kDoubtful.end(), [&](std::string_view beginning) {
        return interface.name.compare(0, beginning.size(), beginning) == 0;
    });
}

/// 0: tried first.
int penalty(const Interface& interface, bool filtered) {
    if (interface.address.loopback()) return 4;
    const int link_local = interface.address.link_local() ? 2 : 0;
    return link_local + (!filtered && doubtful(interface) ? 1 : 0);
}

class Filter {
public:
    explicit Filter(std::string_view text) {
        if (!text.empty() && text.front() == '^') {
            inverted_ = true;
            text.remove_prefix(1);
        }
        if (!text.empty() && text.front() == '=') {
            exact_ = true;
            text.remove_prefix(1);
        }
        for (const std::string_view word : split_text(text, ',')) {
            if (!trim(word).empty()) words_.push_back(trim(word));
        }
    }

    [[nodiscard]] bool lets_through(std::string_view name) const {
        const bool named = std::any_of(words_.begin(), words_.end(), [&](std::string_view word) {
            return exact_ ? name == word : name.substr(0, word.size()) == word;
        });
        return named != inverted_;
    }

private:
    std::vector<std::string_view> words_;
    bool inverted_ = false;
    bool exact_ = false;
};

}  // namespace

std::vector<Interface> list_interfaces() {
    ifaddrs* first = nullptr;
    if (!DescriptorTable::with_room([&] { return ::getifaddrs(&first) == 0; }))
        throw make_system_error(errno, "listing the network interfaces");
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
    std::vector<Interface> interfaces;
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
        const auto address = Address::of(entry->ifa_addr);
        if (!address) continue;
        const bool up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0;
        interfaces.push_back({entry->ifa_name, *address, up, ::if_nametoindex(entry->ifa_name)});
    }
    return interfaces;
}

std::string describe(const std::vector<Interface>& interfaces) {
    std::string text;
    for (const Interface& interface : interfaces) {
        text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", interface.name, interface.address.text(),
                            interface.up ? "" : " (down)");
    }
    return text.empty() ? "none" : text;
}

std::vector<Address> choose_addresses(const std::vector<Interface>& interfaces, const std::string& filter) {
    const bool filtered = !filter.empty();
    const Filter lets(filter);
    std::vector<Interface> usable;
    for (const Interface& interface : interfaces) {
        // An excluding filter is about what others should try: it need not name the loopback interface.
        const bool wanted = !filtered || lets.lets_through(interface.name);
        if (interface.up && wanted) usable.push_back(interface);
    }
    if (usable.empty() && filtered) {
        throw make_error(Code::InvalidUsage,
                         "RONDO_SOCKET_IFNAME={} leaves no network interface that is up (there are: {}); name one of "
                         "them",
                         printable(filter), describe(interfaces));
    }
    std::stable_sort(usable.begin(), usable.end(), [&](const Interface& a, const Interface& b) {
        return penalty(a, filtered) < penalty(b, filtered);
    });
    std::vector<Address> chosen;
    const int best = usable.empty() ? 4 : penalty(usable.front(), filtered);
    for (const Interface& interface : usable) {
        const int own = penalty(interface, filtered);
        const bool good = own == best || own == 0;
        const bool known = std::find(chosen.begin(), chosen.end(), interface.address) != chosen.end();
        if (good && own < 4 && !known) chosen.push_back(interface.address);
    }
    for (const Interface& interface : interfaces) {
        const bool known = std::find(chosen.begin(), chosen.end(), interface.address) != chosen.end();
        if (interface.up && interface.address.loopback() && !known) chosen.push_back(interface.address);
    }
    if (chosen.empty()) chosen.push_back(Address::v4_loopback());
    return chosen;
}

}  // namespace rondo::bootstrap
