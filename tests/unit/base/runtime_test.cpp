#include "base/runtime.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/parse.hpp"
#include "base/version.hpp"
#include "unit/base/temporary.hpp"

namespace rondo {
namespace {

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

TEST(Runtime, KnowsItsHost) {
    char name[256] = "";
    ASSERT_EQ(gethostname(name, sizeof name), 0);
    EXPECT_EQ(Runtime::get().host(), name);
    EXPECT_EQ(&Runtime::get(), &Runtime::get());
}

TEST(Runtime, SettingsAreReadAnewAndSaidOnce) {
    const TemporaryDirectory directory;
    const std::string file = directory.path() + "/log";
    const Variable debug("RONDO_DEBUG", "INFO");
    const Variable debug_file("RONDO_DEBUG_FILE", file.c_str());
    const Variable typo("RONDO_NSLOT", "3");
    for (int i = 0; i < 3; ++i) {
        const Variable slots("RONDO_NSLOTS", "11");
        EXPECT_EQ(Runtime::get().load_settings().nslots, 11);
    }
    {
        const Variable slots("RONDO_NSLOTS", "12");
        EXPECT_EQ(Runtime::get().load_settings().nslots, 12);
    }
    const std::string text = directory.read("log");
    EXPECT_EQ(count(text, "RONDO VERSION " + build_info() + "\n"), 1) << text;
    EXPECT_EQ(count(text, "RONDO INFO RONDO_NSLOTS=11 (environment)\n"), 1) << text;
    EXPECT_EQ(count(text, "RONDO INFO RONDO_NSLOTS=12 (environment)\n"), 1) << text;
    EXPECT_EQ(count(text, "unknown setting RONDO_NSLOT is ignored; did you mean RONDO_NSLOTS?"), 1) << text;
}

TEST(Runtime, IsSilentByDefault) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const Variable debug("RONDO_DEBUG", nullptr);
    const Variable slots("RONDO_NSLOTS", "13");
    EXPECT_EQ(Runtime::get().load_settings().nslots, 13);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Runtime, BadSettingIsAnError) {
    const Variable slots("RONDO_NSLOTS", "0");
    EXPECT_THROW(Runtime::get().load_settings(), Error);
}

TEST(Runtime, ForkedChildIsTold) {
    Runtime& runtime = Runtime::get();
    const ProcessToken token = runtime.token();
    EXPECT_TRUE(runtime.same_process(token));
    EXPECT_NO_THROW(runtime.check_fork(token));
    EXPECT_EQ(token.pid, getpid());
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::string text = "no error";
        try {
            runtime.check_fork(token);
        } catch (const Error& error) {
            text = fmt::format("{} {}", static_cast<int>(error.code()), error.what());
        }
        runtime.logger().warn(0, "the child's logger works");
        const bool own = runtime.same_process(runtime.token());
        const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        _exit(own && written ? 0 : 1);
    }
    close(ends[1]);
    char buffer[512];
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ASSERT_GT(got, 0);
    EXPECT_EQ(
        std::string(buffer, static_cast<std::size_t>(got))
            .rfind(fmt::format("{} communicator belongs to pid {}, ", static_cast<int>(Code::InvalidUsage), getpid()),
                   0),
        0U);
    EXPECT_TRUE(runtime.same_process(token));
}

}  // namespace
}  // namespace rondo
