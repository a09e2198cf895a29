// Real processes that meet, leave and are killed.

#include "unit/bootstrap/processes.hpp"

#include <gtest/gtest.h>

#include "base/process_descriptor.hpp"
#include "support/sanitizers.hpp"
#include "unit/bootstrap/members.hpp"
#include "unit/bootstrap/resources.hpp"

namespace rondo::bootstrap {
namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point start) {
    return std::chrono::duration<double>(steady_clock::now() - start).count();
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class ProcessesOf : public testing::TestWithParam<Rank> {};

TEST_P(ProcessesOf, MeetAndLeave) {
    Processes processes(GetParam());
    const auto start = steady_clock::now();
    ASSERT_TRUE(processes.start_and_go());
    EXPECT_LT(seconds_since(start), 2);
    for (const auto& child : processes.children) child->command('e');
    for (const auto& child : processes.children) {
        EXPECT_EQ(child->wait_for_exit(5), 0);
        EXPECT_EQ(child->line_with("failure", 1), "");
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProcessesOf, testing::Values(1, 2, 3, 8), testing::PrintToStringParamName());

TEST(Processes, OneKilledIsNamedToAllOthers) {
    for (const Rank victim : {0, 1, 2}) {
        Processes processes(3);
        ASSERT_TRUE(processes.start_and_go());
        const pid_t pid = processes[victim].pid();
        const auto start = steady_clock::now();
        processes[victim].kill();
        for (Rank rank = 0; rank < 3; ++rank) {
            if (rank == victim) continue;
            const std::string line = processes[rank].line_with("failure", 2);
            EXPECT_TRUE(holds(line, "remote error")) << line;
            EXPECT_TRUE(holds(line, fmt::format("rank {} (host ", victim))) << line;
            EXPECT_TRUE(holds(line, fmt::format("pid {})", pid))) << line;
            EXPECT_TRUE(holds(line, "without leaving")) << line;
        }
        EXPECT_LT(seconds_since(start), 2);
    }
}

TEST(Processes, OneKilledBeforeAllHaveJoinedIsNamedToAllOthers) {
    for (const Rank victim : {0, 1}) {
        Processes processes(4);
        for (const Rank rank : {0, 1, 2}) processes.start(rank);
        for (const Rank rank : {0, 1, 2}) EXPECT_EQ(processes[rank].line_with("joined"), "joined");
        ::usleep(200'000);
        const pid_t pid = processes[victim].pid();
        const auto start = steady_clock::now();
        processes[victim].kill();
        for (const Rank rank : {0, 1, 2}) {
            if (rank == victim) continue;
            const std::string line = processes[rank].line_with("failure", 2);
            EXPECT_TRUE(holds(line, "remote error")) << line;
            EXPECT_TRUE(holds(line, victim == 0 ? "the root at " : fmt::format("rank 1 (host "))) << line;
            EXPECT_TRUE(holds(line, victim == 0 ? "127.0.0.1:" : fmt::format("pid {})", pid))) << line;
        }
        EXPECT_LT(seconds_since(start), 2);
    }
}

TEST(Processes, OneThatExitsWithoutLeavingIsNamed) {
    Processes processes(2);
    ASSERT_TRUE(processes.start_and_go());
    processes[1].command('x');
    EXPECT_TRUE(holds(processes[0].line_with("failure", 2), "rank 1 (host "));
}

TEST(Processes, OneThatLeavesAndEndsIsNoFailure) {
    Processes processes(3);
    ASSERT_TRUE(processes.start_and_go());
    processes[1].command('e');
    EXPECT_EQ(processes[1].wait_for_exit(5), 0);
    EXPECT_EQ(processes[0].line_with("departed"), "departed 1");
    EXPECT_EQ(processes[2].line_with("departed"), "departed 1");
    EXPECT_EQ(processes[2].line_with("failure", 0.6), "");
    // The root's process leaves and ends: the last one goes on.
    processes[0].command('e');
    EXPECT_EQ(processes[0].wait_for_exit(5), 0);
    EXPECT_EQ(processes[2].line_with("departed"), "departed 0");
    EXPECT_EQ(processes[2].line_with("failure", 0.6), "");
}

TEST(Processes, ADeathIsSeenThoughAForkedChildHoldsItsSockets) {
    for (const Rank victim : {0, 1}) {
        Processes processes(2);
        ASSERT_TRUE(processes.start_and_go());
        processes[victim].command('f');
        const std::string forked = processes[victim].line_with("forked");
        ASSERT_NE(forked, "");
        processes[victim].kill();
        const std::string line = processes[1 - victim].line_with("failure", 2);
        EXPECT_TRUE(holds(line, fmt::format("rank {} (host ", victim))) << line;
        ::kill(std::stoi(forked.substr(7)), SIGKILL);
    }
}

TEST(Processes, ADeathIsSeenByTheSystemAloneToo) {
    // The victim's sockets live on in a child that was made behind the C library's back.
    for (const Rank victim : {0, 1}) {
        Processes processes(3);
        ASSERT_TRUE(processes.start_and_go());
        processes[victim].command('v');
        const std::string cloned = processes[victim].line_with("cloned");
        ASSERT_NE(cloned, "");
        const auto start = steady_clock::now();
        processes[victim].kill();
        for (const Rank rank : {0, 1, 2}) {
            if (rank == victim) continue;
            const std::string line = processes[rank].line_with("failure", 2);
            EXPECT_TRUE(holds(line, fmt::format("rank {} (host ", victim))) << line;
            EXPECT_TRUE(holds(line, "its process is gone")) << line;
        }
        EXPECT_LT(seconds_since(start), 2);
        ::kill(std::stoi(cloned.substr(7)), SIGKILL);
    }
}

TEST(Processes, AForkedChildKeepsNothingAndMayUseAServiceOfItsOwn) {
    const Resources before;
    {
        Service service;
        const UniqueId id = make_unique_id(service, Settings{});
        Member member;
        member.open(options_for(&service, id, 2));
        member.join(0);
        const auto child_of = [&](const std::function<bool()>& body) {
            const pid_t child = ::fork();
            if (child == 0) ::_exit(body() ? 0 : 1);
            int status = 0;
            ::waitpid(child, &status, 0);
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        };
        EXPECT_TRUE(child_of([&] {
            if (Resources().descriptors != before.descriptors) return false;
            // All of the parent's session is dead here.
            member.session->depart(0);
            member.session->fail({.code = Code::Aborted, .rank = 0, .text = "child"});
            member.session->close();
            return !Runtime::get().same_process(ProcessToken{.pid = 0, .generation = 0});
        }));
        // The thread sanitizer allows no thread in the child of a process with threads.
        EXPECT_TRUE(kThreadSanitizer || child_of([&] {
                        Service own;
                        Member alone;
                        alone.open(options_for(&own, make_unique_id(own, Settings{}), 1));
                        alone.join(0);
                        return alone.owner.await_roster(5);
                    }));
        // The parent's session has not noticed.
        Service other;
        Member second;
        second.open(options_for(&other, id, 2));
        second.join(1);
        EXPECT_TRUE(second.owner.await_roster());
        EXPECT_TRUE(member.owner.await_roster());
    }
    EXPECT_TRUE(before.back_within(2)) << before << " before, now " << Resources();
}

TEST(ProcessDescriptor, IsClosedInAChildAlone) {
    ProcessDescriptor kept = ProcessDescriptor::open([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
    const int fd = kept.get();
    ASSERT_GE(fd, 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool closed = ::fcntl(fd, F_GETFD) < 0 && kept.get() < 0 && !kept;
        const int again = ::open("/dev/null", O_RDONLY);  // takes the same number
        kept.reset();
        ::_exit(closed && again == fd && ::fcntl(again, F_GETFD) >= 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_GE(::fcntl(fd, F_GETFD), 0);
    EXPECT_EQ(kept.get(), fd);
    kept.reset();
    EXPECT_LT(::fcntl(fd, F_GETFD), 0);
}

}  // namespace
}  // namespace rondo::bootstrap
