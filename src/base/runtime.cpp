#include "base/runtime.hpp"

#include <pthread.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/version.hpp"

namespace rondo {

namespace {

std::string read_host() {
    utsname names{};
    return uname(&names) == 0 ? names.nodename : "localhost";
}

}  // namespace

Runtime& Runtime::get() {
    static auto* const runtime = new Runtime;
    return *runtime;
}

Runtime::Runtime() : host_(read_host()), log_(host_) {
    // The handlers run inside fork(), where get() has long returned: this constructor ran before.
    pthread_atfork([] { get().before_fork(); }, [] { get().after_fork_in_parent(); },
                   [] { get().after_fork_in_child(); });
}

/// Locks in the order in which others nest them: a service may log and open descriptors while it is made.
void Runtime::before_fork() {
    services_mutex_.lock();
    mutex_.lock();
    descriptors_.mutex().lock();
    log_.lock_for_fork();
}

void Runtime::after_fork_in_parent() {
    log_.unlock_after_fork();
    descriptors_.mutex().unlock();
    mutex_.unlock();
    services_mutex_.unlock();
}

void Runtime::after_fork_in_child() {
    generation_.fetch_add(1, std::memory_order_relaxed);
    descriptors_.close_all();
    // Their threads are not here, and their locks may be held for ever: the parent's services are left where they are.
    abandoned_.push_back(std::move(services_));
    services_.clear();
    after_fork_in_parent();
}

Settings Runtime::load_settings() {
    const SettingsReport report = evaluate(read_settings_input());
    const std::lock_guard lock(mutex_);
    log_.configure(report.settings.log_config());
    for (const std::string& warning : report.warnings) {
        if (first_time(warning)) log_.warn(Logger::kNoRank, "{}", warning);
    }
    report.throw_errors();
    // WARN, the default, is silent as long as all is well.
    const bool show_version = log_.enabled(LogLevel::Version) && report.settings.debug != LogLevel::Warn;
    if (show_version && first_time(build_info())) {
        log_.write(LogLevel::Version, Logger::kNoRank, build_info());
    }
    for (const SettingRow& row : report.rows) {
        if (row.value == row.default_value) continue;
        const std::string text = row.name + "=" + row.value + " (" + row.source + ")";
        if (log_.enabled(LogLevel::Info, Subsystem::Env) && first_time(text)) {
            log_.info(Subsystem::Env, Logger::kNoRank, "{}", text);
        }
    }
    return report.settings;
}

bool Runtime::first_time(const std::string& text) { return said_.insert(text).second; }

ProcessToken Runtime::token() const noexcept {
    return {.pid = getpid(), .generation = generation_.load(std::memory_order_relaxed)};
}

void Runtime::check_fork(const ProcessToken& token) const {
    if (same_process(token)) return;
    throw make_error(Code::InvalidUsage,
                     "communicator belongs to pid {}, and this is its forked child, pid {}: make a communicator of its "
                     "own in the child",
                     token.pid, getpid());
}

}  // namespace rondo
