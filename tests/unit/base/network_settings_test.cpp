#include "base/network_settings.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/settings.hpp"

namespace rondo {
namespace {

template <class Parse>
void expect_refused(Parse parse, const std::string& text, const char* allowed) {
    try {
        parse(text);
        FAIL() << "'" << text << "' was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidArgument);
        EXPECT_NE(std::string(error.what()).find(allowed), std::string::npos) << error.what();
    }
}

TEST(PortRange, TakesTwoPortsInOrder) {
    EXPECT_EQ(parse_port_range("1-65535"), (PortRange{1, 65535}));
    EXPECT_EQ(parse_port_range("40000-40000"), (PortRange{40000, 40000}));
    EXPECT_EQ(parse_port_range("40000-40050").text(), "40000-40050");
    EXPECT_FALSE(PortRange{}.given());
    EXPECT_EQ(PortRange{}.text(), "");
    for (const char* text : {"", "-", "1", "1-", "-1", "0-5", "1-65536", "5-4", "1-2-3", "a-b", " 1-2", "1 - 2"}) {
        expect_refused(parse_port_range, text, "40000-40099");
    }
}

TEST(HostPort, TakesNamesAndAddresses) {
    EXPECT_EQ(parse_host_port("node-7.x:1"), (HostPort{"node-7.x", 1}));
    EXPECT_EQ(parse_host_port("10.0.0.1:65535"), (HostPort{"10.0.0.1", 65535}));
    EXPECT_EQ(parse_host_port("[fd00::2]:80"), (HostPort{"fd00::2", 80}));
    for (const char* text : {"", ":", "a", "a:", ":1", "a:0", "a:65536", "fd00::2:80", "[]:1", "[::1]",
                             "[::1]:", "a b:1", "http://a:1", "a:1x", "[[::1]]:1"}) {
        expect_refused(parse_host_port, text, "host:port");
    }
}

TEST(SecretSetting, IsNeverShown) {
    const std::string secret = "open sesame, forty thieves";
    SettingsInput input;
    input.assignments.push_back({"RONDO_COMM_SECRET", secret, "environment"});
    const SettingsReport good = evaluate(input);
    EXPECT_EQ(good.settings.network.comm_secret, secret);
    EXPECT_EQ(settings_table(good).find("sesame"), std::string::npos);
    for (const std::string& bad : {std::string("sesame"), std::string(5000, 's') + "esame"}) {
        input.assignments[0].value = bad;
        const SettingsReport report = evaluate(input);
        ASSERT_EQ(report.errors.size(), 1U);
        EXPECT_EQ(report.errors[0].find("esame"), std::string::npos);
        EXPECT_NE(report.errors[0].find("16 to 4096"), std::string::npos) << report.errors[0];
        EXPECT_EQ(settings_table(report).find("esame"), std::string::npos);
    }
}

TEST(HostIdSetting, TakesFourKibibytes) {
    SettingsInput input;
    input.assignments.push_back({"RONDO_HOSTID", std::string(4096, 'h'), "environment"});
    EXPECT_TRUE(evaluate(input).errors.empty());
    input.assignments[0].value += 'h';
    const SettingsReport report = evaluate(input);
    ASSERT_EQ(report.errors.size(), 1U);
    EXPECT_NE(report.errors[0].find("4097"), std::string::npos) << report.errors[0];
}

}  // namespace
}  // namespace rondo
