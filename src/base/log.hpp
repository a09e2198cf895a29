#pragma once
// The logger: levels and subsystems as RONDO_DEBUG and RONDO_DEBUG_SUBSYS choose them, to stderr or to
// RONDO_DEBUG_FILE. A message that is not wanted costs one relaxed load and a branch; its arguments are not formatted.

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/types.hpp"

namespace rondo {

enum class LogLevel : std::uint8_t { None, Version, Warn, Info, Trace };

inline constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLogLevels{{{"NONE", LogLevel::None},
                                                                                  {"VERSION", LogLevel::Version},
                                                                                  {"WARN", LogLevel::Warn},
                                                                                  {"INFO", LogLevel::Info},
                                                                                  {"TRACE", LogLevel::Trace}}};

/// Parts of the library that Info and Trace messages come from; bits, so that a mask says which are wanted.
enum class Subsystem : std::uint32_t {
    Init = 1U << 0U,
    Coll = 1U << 1U,
    P2p = 1U << 2U,
    Net = 1U << 3U,
    Graph = 1U << 4U,
    Tuning = 1U << 5U,
    Env = 1U << 6U,
    All = ~0U,
};

inline constexpr std::array<std::pair<std::string_view, Subsystem>, 8> kSubsystems{{{"INIT", Subsystem::Init},
                                                                                    {"COLL", Subsystem::Coll},
                                                                                    {"P2P", Subsystem::P2p},
                                                                                    {"NET", Subsystem::Net},
                                                                                    {"GRAPH", Subsystem::Graph},
                                                                                    {"TUNING", Subsystem::Tuning},
                                                                                    {"ENV", Subsystem::Env},
                                                                                    {"ALL", Subsystem::All}}};

/// A set of subsystems.
struct SubsystemMask {
    std::uint32_t bits = 0;

    [[nodiscard]] constexpr bool has(Subsystem subsystem) const noexcept {
        return (bits & static_cast<std::uint32_t>(subsystem)) != 0;
    }
    constexpr bool operator==(const SubsystemMask&) const = default;
};

/// What NCCL shows by default: initialisation and settings.
inline constexpr SubsystemMask kDefaultSubsystems{static_cast<std::uint32_t>(Subsystem::Init) |
                                                  static_cast<std::uint32_t>(Subsystem::Env)};

struct LogConfig {
    LogLevel level = LogLevel::Warn;
    SubsystemMask subsystems = kDefaultSubsystems;
    std::string file;  ///< empty: stderr; %h is replaced by the host name, %p by the process id, %% by %

    bool operator==(const LogConfig&) const = default;
};

/// Log lines read "host:pid:tid [rank] RONDO INFO text"; the rank is "-" outside a communicator. Every line of a text
/// gets this prefix. All functions may be called from any thread.
class Logger {
public:
    static constexpr Rank kNoRank = -1;

    explicit Logger(std::string host);
    Logger(const Logger&) = delete;
    Logger& operator=(const Logger&) = delete;
    ~Logger();

    /// Takes effect for later messages. A file is appended to; one that cannot be written is reported once on stderr,
    /// which then takes the messages.
    void configure(const LogConfig& config);

    [[nodiscard]] bool enabled(LogLevel level) const noexcept {
        return level <= level_.load(std::memory_order_relaxed);
    }

    /// Info and Trace only: wanted, and from a subsystem that is wanted?
    [[nodiscard]] bool enabled(LogLevel level, Subsystem subsystem) const noexcept {
        return enabled(level) && SubsystemMask{subsystems_.load(std::memory_order_relaxed)}.has(subsystem);
    }

    template <class... Args>
    void warn(Rank rank, fmt::format_string<Args...> format, Args&&... args) {
        if (enabled(LogLevel::Warn)) {
            write(LogLevel::Warn, rank, fmt::vformat(format, fmt::make_format_args(args...)));
        }
    }

    template <class... Args>
    void info(Subsystem subsystem, Rank rank, fmt::format_string<Args...> format, Args&&... args) {
        if (enabled(LogLevel::Info, subsystem)) {
            write(LogLevel::Info, rank, fmt::vformat(format, fmt::make_format_args(args...)));
        }
    }

    template <class... Args>
    void trace(Subsystem subsystem, Rank rank, fmt::format_string<Args...> format, Args&&... args) {
        if (enabled(LogLevel::Trace, subsystem)) {
            write(LogLevel::Trace, rank, fmt::vformat(format, fmt::make_format_args(args...)));
        }
    }

    /// Writes whatever the level is. For the functions above and for VERSION.
    void write(LogLevel level, Rank rank, std::string_view text);

    /// Around fork(): no other thread is inside the logger while it is locked.
    void lock_for_fork();
    void unlock_after_fork();

private:
    struct Sink;

    void open(const LogConfig& config);
    void write_locked(LogLevel level, Rank rank, std::string_view text);

    const std::string host_;
    std::atomic<LogLevel> level_;
    std::atomic<std::uint32_t> subsystems_;
    std::mutex mutex_;
    LogConfig config_;            // under mutex_
    std::unique_ptr<Sink> sink_;  // under mutex_
};

/// `pattern` with %h, %p and %% replaced; any other % stands for itself.
std::string expand_log_file(std::string_view pattern, std::string_view host, long pid);

}  // namespace rondo
