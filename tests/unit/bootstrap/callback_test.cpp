// Connections between processes of which one cannot call the other: the other one calls instead.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <future>

#include "bootstrap/acceptor.hpp"
#include "bootstrap/sockets.hpp"
#include "unit/bootstrap/members.hpp"

namespace rondo::bootstrap {
namespace {

struct Called {
    ProcessDescriptor socket;
    Failure failure;
    double seconds = 0;
};

std::future<Called> call(Session& session, std::int32_t process, const Hello& hello, double seconds) {
    auto promise = std::make_shared<std::promise<Called>>();
    const auto began = std::chrono::steady_clock::now();
    session.connect(process, hello, Deadline::after(seconds),
                    [promise, began](ProcessDescriptor socket, const Failure& failure) {
                        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
                        promise->set_value({std::move(socket), failure, took.count()});
                    });
    return promise->get_future();
}

/// Nobody can call this process from now on, as behind a firewall.
void shut(Service& service) {
    std::promise<void> done;
    service.post([&] {
        service.acceptor().clear();
        done.set_value();
    });
    done.get_future().wait();
}

std::string port_of(Member& member, std::size_t process) {
    return ":" + std::to_string(member.owner.roster_->processes[process].port);
}

class Callback : public ::testing::TestWithParam<std::pair<Rank, Rank>> {};

// The root's process asks, is asked, or neither.
INSTANTIATE_TEST_SUITE_P(Ranks, Callback,
                         ::testing::Values(std::pair<Rank, Rank>(0, 2), std::pair<Rank, Rank>(2, 0),
                                           std::pair<Rank, Rank>(1, 2)));

TEST_P(Callback, BringsEveryFlowOnceToBothSides) {
    const auto [from, to] = GetParam();
    Party party(3);
    ASSERT_TRUE(party.start_and_go());
    shut(*party.services[static_cast<std::size_t>(to)]);
    constexpr std::uint16_t kFlows = 4;
    std::vector<std::future<Called>> calls;
    for (std::uint16_t flow = 0; flow < kFlows; ++flow) {
        calls.push_back(call(*party.member(from).session, to, hello_for(Purpose::Data, from, to, flow), 20));
    }
    Owner& owner = party.member(to).owner;
    ASSERT_TRUE(owner.await([](const Owner& self) { return self.connections_.size() == kFlows; }));
    for (std::uint16_t flow = 0; flow < kFlows; ++flow) {
        Called called = calls[flow].get();
        ASSERT_TRUE(called.socket) << called.failure.text;
        EXPECT_LT(called.seconds, 5);
        const auto found = std::find_if(owner.connections_.begin(), owner.connections_.end(),
                                        [&](const auto& connection) { return connection.second.flow == flow; });
        ASSERT_NE(found, owner.connections_.end());
        EXPECT_EQ(found->second.purpose, Purpose::Data);
        EXPECT_EQ(found->second.source, from);
        EXPECT_EQ(found->second.destination, to);
        const std::string text = "flow " + std::to_string(flow);
        ASSERT_EQ(::send(called.socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
        EXPECT_EQ(receive(found->first.get()), text);
    }
    ::usleep(100'000);
    EXPECT_TRUE(owner.await([](const Owner& self) { return self.connections_.size() == kFlows; }, 0.1));
    EXPECT_TRUE(party.member(from).owner.await([](const Owner& self) { return self.connections_.empty(); }, 0.1))
        << "the one that asked has them by its call alone";
}

TEST(CallbackFailures, OfBothSidesAreOneErrorThatNamesBothAddresses) {
    Party party(3);
    ASSERT_TRUE(party.start_and_go());
    shut(*party.services[1]);
    shut(*party.services[2]);
    const Called called = call(*party.member(1).session, 2, hello_for(Purpose::Data, 1, 2, 0), 20).get();
    EXPECT_FALSE(called.socket);
    EXPECT_EQ(called.failure.code, Code::RemoteError);
    EXPECT_LT(called.seconds, 5);
    const std::string& text = called.failure.text;
    for (const std::string& part : {port_of(party.member(1), 1), port_of(party.member(1), 2),
                                    std::string("asked to call back, rank 2: no connection to rank 1")}) {
        EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
    }
    std::size_t refused = 0;
    for (std::size_t at = 0; (at = text.find("Connection refused", at)) != std::string::npos; ++at) ++refused;
    EXPECT_GE(refused, 2U) << text;
}

TEST(CallbackFailures, OneThatHasLeftIsNotAsked) {
    Party party(3);
    ASSERT_TRUE(party.start_and_go());
    party.member(2).session->depart(2);
    party.member(2).session->close();
    const Called called = call(*party.member(1).session, 2, hello_for(Purpose::Data, 1, 2, 0), 20).get();
    EXPECT_FALSE(called.socket);
    EXPECT_LT(called.seconds, 5);
    EXPECT_NE(called.failure.text.find("it has left, or ended"), std::string::npos) << called.failure.text;
}

/// A host that drops what comes: the own calls get their share of the time, and then the other one is asked.
TEST(CallbackFailures, SilenceTakesAShareOfTheTime) {
    Party party(2);
    ASSERT_TRUE(party.start_and_go());
    // A listener that accepts nothing, at the port of the one that is shut; full, it drops what comes.
    const std::uint16_t port = party.member(0).owner.roster_->processes[1].port;
    shut(*party.services[1]);
    TcpListener full = listen_at(port, false);
    ASSERT_TRUE(full.socket);
    ASSERT_EQ(::listen(full.socket.get(), 0), 0);
    std::vector<ProcessDescriptor> fillers;
    for (int i = 0; i < 8; ++i) fillers.push_back(begin_connect(SocketAddress::tcp(Address::v4_loopback(), port)));
    ::usleep(50'000);
    const Called called = call(*party.member(0).session, 1, hello_for(Purpose::Data, 0, 1, 3), 4).get();
    ASSERT_TRUE(called.socket) << called.failure.text;
    EXPECT_GT(called.seconds, 1);
    EXPECT_LT(called.seconds, 3.5);
}

}  // namespace
}  // namespace rondo::bootstrap
