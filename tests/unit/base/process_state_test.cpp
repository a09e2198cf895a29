#include "base/process_state.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace rondo {

TEST(ProcessState, FollowsAChildFromItsStartToItsEnd) {
    const pid_t child = ::fork();
    if (child == 0) {
        while (true) ::pause();
    }
    ASSERT_GT(child, 0);
    EXPECT_FALSE(process_has_ended(child));
    EXPECT_FALSE(process_is_stopped(child));
    EXPECT_GE(process_start_time(child), process_start_time(::getpid()));
    ASSERT_EQ(::kill(child, SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    EXPECT_TRUE(process_is_stopped(child));
    EXPECT_FALSE(process_has_ended(child));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(process_has_ended(child)) << "its parent has not taken note yet";
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(process_has_ended(child));
    EXPECT_EQ(process_start_time(child), 0U);
}

}  // namespace rondo
