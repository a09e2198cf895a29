#include "bootstrap/session.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "unit/bootstrap/members.hpp"

namespace rondo::bootstrap {
namespace {

class SessionOf : public testing::TestWithParam<Rank> {};

TEST_P(SessionOf, ProcessesMeetTalkAndLeave) {
    const Rank nranks = GetParam();
    Party party(nranks);
    ASSERT_TRUE(party.start_and_go());
    const Roster& first = *party.member(0).owner.roster_;
    ASSERT_EQ(first.processes.size(), static_cast<std::size_t>(nranks));
    ASSERT_EQ(first.sites.size(), 1U);
    EXPECT_EQ(first.root_process, 0);
    for (Rank rank = 0; rank < nranks; ++rank) {
        Owner& owner = party.member(rank).owner;
        Roster roster = *owner.roster_;
        EXPECT_EQ(roster.self, rank);
        roster.self = 0;
        EXPECT_EQ(roster, first);
        EXPECT_EQ(roster.process_of[static_cast<std::size_t>(rank)], rank);
        EXPECT_EQ(roster.extra[static_cast<std::size_t>(rank)], fmt::format("extra of {}", rank));
        EXPECT_EQ(owner.reports_->size(), static_cast<std::size_t>(nranks));
        EXPECT_EQ((*owner.reports_)[static_cast<std::size_t>(rank)], fmt::format("report of {}", rank));
        EXPECT_EQ(party.member(rank).session->missing(), "");
    }
    std::set<Rank> others;
    for (Rank rank = 0; rank + 1 < nranks; ++rank) {
        party.member(rank).session->depart(rank);
        others.insert(rank);
    }
    EXPECT_TRUE(party.member(nranks - 1).owner.await_departed(others));
    party.member(nranks - 1).session->depart(nranks - 1);
    for (const auto& member : party.members) {
        member->session->close();
        EXPECT_EQ(member->owner.failures_, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SessionOf, testing::Values(1, 2, 3, 8), testing::PrintToStringParamName());

}  // namespace
}  // namespace rondo::bootstrap
