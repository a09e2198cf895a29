#include "bootstrap/interfaces.hpp"
#include "base/process_state.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/host_identity.hpp"

namespace rondo::bootstrap {
namespace {

Interface at(const char* name, const char* address, bool up = true) { return {name, *Address::parse(address), up, 1}; }

std::vector<std::string> chosen(const std::vector<Interface>& interfaces, const std::string& filter = "") {
    std::vector<std::string> texts;
    for (const Address& address : choose_addresses(interfaces, filter)) texts.push_back(address.text());
    return texts;
}

using Texts = std::vector<std::string>;

const std::vector<Interface>& busy_host() {
    static const std::vector<Interface> interfaces{at("lo", "127.0.0.1"),        at("lo", "::1"),
                                                   at("docker0", "172.17.0.1"),  at("br-1f2e", "172.18.0.1"),
                                                   at("veth12", "fe80::1"),      at("virbr0", "192.168.122.1"),
                                                   at("eth0", "fe80::2"),        at("eth0", "10.0.0.5"),
                                                   at("eth0", "fd00::5"),        at("ib0", "10.1.0.5"),
                                                   at("eth1", "10.2.0.5", false)};
    return interfaces;
}

TEST(Interfaces, DefaultsLeaveOutWhatLeadsNowhere) {
    EXPECT_EQ(chosen(busy_host()), (Texts{"10.0.0.5", "fd00::5", "10.1.0.5", "127.0.0.1", "::1"}));
}

TEST(Interfaces, WhatLeadsNowhereIsBetterThanNothing) {
    EXPECT_EQ(chosen({at("lo", "127.0.0.1"), at("veth0", "10.9.0.1")}), (Texts{"10.9.0.1", "127.0.0.1"}));
    EXPECT_EQ(chosen({at("eth0", "fe80::7"), at("lo", "127.0.0.1")}), (Texts{"fe80::7", "127.0.0.1"}));
    EXPECT_EQ(chosen({at("eth0", "fe80::7"), at("veth3", "10.9.0.1"), at("lo", "127.0.0.1")}),
              (Texts{"10.9.0.1", "127.0.0.1"}));
    EXPECT_EQ(chosen({at("lo", "127.0.0.1")}), (Texts{"127.0.0.1"}));
    EXPECT_EQ(chosen({at("lo", "::1")}), (Texts{"::1"}));
    EXPECT_EQ(chosen({}), (Texts{"127.0.0.1"}));
    EXPECT_EQ(chosen({at("eth0", "10.0.0.5", false), at("lo", "127.0.0.1")}), (Texts{"127.0.0.1"}));
}

TEST(Interfaces, FiltersWorkAsThoseOfNccl) {
    EXPECT_EQ(chosen(busy_host(), "eth"), (Texts{"10.0.0.5", "fd00::5", "127.0.0.1", "::1"}));
    EXPECT_EQ(chosen(busy_host(), "ib,docker"), (Texts{"172.17.0.1", "10.1.0.5", "127.0.0.1", "::1"}));
    EXPECT_EQ(chosen(busy_host(), "=docker0"), (Texts{"172.17.0.1", "127.0.0.1", "::1"}));
    EXPECT_EQ(chosen(busy_host(), "^eth,lo,docker,br-,v"), (Texts{"10.1.0.5", "127.0.0.1", "::1"}));
    EXPECT_EQ(chosen(busy_host(), "^=eth0,docker0,br-1f2e,veth12,virbr0"), (Texts{"10.1.0.5", "127.0.0.1", "::1"}));
    EXPECT_EQ(chosen(busy_host(), "lo"), (Texts{"127.0.0.1", "::1"}));
}

TEST(Interfaces, AFilterThatLeavesNothingNamesAllThereIs) {
    for (const char* filter : {"wlan", "=eth", "eth1"}) {
        try {
            choose_addresses(busy_host(), filter);
            FAIL() << filter;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::InvalidUsage);
            const std::string text = error.what();
            for (const char* part :
                 {filter, "RONDO_SOCKET_IFNAME", "eth0 10.0.0.5", "docker0", "eth1 10.2.0.5 (down)"}) {
                EXPECT_NE(text.find(part), std::string::npos) << text;
            }
        }
    }
}

TEST(Interfaces, OfThisMachineHaveLoopback) {
    const std::vector<Interface> interfaces = list_interfaces();
    EXPECT_TRUE(std::any_of(interfaces.begin(), interfaces.end(), [](const Interface& interface) {
        return interface.address.loopback();
    })) << describe(interfaces);
}

TEST(HostIdentity, SaysWhatTheSystemSays) {
    EXPECT_NE(default_host_id().find("/net:"), std::string::npos) << default_host_id();
    EXPECT_EQ(default_host_id(), default_host_id());
    EXPECT_NE(pid_namespace(), 0U);
    EXPECT_NE(process_start_time(::getpid()), 0U);
    EXPECT_EQ(process_start_time(::getpid()), process_start_time(::getpid()));
    EXPECT_NE(process_start_time(::getpid()), process_start_time(1));
    EXPECT_EQ(process_start_time(0x7ffffff0), 0U);
}

}  // namespace
}  // namespace rondo::bootstrap
