#include "base/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/parse.hpp"
#include "unit/base/temporary.hpp"

namespace rondo {
namespace {

LogConfig config_for(const TemporaryDirectory& directory, LogLevel level,
                     SubsystemMask subsystems = kDefaultSubsystems) {
    return {.level = level, .subsystems = subsystems, .file = directory.path() + "/log"};
}

TEST(LogFile, PatternIsExpanded) {
    EXPECT_EQ(expand_log_file("/a/%h.%p.log", "node7", 41), "/a/node7.41.log");
    EXPECT_EQ(expand_log_file("%%h%x%", "node7", 41), "%h%x%");
    EXPECT_EQ(expand_log_file("", "node7", 41), "");
}

TEST(Logger, WritesItsFormat) {
    const TemporaryDirectory directory;
    Logger log("node7");
    log.configure(config_for(directory, LogLevel::Info));
    log.info(Subsystem::Init, 3, "joined {} of {}", 4, 8);
    log.warn(Logger::kNoRank, "{}", "braces {} and %v stay\nas they are");
    const std::string head = "node7:" + std::to_string(getpid()) + ":" + std::to_string(gettid());
    EXPECT_EQ(directory.read("log"), head + " [3] RONDO INFO joined 4 of 8\n" +              //
                                         head + " [-] RONDO WARN braces {} and %v stay\n" +  //
                                         head + " [-] RONDO WARN as they are\n");
}

TEST(Logger, ShowsWhatIsWanted) {
    struct Case {
        LogLevel level;
        std::string shown;
    };
    for (const Case& expected : std::vector<Case>{{LogLevel::None, ""},
                                                  {LogLevel::Version, ""},
                                                  {LogLevel::Warn, "w"},
                                                  {LogLevel::Info, "wi"},
                                                  {LogLevel::Trace, "wit"}}) {
        const TemporaryDirectory directory;
        Logger log("h");
        log.configure(config_for(directory, expected.level, {static_cast<std::uint32_t>(Subsystem::Net)}));
        log.warn(0, "w");
        log.info(Subsystem::Net, 0, "i");
        log.info(Subsystem::Coll, 0, "other");
        log.trace(Subsystem::Net, 0, "t");
        log.trace(Subsystem::Init, 0, "other");
        std::string shown;
        const std::string text = directory.read("log");
        for (const std::string_view line : split_text(text, '\n')) {
            if (!line.empty()) shown += line.substr(line.rfind(' ') + 1);
        }
        EXPECT_EQ(shown, expected.shown);
    }
}

TEST(Logger, DefaultIsWarningsOnStderrAndNothingOnStdout) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Logger log("h");
    log.warn(2, "seen");
    log.info(Subsystem::Init, 2, "not seen");
    const std::string err = testing::internal::GetCapturedStderr();
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_TRUE(std::regex_match(err, std::regex("h:[0-9]+:[0-9]+ \\[2\\] RONDO WARN seen\n"))) << err;
}

TEST(Logger, UnwritableFileIsReportedOnceAndStderrServes) {
    testing::internal::CaptureStderr();
    Logger log("h");
    const LogConfig config{.level = LogLevel::Info, .file = "/proc/no/such/%h"};
    log.configure(config);
    log.configure(config);
    log.info(Subsystem::Init, 0, "to stderr");
    const std::string err = testing::internal::GetCapturedStderr();
    const std::size_t first = err.find("RONDO WARN RONDO_DEBUG_FILE=/proc/no/such/%h: ");
    ASSERT_NE(first, std::string::npos) << err;
    EXPECT_EQ(err.find("RONDO WARN", first + 1), std::string::npos) << err;
    EXPECT_NE(err.find("RONDO INFO to stderr\n"), std::string::npos) << err;
}

TEST(Logger, FileIsAppendedTo) {
    const TemporaryDirectory directory;
    for (int i = 0; i < 2; ++i) {
        Logger log("h");
        log.configure(config_for(directory, LogLevel::Warn));
        log.warn(i, "line");
    }
    EXPECT_EQ(split_text(directory.read("log"), '\n').size(), 3U);
}

TEST(Logger, LinesOfThreadsStayWhole) {
    const TemporaryDirectory directory;
    Logger log("h");
    log.configure(config_for(directory, LogLevel::Info));
    constexpr int kThreads = 4;
    constexpr int kLines = 200;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&log, t] {
            for (int i = 0; i < kLines; ++i) log.info(Subsystem::Env, t, "line {} of {}", i, std::string(100, 'x'));
        });
    }
    for (std::thread& thread : threads) thread.join();
    const std::string text = directory.read("log");
    const std::regex line("h:[0-9]+:[0-9]+ \\[[0-3]\\] RONDO INFO line [0-9]+ of x{100}");
    int lines = 0;
    for (const std::string_view found : split_text(text, '\n')) {
        if (found.empty()) continue;
        EXPECT_TRUE(std::regex_match(found.begin(), found.end(), line)) << found;
        ++lines;
    }
    EXPECT_EQ(lines, kThreads * kLines);
}

}  // namespace
}  // namespace rondo
