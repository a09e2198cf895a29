#pragma once
// Members of communicators as real processes. Fork them while this process has no other threads.

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/service.hpp"
#include "bootstrap/session.hpp"

namespace rondo::bootstrap {

/// Tells its parent everything, a line each.
class TellingOwner : public Events {
public:
    explicit TellingOwner(int out) : out_(out) {}

    void on_roster(const Roster& roster) override {
        tell(fmt::format("roster of {} processes", roster.processes.size()));
        if (session != nullptr) session->report("ready");
    }
    void on_go(const std::vector<std::string>&) override { tell("go"); }
    void on_failure(const Cause& cause) override {
        tell(fmt::format("failure: {}: {}", name_of(cause.code), cause.text));
    }
    void on_departed(Rank rank) override { tell(fmt::format("departed {}", rank)); }
    void on_connection(ProcessDescriptor, const Hello&) override { tell("connection"); }
    std::string on_status() override { return "well"; }

    void tell(const std::string& line) const {
        const std::string text = line + "\n";
        static_cast<void>(::write(out_, text.data(), text.size()) == 0);
    }

    Session* session = nullptr;

private:
    int out_;
};

/// A child process and the lines that it tells.
class Child {
public:
    /// `body(in, out)` runs in the child: commands, a letter each, and lines.
    explicit Child(const std::function<void(int in, int out)>& body) {
        int to_child[2];
        int from_child[2];
        if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0) std::abort();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(to_child[1]);
            ::close(from_child[0]);
            body(to_child[0], from_child[1]);
            ::_exit(0);
        }
        ::close(to_child[0]);
        ::close(from_child[1]);
        in_ = to_child[1];
        out_ = from_child[0];
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        kill();
        ::close(in_);
        ::close(out_);
    }

    [[nodiscard]] pid_t pid() const { return pid_; }
    void command(char letter) const { static_cast<void>(::write(in_, &letter, 1) == 1); }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    /// The exit status; -1 where it does not end in time.
    int wait_for_exit(double seconds) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (std::chrono::steady_clock::now() > end) return -1;
            ::usleep(1000);
        }
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    /// Before any line has been read.
    void read_bytes(void* data, std::size_t size) const {
        for (std::size_t at = 0; at < size;) {
            const ssize_t got = ::read(out_, static_cast<char*>(data) + at, size - at);
            if (got <= 0) return;
            at += static_cast<std::size_t>(got);
        }
    }
    /// The next line; "" where none comes in time.
    std::string line(double seconds = 10) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (text_.find('\n') == std::string::npos) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            pollfd wait{out_, POLLIN, 0};
            if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return {};
            char buffer[4096];
            const ssize_t got = ::read(out_, buffer, sizeof buffer);
            if (got <= 0) return {};
            text_.append(buffer, static_cast<std::size_t>(got));
        }
        const std::size_t end_of_line = text_.find('\n');
        std::string line = text_.substr(0, end_of_line);
        text_.erase(0, end_of_line + 1);
        return line;
    }
    /// The first line that begins so; "" where none comes in time.
    std::string line_with(const std::string& beginning, double seconds = 10) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (true) {
            const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
            std::string next = line(left.count());
            if (next.empty() || next.compare(0, beginning.size(), beginning) == 0) return next;
        }
    }

private:
    pid_t pid_ = 0;
    int in_ = -1;
    int out_ = -1;
    std::string text_;
};

/// What a member does: joins, then obeys. d: departs, c: closes, e: ends by the book, x: ends at once, f: forks a child
/// that sleeps, v: the same without fork handlers.
inline void obey(int in, TellingOwner& owner, Session& session, Rank rank) {
    char letter = 0;
    while (::read(in, &letter, 1) == 1) {
        switch (letter) {
            case 'd': session.depart(rank); break;
            case 'c': session.close(); break;
            case 'e':
                session.depart(rank);
                session.close();
                return;
            case 'x': ::_exit(0);
            case 'f': {
                const pid_t child = ::fork();
                if (child == 0) {
                    ::sleep(30);
                    ::_exit(0);
                }
                owner.tell(fmt::format("forked {}", child));
                break;
            }
            case 'v': {
                // Copies all descriptors and calls no fork handler.
                const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
                if (child == 0) {
                    ::pause();
                    ::_exit(0);
                }
                owner.tell(fmt::format("cloned {}", child));
                break;
            }
            default: return;
        }
    }
}

/// Processes with one rank each; rank 0's makes the id.
class Processes {
public:
    explicit Processes(Rank nranks, double timeout = 20) : nranks_(nranks), timeout_(timeout) {
        children.resize(static_cast<std::size_t>(nranks));
        children[0] = std::make_unique<Child>([this](int in, int out) {
            TellingOwner owner(out);
            Service service;
            id = make_unique_id(service, Settings{});
            static_cast<void>(::write(out, id.data(), id.size()) == 0);
            char letter = 0;
            if (::read(in, &letter, 1) == 1) member(service, owner, in, 0);
        });
        children[0]->read_bytes(id.data(), id.size());
    }

    void start(Rank rank) {
        if (rank == 0) {
            children[0]->command('j');
            return;
        }
        children[static_cast<std::size_t>(rank)] = std::make_unique<Child>([this, rank](int in, int out) {
            TellingOwner owner(out);
            Service service;
            member(service, owner, in, rank);
        });
    }
    void start_all() {
        for (Rank rank = 1; rank < nranks_; ++rank) start(rank);
        start(0);
    }
    bool start_and_go() {
        start_all();
        bool good = true;
        for (const auto& child : children) good = child->line_with("go") == "go" && good;
        return good;
    }
    Child& operator[](Rank rank) { return *children[static_cast<std::size_t>(rank)]; }

    UniqueId id{};
    std::vector<std::unique_ptr<Child>> children;

private:
    void member(Service& service, TellingOwner& owner, int in, Rank rank) const {
        SessionOptions options;
        options.service = &service;
        options.id = id;
        options.nranks = nranks_;
        options.timeout = timeout_;
        const auto session = Session::open(options, owner);
        owner.session = session.get();
        session->join(nranks_, {rank, "", ""});
        owner.tell("joined");
        obey(in, owner, *session, rank);
        session->close();
    }

    Rank nranks_;
    double timeout_;
};

}  // namespace rondo::bootstrap
