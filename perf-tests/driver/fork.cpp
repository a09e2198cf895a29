#include "driver/fork.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "driver/run_error.hpp"

namespace rondo::perf {

namespace {

using Clock = std::chrono::steady_clock;

/// Time that processes have to notice that another one has failed, and to print what they know.
constexpr std::chrono::seconds kGrace{15};
/// The same after a signal to the parent.
constexpr std::chrono::seconds kSignalGrace{3};

bool read_all(int from, void* data, std::size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = read(from, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

struct Child {
    int process = 0;
    pid_t pid = 0;
    bool ended = false;
};

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    return set;
}

/// The parent's side.
class Nursery {
public:
    Nursery(const char* program, std::vector<Child> children) : program_(program), children_(std::move(children)) {}

    int wait(const sigset_t& signals) {
        while (collect()) {
            const timespec pause{0, 200'000'000};
            siginfo_t info{};
            const int signal = sigtimedwait(&signals, &info, &pause);
            if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) end_by(signal);
            if (deadline_ && Clock::now() >= *deadline_) kill_rest();
        }
        return status_;
    }

    void kill_all(int signal) const {
        for (const Child& child : children_) {
            if (!child.ended) kill(child.pid, signal);
        }
    }

private:
    /// Takes in who has ended. True while any is left.
    bool collect() {
        bool left = false;
        for (Child& child : children_) {
            if (child.ended) continue;
            int state = 0;
            const pid_t result = waitpid(child.pid, &state, WNOHANG);
            if (result == child.pid) {
                child.ended = true;
                judge(child, state);
            }
            left = left || !child.ended;
        }
        return left;
    }

    void judge(const Child& child, int state) {
        if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return;
        if (WIFEXITED(state)) {
            status_ = std::max(status_, WEXITSTATUS(state));
            // A process that says why it fails has said it.
            if (!quiet_) say(child, fmt::format("ended with status {}", WEXITSTATUS(state)));
        } else {
            const int signal = WTERMSIG(state);
            status_ = std::max(status_, 1);
            if (!quiet_) say(child, fmt::format("died by signal {} ({})", signal, strsignal(signal)));
        }
        if (!deadline_) deadline_ = Clock::now() + kGrace;
    }

    void end_by(int signal) {
        if (quiet_) return;
        fmt::print(stderr, "{}: signal {} ({}): ending all processes\n", program_, signal, strsignal(signal));
        status_ = 128 + signal;
        quiet_ = true;
        kill_all(SIGTERM);
        deadline_ = Clock::now() + kSignalGrace;
    }

    void kill_rest() {
        for (const Child& child : children_) {
            if (!child.ended && !quiet_) say(child, "has not ended after another one had failed; killed");
        }
        quiet_ = true;
        kill_all(SIGKILL);
        deadline_.reset();
    }

    void say(const Child& child, const std::string& what) const {
        fmt::print(stderr, "{}: process {} (pid {}) {}\n", program_, child.process, child.pid, what);
    }

    const char* program_;
    std::vector<Child> children_;
    std::optional<Clock::time_point> deadline_;
    int status_ = 0;
    bool quiet_ = false;
};

}  // namespace

IdPipes::IdPipes(int processes) : pipes_(static_cast<std::size_t>(processes) - 1) {
    for (Pipe& one : pipes_) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            const int error = errno;
            close_all();
            throw RunError(fmt::format("--procs {}: pipe: {}", processes, std::strerror(error)));
        }
        one = {ends[0], ends[1]};
    }
}

IdPipes::~IdPipes() { close_all(); }

void IdPipes::close_all() noexcept {
    for (Pipe& one : pipes_) {
        for (int* end : {&one.in, &one.out}) {
            if (*end >= 0) close(*end);
            *end = -1;
        }
    }
}

Ids IdPipes::exchange(int process) {
    Ids ids;
    if (process == 0) {
        ids = make_ids();
        for (const Pipe& one : pipes_) {
            // A pipe holds this many bytes, so nobody is waited for. A reader that died is the parent's matter.
            struct sigaction ignore {};
            struct sigaction before {};
            ignore.sa_handler = SIG_IGN;
            sigaction(SIGPIPE, &ignore, &before);
            const ssize_t written = write(one.out, &ids, sizeof(ids));
            sigaction(SIGPIPE, &before, nullptr);
            if (written != static_cast<ssize_t>(sizeof(ids))) {
                throw ProcessError(
                    fmt::format("the ids cannot be handed to another process: {}", std::strerror(errno)));
            }
        }
    } else {
        Pipe& mine = pipes_[static_cast<std::size_t>(process) - 1];
        for (Pipe& one : pipes_) {
            // Only process 0 keeps the ends for writing: its death must be seen here.
            close(one.out);
            one.out = -1;
        }
        if (!read_all(mine.in, &ids, sizeof(ids))) {
            throw ProcessError("process 0 ended before it had made the ids");
        }
    }
    close_all();
    return ids;
}

int run_forked(const char* program, int processes, const std::function<int(int, IdPipes&)>& body) {
    std::fflush(nullptr);
    IdPipes pipes(processes);
    const sigset_t signals = watched_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &signals, &before);
    const pid_t parent = getpid();
    std::vector<Child> children;
    for (int process = 0; process < processes; ++process) {
        const pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) _exit(1);
            sigprocmask(SIG_SETMASK, &before, nullptr);
            return body(process, pipes);
        }
        if (pid < 0) {
            const int error = errno;
            Nursery(program, children).kill_all(SIGKILL);
            for (const Child& child : children) waitpid(child.pid, nullptr, 0);
            sigprocmask(SIG_SETMASK, &before, nullptr);
            throw RunError(fmt::format("--procs {}: fork of process {}: {}", processes, process, std::strerror(error)));
        }
        children.push_back({process, pid, false});
    }
    pipes.close_all();  // else the death of process 0 would not show at the other ends
    const int status = Nursery(program, std::move(children)).wait(signals);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return status;
}

}  // namespace rondo::perf
