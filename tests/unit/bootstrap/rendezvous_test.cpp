#include "bootstrap/rendezvous.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/error.hpp"

namespace rondo::bootstrap {

namespace {

std::shared_ptr<void> shared_object() { return std::make_shared<int>(7); }

template <class Body>
Error error_of(Body body) {
    try {
        body();
    } catch (const Error& error) {
        return error;
    }
    return {Code::Success, ""};
}

void expect_text(const Error& error, Code code, std::initializer_list<const char*> parts) {
    EXPECT_EQ(name_of(error.code()), name_of(code));
    for (const char* part : parts) EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}

}  // namespace

TEST(RendezvousId, IsNeverTheSame) {
    std::set<UniqueId> ids;
    for (int i = 0; i < 1000; ++i) ids.insert(make_unique_id());
    EXPECT_EQ(ids.size(), 1000U);
}

TEST(RankList, WritesRanges) {
    EXPECT_EQ(rank_list({}), "");
    EXPECT_EQ(rank_list({4}), "4");
    EXPECT_EQ(rank_list({0, 1, 2, 5}), "0-2, 5");
    EXPECT_EQ(rank_list({1, 3, 4, 7, 8, 9}), "1, 3-4, 7-9");
}

TEST(Rendezvous, RanksShareWhatTheFirstOneMade) {
    constexpr Rank kRanks = 6;
    Rendezvous rendezvous;
    const UniqueId id = make_unique_id();
    std::atomic<int> made{0};
    std::vector<std::shared_ptr<Meeting>> meetings(kRanks);
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
            auto meeting = rendezvous.join(id, kRanks, rank, "a=1\n", [&] {
                made.fetch_add(1);
                return shared_object();
            });
            meeting->wait(Deadline::after(20), 20);
            meetings[static_cast<std::size_t>(rank)] = meeting;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(made.load(), 1);
    for (const auto& meeting : meetings) {
        EXPECT_EQ(meeting->shared(), meetings[0]->shared());
        EXPECT_TRUE(meeting->complete());
        EXPECT_EQ(meeting->missing(), "");
    }
}

TEST(Rendezvous, DifferentIdsAreDifferentMeetings) {
    Rendezvous rendezvous;
    const auto a = rendezvous.join(make_unique_id(), 1, 0, "", shared_object);
    const auto b = rendezvous.join(make_unique_id(), 1, 0, "", shared_object);
    EXPECT_NE(a->shared(), b->shared());
}

TEST(Rendezvous, NamesTheMissingRanks) {
    Rendezvous rendezvous;
    const UniqueId id = make_unique_id();
    const auto meeting = rendezvous.join(id, 7, 1, "", shared_object);
    rendezvous.join(id, 7, 4, "", shared_object);
    EXPECT_FALSE(meeting->complete());
    EXPECT_EQ(meeting->missing(), "0, 2-3, 5-6");
    expect_text(error_of([&] { meeting->wait(Deadline::after(0.02), 0.02); }), Code::Timeout,
                {"7 ranks", "0, 2-3, 5-6", "20 ms", "RONDO_TIMEOUT"});
}

TEST(Rendezvous, RefusesATakenRankAndAUsedId) {
    Rendezvous rendezvous;
    const UniqueId id = make_unique_id();
    rendezvous.join(id, 2, 1, "", shared_object);
    expect_text(error_of([&] { rendezvous.join(id, 2, 1, "", shared_object); }), Code::InvalidUsage,
                {"rank 1", "joined already"});
    // The right one still can join: a copy too many is no reason to wait for nobody.
    EXPECT_TRUE(rendezvous.join(id, 2, 0, "", shared_object)->complete());
    expect_text(error_of([&] { rendezvous.join(id, 2, 0, "", shared_object); }), Code::InvalidUsage,
                {"rank 0", "id has served a communicator already"});
}

TEST(Rendezvous, ARankThatDoesNotFitEndsItForAll) {
    struct Misfit {
        Rank nranks;
        const char* facts;
        std::vector<const char*> parts;
    };
    for (const Misfit& misfit : {Misfit{4, "slots=4\nproto=auto\n", {"rank 2", "4 ranks", "3"}},
                                 Misfit{3, "slots=4\nproto=ll\n", {"rank 2", "proto=ll here", "proto=auto"}}}) {
        Rendezvous rendezvous;
        const UniqueId id = make_unique_id();
        const auto meeting = rendezvous.join(id, 3, 1, "slots=4\nproto=auto\n", shared_object);
        Error waiter(Code::Success, "");
        std::thread waiting([&] { waiter = error_of([&] { meeting->wait(Deadline::after(30), 30); }); });
        const Error odd = error_of([&] { rendezvous.join(id, misfit.nranks, 2, misfit.facts, shared_object); });
        waiting.join();
        for (const Error& error : {odd, waiter}) {
            EXPECT_EQ(error.code(), Code::InvalidUsage);
            for (const char* part : misfit.parts) {
                EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
            }
        }
    }
}

TEST(Rendezvous, LateRankEndsTheWait) {
    Rendezvous rendezvous;
    const UniqueId id = make_unique_id();
    const auto meeting = rendezvous.join(id, 2, 0, "", shared_object);
    std::thread late([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        rendezvous.join(id, 2, 1, "", shared_object);
    });
    meeting->wait(Deadline::never(), 0);
    EXPECT_TRUE(meeting->complete());
    late.join();
}

}  // namespace rondo::bootstrap
