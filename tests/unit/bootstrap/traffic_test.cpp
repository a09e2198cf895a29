// What runs over sessions: connections between ranks, failures, departures, records, questions.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "base/error.hpp"
#include "bootstrap/session.hpp"
#include "unit/bootstrap/members.hpp"

namespace rondo::bootstrap {
namespace {

/// What connect() brought.
struct Called {
    ProcessDescriptor socket;
    Failure failure;
};

Called call(Session& session, std::int32_t process, const Hello& hello, double seconds = 5) {
    auto promise = std::make_shared<std::promise<Called>>();
    std::future<Called> result = promise->get_future();
    session.connect(process, hello, Deadline::after(seconds),
                    [promise](ProcessDescriptor socket, const Failure& failure) {
                        promise->set_value({std::move(socket), failure});
                    });
    if (result.wait_for(std::chrono::seconds(10)) != std::future_status::ready) return {{}, {Code::Timeout, "nothing"}};
    return result.get();
}

TEST(Connections, ReachTheRankTheyAreFor) {
    Party party(3);
    ASSERT_TRUE(party.start_and_go());
    for (const Purpose purpose : {Purpose::Data, Purpose::Memory}) {
        const Called called = call(*party.member(1).session, 2, hello_for(purpose, 1, 2, 7));
        ASSERT_TRUE(called.socket) << called.failure.text;
        Owner& owner = party.member(2).owner;
        ASSERT_TRUE(owner.await([](const Owner& self) { return !self.connections_.empty(); }));
        auto& [socket, hello] = owner.connections_.front();
        EXPECT_EQ(hello.purpose, purpose);
        EXPECT_EQ(hello.source, 1);
        EXPECT_EQ(hello.destination, 2);
        EXPECT_EQ(hello.flow, 7);
        EXPECT_EQ(hello.token, party.member(1).owner.roster_->processes[1].token);
        int domain = 0;
        socklen_t size = sizeof domain;
        ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size);
        EXPECT_EQ(domain == AF_UNIX, purpose == Purpose::Memory);
        ASSERT_EQ(::send(called.socket.get(), "ping", 4, MSG_NOSIGNAL), 4);
        EXPECT_EQ(receive(socket.get()), "ping");
        ASSERT_EQ(::send(socket.get(), "pong", 4, MSG_NOSIGNAL), 4);
        EXPECT_EQ(receive(called.socket.get()), "pong");
        owner.connections_.clear();
    }
}

TEST(Connections, ToARankThatIsNotThereAreRefused) {
    Party party(2);
    ASSERT_TRUE(party.start_and_go());
    Called called = call(*party.member(0).session, 1, hello_for(Purpose::Data, 0, 5, 0));
    EXPECT_FALSE(called.socket);
    EXPECT_EQ(called.failure.code, Code::RemoteError);
    EXPECT_NE(called.failure.text.find("rank 1 (host "), std::string::npos) << called.failure.text;
    called = call(*party.member(0).session, 2, hello_for(Purpose::Data, 0, 1, 0));
    EXPECT_EQ(called.failure.code, Code::InvalidUsage);
    party.member(1).session->close();
    called = call(*party.member(0).session, 1, hello_for(Purpose::Data, 0, 1, 0));
    EXPECT_FALSE(called.socket);
}

TEST(Connections, OfALocalCommunicatorAreRefused) {
    Member member;
    member.open(options_for(nullptr, make_local_id(), 1));
    member.join(0);
    EXPECT_EQ(call(*member.session, 0, hello_for(Purpose::Data, 0, 0, 0)).failure.code, Code::InvalidUsage);
}

TEST(Failures, OfAnyRankReachAllOnceAndAlike) {
    for (const Rank rank : {0, 2}) {
        Party party(4);
        ASSERT_TRUE(party.start_and_go());
        const Cause cause{.code = Code::RemoteError,
                          .rank = rank,
                          .peer = 3,
                          .text = "rank 3 sent nonsense",
                          .operation = "all_reduce",
                          .sequence = 12,
                          .object = "eth0",
                          .limit = "5",
                          .number = "6",
                          .remedy = "do not"};
        party.member(rank).session->fail(cause);
        party.member(rank).session->fail({.code = Code::Aborted, .rank = rank, .text = "second"});
        for (const auto& member : party.members) EXPECT_EQ(member->owner.await_failure(2), cause);
        for (const auto& member : party.members) {
            member->session->close();
            EXPECT_EQ(member->owner.failures_, 1);
        }
    }
}

TEST(Failures, AtTheSameTimeEndInOneCause) {
    for (int round = 0; round < 10; ++round) {
        Party party(4);
        ASSERT_TRUE(party.start_and_go());
        for (Rank rank = 0; rank < 4; ++rank) {
            party.member(rank).session->fail({.code = Code::Aborted, .rank = rank, .text = fmt::format("by {}", rank)});
        }
        const Cause first = party.member(0).owner.await_failure(2);
        EXPECT_EQ(first.code, Code::Aborted);
        for (const auto& member : party.members) EXPECT_EQ(member->owner.await_failure(2), first);
    }
}

TEST(Failures, AreToldToWhoeverClosesWithoutLeaving) {
    Party party(3);
    ASSERT_TRUE(party.start_and_go());
    party.member(1).session->close();
    for (const Rank rank : {0, 2}) {
        const Cause cause = party.member(rank).owner.await_failure(2);
        EXPECT_EQ(cause.code, Code::RemoteError);
        EXPECT_EQ(cause.rank, 1);
        EXPECT_NE(cause.text.find("gave the communicator up"), std::string::npos) << cause.text;
    }
    EXPECT_EQ(party.member(1).owner.failures_, 0);
}

TEST(Failures, OfTheRootsServiceAreSeen) {
    Party party(3);
    ASSERT_TRUE(party.start_and_go());
    party.member(0).session->depart(0);
    ASSERT_TRUE(party.member(2).owner.await_departed({0}));
    party.members[0] = std::make_unique<Member>();
    party.services[0].reset();  // after a departure: no failure
    EXPECT_EQ(party.member(1).owner.await_failure(0.3).code, Code::Success);
    std::vector<std::string> states;
    std::promise<void> done;
    party.member(1).session->query([&](const std::vector<std::string>& answer) {
        states = answer;
        done.set_value();
    });
    done.get_future().wait();
    EXPECT_EQ(states, std::vector<std::string>(3));  // nobody answers any more, and nobody waits for ever
}

TEST(Departures, OfOneThreadAreToldToItsProcessToo) {
    Service a;
    Service b;
    const UniqueId id = make_unique_id(a, Settings{});
    Member two;
    Member one;
    two.open(options_for(&a, id, 3));
    two.join(0);
    two.join(2);
    one.open(options_for(&b, id, 3));
    one.join(1);
    for (Member* member : {&two, &one}) {
        ASSERT_TRUE(member->owner.await_roster());
        EXPECT_EQ(member->owner.roster_->process_of, (std::vector<std::int32_t>{0, 1, 0}));
        EXPECT_EQ(member->owner.roster_->describe(0).rfind("ranks 0, 2 (host ", 0), 0U);
        member->session->report("");
    }
    ASSERT_TRUE(two.owner.await_go() && one.owner.await_go());
    two.session->depart(2);
    EXPECT_TRUE(two.owner.await_departed({2}));
    EXPECT_TRUE(one.owner.await_departed({2}));
    one.session->depart(1);
    EXPECT_TRUE(two.owner.await_departed({1, 2}));
    EXPECT_EQ(one.owner.failures_ + two.owner.failures_, 0);
}

TEST(Records, ThatDifferFailAllByTheComparator) {
    for (const bool compared : {true, false}) {
        Service a;
        Service b;
        const UniqueId id = make_unique_id(a, Settings{});
        Member first;
        Member second;
        SessionOptions options = options_for(&a, id, 2);
        if (compared) {
            options.comparator = [](const Record& x, const Record& y) {
                return Cause{.code = Code::InvalidUsage,
                             .rank = x.rank,
                             .peer = y.rank,
                             .text = fmt::format("{} {} {} against {} {} {}", x.rank, x.sequence, x.call[0], y.rank,
                                                 y.sequence, y.call[0])};
            };
        }
        first.open(options);
        first.join(0);
        second.open(options_for(&b, id, 2));
        second.join(1);
        for (Member* member : {&first, &second}) {
            ASSERT_TRUE(member->owner.await_roster());
            member->session->report("");
        }
        ASSERT_TRUE(first.owner.await_go() && second.owner.await_go());
        second.session->record({.rank = 1, .sequence = 4, .signature = 1, .call = {10, 0}});
        first.session->record({.rank = 0, .sequence = 4, .signature = 1, .call = {10, 0}});
        first.session->record({.rank = 0, .sequence = 6, .signature = 3, .call = {30, 0}});
        second.session->record({.rank = 1, .sequence = 5, .signature = 2, .call = {20, 0}});
        EXPECT_EQ(first.owner.await_failure(0.2).code, Code::Success);
        first.session->record({.rank = 0, .sequence = 5, .signature = 9, .call = {90, 0}});
        for (Member* member : {&first, &second}) {
            const Cause cause = member->owner.await_failure(2);
            EXPECT_EQ(cause.code, Code::InvalidUsage);
            EXPECT_NE(cause.text.find(compared ? "0 5 90 against 1 5 20" : "ranks 0 and 1 disagree in call 5"),
                      std::string::npos)
                << cause.text;
        }
    }
}

TEST(Queries, TellWhatAllAreDoing) {
    Party party(3);
    ASSERT_TRUE(party.start_and_go());
    for (const Rank rank : {0, 2}) {
        std::promise<std::vector<std::string>> promise;
        party.member(rank).session->query([&](const std::vector<std::string>& states) { promise.set_value(states); });
        auto future = promise.get_future();
        ASSERT_EQ(future.wait_for(std::chrono::seconds(2)), std::future_status::ready);
        EXPECT_EQ(future.get(), (std::vector<std::string>{"status of 0", "status of 1", "status of 2"}));
    }
}

/// Takes long to say what it does.
class Sleeper : public Owner {
public:
    std::string on_status() override {
        ::usleep(450'000);
        return "slow";
    }
};

TEST(Queries, DoNotWaitForWhoDoesNotAnswer) {
    Service a;
    Service b;
    const UniqueId id = make_unique_id(a, Settings{});
    Member first;
    Sleeper sleeper;
    first.open(options_for(&a, id, 2));
    first.join(0);
    const auto second = Session::open(options_for(&b, id, 2), sleeper);
    second->join(2, {1, kFacts, ""});
    ASSERT_TRUE(first.owner.await_roster() && sleeper.await_roster());
    std::promise<std::vector<std::string>> promise;
    const auto start = std::chrono::steady_clock::now();
    first.session->query([&](const std::vector<std::string>& states) { promise.set_value(states); });
    auto future = promise.get_future();
    ASSERT_EQ(future.wait_for(std::chrono::seconds(2)), std::future_status::ready);
    EXPECT_EQ(future.get(), (std::vector<std::string>{"status of 0", ""}));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(440));
    second->close();
}

TEST(Closing, WaitsForARunningCallbackAndLetsNoneFollow) {
    for (int round = 0; round < 30; ++round) {
        Party party(2);
        party.start_all();
        ::usleep(static_cast<useconds_t>(round * 40));
        for (const auto& member : party.members) member->session->close();
        const bool rosters[]{party.member(0).owner.roster_.has_value(), party.member(1).owner.roster_.has_value()};
        const int failures = party.member(0).owner.failures_ + party.member(1).owner.failures_;
        ::usleep(2000);
        EXPECT_EQ(party.member(0).owner.roster_.has_value(), rosters[0]);
        EXPECT_EQ(party.member(1).owner.roster_.has_value(), rosters[1]);
        EXPECT_EQ(party.member(0).owner.failures_ + party.member(1).owner.failures_, failures);
    }
}

TEST(HostIds, TellHostsApartByWholeTexts) {
    Service a;
    Service b;
    Service c;
    const UniqueId id = make_unique_id(a, Settings{});
    const std::string texts[]{"compute00000R", "compute000011", "compute00000R"};
    Service* services[]{&a, &b, &c};
    Member members[3];
    for (Rank rank = 0; rank < 3; ++rank) {
        SessionOptions options = options_for(services[rank], id, 3);
        options.settings.network.host_id = texts[rank];
        members[rank].open(options);
        members[rank].join(rank);
    }
    ASSERT_TRUE(members[2].owner.await_roster());
    const Roster& roster = *members[2].owner.roster_;
    EXPECT_TRUE(roster.same_host(0, 2));
    EXPECT_FALSE(roster.same_host(0, 1));
    EXPECT_EQ(roster.sites.size(), 2U);
    EXPECT_EQ(roster.site_of(1).host_id, "compute000011");
}

}  // namespace
}  // namespace rondo::bootstrap
