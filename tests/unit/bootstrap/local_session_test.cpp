// Sessions whose ranks are all threads of one process: no service, no thread, no socket.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "bootstrap/session.hpp"
#include "unit/bootstrap/members.hpp"
#include "unit/bootstrap/resources.hpp"

namespace rondo::bootstrap {
namespace {

TEST(LocalSession, ThreadsMeetWithoutThreadsOrSockets) {
    const Resources before;
    {
        constexpr Rank kRanks = 16;
        Member member;
        member.open(options_for(nullptr, make_local_id(), kRanks));
        std::vector<std::thread> threads;
        for (Rank rank = 0; rank < kRanks; ++rank) {
            threads.emplace_back([&, rank] { member.session->join(kRanks, {rank, kFacts, fmt::format("x{}", rank)}); });
        }
        for (std::thread& thread : threads) thread.join();
        ASSERT_TRUE(member.owner.await_roster(0));
        EXPECT_EQ(member.owner.roster_->processes.size(), 1U);
        EXPECT_EQ(member.owner.roster_->extra[7], "x7");
        member.session->report("ready");
        ASSERT_TRUE(member.owner.await_go(0));
        EXPECT_EQ(*member.owner.reports_, std::vector<std::string>{"ready"});
        std::vector<std::string> states;
        member.session->query([&](const std::vector<std::string>& answer) { states = answer; });
        EXPECT_EQ(states, std::vector<std::string>{"status of "});
        EXPECT_TRUE(before.back_within(2)) << Resources();
        for (Rank rank = 0; rank < kRanks; ++rank) member.session->depart(rank);
        EXPECT_EQ(member.owner.departed_.size(), static_cast<std::size_t>(kRanks));
        EXPECT_EQ(member.owner.failures_, 0);
    }
    EXPECT_TRUE(before.back_within(2)) << Resources();
}

TEST(LocalSession, MissingRanksAreNamedByWhoLooks) {
    Member member;
    member.open(options_for(nullptr, make_local_id(), 4, 0.05));
    member.join(2);
    EXPECT_TRUE(member.session->check_init_time());
    EXPECT_EQ(member.session->missing(), "0-1, 3");
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_FALSE(member.session->check_init_time());
    const Cause cause = member.owner.await_failure(0);
    EXPECT_EQ(cause.code, Code::Timeout);
    EXPECT_NE(cause.text.find("1 of 4 ranks joined; missing: 0-1, 3"), std::string::npos) << cause.text;
    EXPECT_FALSE(member.session->check_init_time());
    EXPECT_EQ(member.owner.failures_, 1);
}

TEST(LocalSession, FailuresComeBackOnceAndFirst) {
    Member member;
    member.open(options_for(nullptr, make_local_id(), 2));
    member.join(0);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back(
            [&, i] { member.session->fail({.code = Code::Aborted, .rank = 0, .text = fmt::format("thread {}", i)}); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(member.owner.await_failure(1).code, Code::Aborted);
    EXPECT_EQ(member.owner.failures_, 1);
}

TEST(LocalSession, OddNumbersAndFactsFail) {
    for (const bool facts : {false, true}) {
        Member member;
        member.open(options_for(nullptr, make_local_id(), 3));
        member.join(0);
        if (facts) {
            member.join(2, "slots=5\nproto=auto\n");
        } else {
            member.session->join(4, {2, kFacts, ""});
        }
        const Cause cause = member.owner.await_failure(0);
        EXPECT_EQ(cause.code, Code::InvalidUsage);
        EXPECT_NE(cause.text.find(facts ? "slots=5 on rank 2" : "says 4 ranks"), std::string::npos) << cause.text;
    }
}

/// Closes its session from inside a callback.
class Closer : public Owner {
public:
    void on_roster(const Roster&) override {
        ++rosters;
        session->report("late");
        session->close();
    }
    void on_go(const std::vector<std::string>&) override { ++goes; }
    std::shared_ptr<Session> session;
    std::atomic<int> rosters{0};
    std::atomic<int> goes{0};
};

TEST(LocalSession, MayBeClosedInACallback) {
    Closer closer;
    closer.session = Session::open(options_for(nullptr, make_local_id(), 1), closer);
    closer.session->join(1, {0, "", ""});
    EXPECT_EQ(closer.rosters, 1);
    EXPECT_EQ(closer.goes, 0);
}

}  // namespace
}  // namespace rondo::bootstrap
