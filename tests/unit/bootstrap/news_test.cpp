// Failures after the process with the root has left and ended: who finds one tells the others.

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "unit/bootstrap/members.hpp"

namespace rondo::bootstrap {
namespace {

/// Up to the end of the process of rank 0, as far as the others can tell.
class Orphans : public Party {
public:
    explicit Orphans(Rank nranks) : Party(nranks), nranks_(nranks) {}

    bool lose_root() {
        if (!start_and_go()) return false;
        member(0).session->depart(0);
        bool good = true;
        for (Rank rank = 1; rank < nranks_; ++rank) good = good && member(rank).owner.await_departed({0});
        member(0).session->close();
        services[0].reset();
        // A question is answered at once, with nothing, when the root is seen to be gone.
        for (Rank rank = 1; rank < nranks_; ++rank) good = good && await_rootless(rank);
        return good;
    }

private:
    bool await_rootless(Rank rank) {
        for (int i = 0; i < 1000; ++i) {
            std::promise<std::vector<std::string>> promise;
            auto answer = std::make_shared<std::promise<std::vector<std::string>>>(std::move(promise));
            std::future<std::vector<std::string>> answers = answer->get_future();
            member(rank).session->query([answer](const std::vector<std::string>& texts) { answer->set_value(texts); });
            if (answers.wait_for(std::chrono::seconds(5)) != std::future_status::ready) return false;
            const std::vector<std::string> texts = answers.get();
            if (texts == std::vector<std::string>(static_cast<std::size_t>(nranks_))) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return false;
    }

    Rank nranks_;
};

Cause cause_of(Rank rank, const std::string& text) {
    return {.code = Code::RemoteError, .rank = rank, .peer = 3, .text = text, .operation = "barrier", .sequence = 17};
}

TEST(News, OfAFailureReachAllThatAreLeft) {
    Orphans party(5);
    ASSERT_TRUE(party.lose_root());
    const auto began = std::chrono::steady_clock::now();
    party.member(2).session->fail(cause_of(2, "rank 3 (host h, pid 7) is gone"));
    for (Rank rank = 1; rank < 5; ++rank) {
        const Cause seen = party.member(rank).owner.await_failure();
        EXPECT_EQ(seen.code, Code::RemoteError) << rank;
        EXPECT_EQ(seen.rank, 2);
        EXPECT_EQ(seen.peer, 3);
        EXPECT_EQ(seen.text, "rank 3 (host h, pid 7) is gone");
        EXPECT_EQ(seen.sequence, 17U);
        EXPECT_EQ(seen.operation, "barrier");
        EXPECT_EQ(party.member(rank).owner.failures_, 1);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
}

TEST(News, AreOutBeforeTheirSessionIsClosed) {
    Orphans party(4);
    ASSERT_TRUE(party.lose_root());
    party.member(1).session->fail(cause_of(1, "last words"));
    party.member(1).session->close();
    party.services[1].reset();
    for (const Rank rank : {2, 3}) EXPECT_EQ(party.member(rank).owner.await_failure(2).text, "last words") << rank;
}

TEST(News, OfSeveralThatFailAtOnceLeaveOneCauseEach) {
    Orphans party(6);
    ASSERT_TRUE(party.lose_root());
    for (Rank rank = 1; rank < 5; ++rank) party.member(rank).session->fail(cause_of(rank, fmt::format("by {}", rank)));
    for (Rank rank = 1; rank < 6; ++rank) {
        const Cause seen = party.member(rank).owner.await_failure();
        EXPECT_EQ(seen.text, fmt::format("by {}", seen.rank)) << rank;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (Rank rank = 1; rank < 6; ++rank) EXPECT_EQ(party.member(rank).owner.failures_, 1) << rank;
}

TEST(News, AreNotForThoseThatHaveLeft) {
    Orphans party(4);
    ASSERT_TRUE(party.lose_root());
    party.member(2).session->depart(2);
    party.member(2).session->close();
    const auto began = std::chrono::steady_clock::now();
    party.member(1).session->fail(cause_of(1, "too late for 2"));
    EXPECT_EQ(party.member(3).owner.await_failure().text, "too late for 2");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
    EXPECT_EQ(party.member(2).owner.failures_, 0);
}

/// The process with the root lives on without its ranks: the root still hears and tells.
TEST(News, AreNotNeededWhileTheProcessOfTheRootLives) {
    Party party(4);
    ASSERT_TRUE(party.start_and_go());
    party.member(0).session->depart(0);
    for (Rank rank = 1; rank < 4; ++rank) ASSERT_TRUE(party.member(rank).owner.await_departed({0}));
    party.member(0).session->close();
    party.member(3).session->close();  // without leaving
    for (const Rank rank : {1, 2}) {
        const Cause seen = party.member(rank).owner.await_failure(2);
        EXPECT_EQ(seen.peer, 3) << rank;
        EXPECT_NE(seen.text.find("gave the communicator up"), std::string::npos) << seen.text;
    }
}

}  // namespace
}  // namespace rondo::bootstrap
