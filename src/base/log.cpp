#include "base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include "base/parse.hpp"

namespace rondo {

namespace {

std::string_view level_name(LogLevel level) noexcept {
    for (const auto& [name, value] : kLogLevels) {
        if (value == level) return name;
    }
    return "?";
}

}  // namespace

/// The spdlog logger is created by itself and in no registry, so that a program that uses spdlog too never meets it.
/// Its sinks have no lock: mutex_ of the Logger serves.
struct Logger::Sink {
    explicit Sink(spdlog::sink_ptr sink) : log("rondo", std::move(sink)) {
        log.set_level(spdlog::level::trace);
        log.flush_on(spdlog::level::trace);
        log.set_pattern("%v");
        // The default handler prints to stderr, and a full disk must not fill that too.
        log.set_error_handler([](const std::string&) {});
    }
    spdlog::logger log;
};

Logger::Logger(std::string host)
    : host_(std::move(host)),
      level_(LogLevel::Warn),
      subsystems_(kDefaultSubsystems.bits),
      sink_(std::make_unique<Sink>(std::make_shared<spdlog::sinks::stderr_sink_st>())) {}

Logger::~Logger() = default;

void Logger::configure(const LogConfig& config) {
    const std::lock_guard lock(mutex_);
    level_.store(config.level, std::memory_order_relaxed);
    subsystems_.store(config.subsystems.bits, std::memory_order_relaxed);
    if (config.file != config_.file) open(config);
    config_ = config;
}

void Logger::open(const LogConfig& config) {
    std::string fault;
    if (!config.file.empty()) {
        const std::string path = expand_log_file(config.file, host_, getpid());
        try {
            sink_ = std::make_unique<Sink>(std::make_shared<spdlog::sinks::basic_file_sink_st>(path));
            return;
        } catch (const spdlog::spdlog_ex& error) {
            fault = error.what();
        }
    }
    sink_ = std::make_unique<Sink>(std::make_shared<spdlog::sinks::stderr_sink_st>());
    if (!fault.empty() && config.level >= LogLevel::Warn) {
        write_locked(LogLevel::Warn, kNoRank,
                     fmt::format("RONDO_DEBUG_FILE={}: {}; messages go to stderr", config.file, fault));
    }
}

void Logger::write(LogLevel level, Rank rank, std::string_view text) {
    const std::lock_guard lock(mutex_);
    write_locked(level, rank, text);
}

void Logger::write_locked(LogLevel level, Rank rank, std::string_view text) {
    const std::string who = rank == kNoRank ? "-" : fmt::format("{}", rank);
    for (const std::string_view line : split_text(text, '\n')) {
        sink_->log.log(spdlog::level::info, fmt::format("{}:{}:{} [{}] RONDO {} {}", host_, getpid(), gettid(), who,
                                                        level_name(level), line));
    }
}

void Logger::lock_for_fork() { mutex_.lock(); }

void Logger::unlock_after_fork() { mutex_.unlock(); }

std::string expand_log_file(std::string_view pattern, std::string_view host, long pid) {
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        switch (next) {
            case 'h': path += host; break;
            case 'p': path += fmt::format("{}", pid); break;
            case '%': path += '%'; break;
            default: path += pattern[i]; continue;
        }
        ++i;
    }
    return path;
}

}  // namespace rondo
