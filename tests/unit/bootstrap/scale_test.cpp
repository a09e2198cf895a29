// Many processes, many communicators: time, descriptors, threads.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <thread>

#include "bootstrap/session.hpp"
#include "unit/bootstrap/members.hpp"
#include "unit/bootstrap/resources.hpp"

namespace rondo::bootstrap {
namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point start) {
    return std::chrono::duration<double>(steady_clock::now() - start).count();
}

double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Only counts: a thousand of them keep no rosters.
class Counter : public Events {
public:
    void on_roster(const Roster& roster) override {
        processes = roster.processes.size();
        session->report("r");
    }
    void on_go(const std::vector<std::string>& reports) override {
        if (reports.size() == processes) goes->fetch_add(1);
    }
    void on_failure(const Cause& cause) override { ADD_FAILURE() << cause.text; }
    void on_departed(Rank) override {}
    void on_connection(ProcessDescriptor, const Hello&) override {}
    std::string on_status() override { return {}; }

    std::shared_ptr<Session> session;
    std::atomic<int>* goes = nullptr;
    std::size_t processes = 0;
};

/// Seconds until all of `nranks` sessions over sockets have met and reported.
double meet(Rank nranks) {
    Service root;
    Service others;
    const UniqueId id = make_unique_id(root, Settings{});
    std::atomic<int> goes{0};
    std::vector<std::unique_ptr<Counter>> counters;
    const auto start = steady_clock::now();
    for (Rank rank = 0; rank < nranks; ++rank) {
        counters.push_back(std::make_unique<Counter>());
        Counter& counter = *counters.back();
        counter.goes = &goes;
        counter.session = Session::open(options_for(rank == 0 ? &root : &others, id, nranks, 60), counter);
        counter.session->join(nranks, {rank, kFacts, fmt::format("extra of {}", rank)});
    }
    while (goes < nranks && seconds_since(start) < 60) ::usleep(500);
    const double time = seconds_since(start);
    EXPECT_EQ(goes, nranks);
    for (Rank rank = 0; rank < nranks; ++rank) counters[static_cast<std::size_t>(rank)]->session->depart(rank);
    for (const auto& counter : counters) counter->session->close();
    return time;
}

TEST(Scale, AThousandProcessesMeetOverSockets) {
    const Resources before;
    const double small = meet(256);
    const double large = meet(1024);
    fmt::print("256 processes met in {:.0f} ms, 1,024 in {:.0f} ms: {:.1f}-fold\n", small * 1e3, large * 1e3,
               large / small);
    EXPECT_LT(large, 20);
    EXPECT_TRUE(before.back_within(2)) << before << " before, now " << Resources();
}

TEST(Scale, AThousandThreadsOfAProcessMeet) {
    const auto meet_threads = [](Rank nranks) {
        Service service;
        Member member;
        const auto start = steady_clock::now();
        member.open(options_for(&service, make_unique_id(service, Settings{}), nranks));
        for (Rank rank = 0; rank < nranks; ++rank) member.session->join(nranks, {rank, kFacts, "extra"});
        EXPECT_TRUE(member.owner.await_roster(60));
        return seconds_since(start);
    };
    const double small = meet_threads(256);
    const double large = meet_threads(1024);
    fmt::print("256 ranks of a process joined in {:.1f} ms, 1,024 in {:.1f} ms: {:.1f}-fold\n", small * 1e3,
               large * 1e3, large / small);
    EXPECT_LT(large, 5);
}

TEST(Scale, ManyCommunicatorsLeaveNothingBehind) {
    Service root;
    Service other;
    root.start(Settings{});
    other.start(Settings{});
    const Resources before;
    for (int round = 0; round < 100; ++round) {
        const UniqueId id = make_unique_id(root, Settings{});
        Member first;
        Member second;
        first.open(options_for(&root, id, 2));
        first.join(0);
        second.open(options_for(&other, id, 2));
        second.join(round % 3 == 0 ? 0 : 1);  // every third one fails
        if (round % 3 == 0) {
            EXPECT_EQ(first.owner.await_failure(2).code, Code::InvalidUsage);
        } else {
            ASSERT_TRUE(first.owner.await_roster() && second.owner.await_roster());
        }
        if (round % 3 == 1) {
            first.session->report("");
            second.session->report("");
            ASSERT_TRUE(first.owner.await_go() && second.owner.await_go());
            second.session->depart(1);
            first.session->depart(0);
        }
    }
    EXPECT_TRUE(before.back_within(2)) << before << " before, now " << Resources();
}

TEST(Scale, AServiceThatEndsInTheMiddleLeavesNothingBehind) {
    const Resources before;
    for (int round = 0; round < 8; ++round) {
        // Rank 1 is calling a root that will never know its communicator when its service ends, with or without a
        // close.
        Service root;
        const UniqueId id = derive_id(make_unique_id(root, Settings{}), "split", 1, 0, root.contact(Settings{}));
        auto service = std::make_unique<Service>();
        Owner owner;
        const auto session = Session::open(options_for(service.get(), id, 2), owner);
        session->join(2, {1, "", ""});
        ::usleep(static_cast<useconds_t>(round * 100));
        if (round % 2 == 0) session->fail({.code = Code::Aborted, .rank = 1, .text = "news for the root"});
        service->post([] { ::usleep(150'000); });  // the close below comes too late
        if (round % 4 < 2) session->close();
        service.reset();
        session->close();
    }
    EXPECT_TRUE(before.back_within(2)) << before << " before, now " << Resources();
}

TEST(Scale, ASoftLimitOfDescriptorsIsRaised) {
    rlimit old{};
    ::getrlimit(RLIMIT_NOFILE, &old);
    const auto used = static_cast<rlim_t>(Resources().descriptors);
    rlimit low = old;
    low.rlim_cur = used + 20;
    if (low.rlim_cur >= old.rlim_max) GTEST_SKIP() << "the hard limit is too low";
    ::setrlimit(RLIMIT_NOFILE, &low);
    {
        Party party(8);
        EXPECT_TRUE(party.start_and_go());
    }
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    EXPECT_EQ(now.rlim_cur, old.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &old);
}

TEST(Scale, AHardLimitOfDescriptorsIsAnError) {
    // In a process of its own: a hard limit does not come back.
    const pid_t child = ::fork();
    if (child == 0) {
        Service service;
        service.start(Settings{});
        const UniqueId id = make_unique_id(service, Settings{});
        const rlimit none{0, 0};
        int status = 1;
        if (::setrlimit(RLIMIT_NOFILE, &none) == 0) {
            try {
                Owner owner;
                Session::open(options_for(&service, id, 2), owner);
            } catch (const Error& error) {
                status = std::string(error.what()).find("Too many open files") == std::string::npos ? 2 : 0;
            }
        }
        ::_exit(status);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Scale, AnIdleServiceUsesNoCpu) {
    Party party(4);
    ASSERT_TRUE(party.start_and_go());
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LT(cpu_seconds() - before, 0.005);
}

}  // namespace
}  // namespace rondo::bootstrap
