#pragma once
// What the tests of sessions share: an owner that keeps all that it is told, and processes of a communicator.

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/hello.hpp"
#include "bootstrap/service.hpp"
#include "bootstrap/session.hpp"

namespace rondo::bootstrap {

/// Keeps what it is told.
class Owner : public Events {
public:
    void on_roster(const Roster& roster) override {
        note([&] { roster_ = roster; });
    }
    void on_go(const std::vector<std::string>& reports) override {
        note([&] { reports_ = reports; });
    }
    void on_failure(const Cause& cause) override {
        note([&] {
            ++failures_;
            cause_ = cause;
        });
    }
    void on_departed(Rank rank) override {
        note([&] { departed_.push_back(rank); });
    }
    void on_connection(ProcessDescriptor connection, const Hello& hello) override {
        note([&] { connections_.emplace_back(std::move(connection), hello); });
    }
    std::string on_status() override { return "status of " + name; }

    std::string name;

    template <class Condition>
    bool await(Condition condition, double seconds = 10) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return condition(*this); });
    }
    bool await_roster(double seconds = 10) {
        return await([](const Owner& owner) { return owner.roster_ || owner.cause_; }, seconds) && roster_;
    }
    bool await_go(double seconds = 10) {
        return await([](const Owner& owner) { return owner.reports_ || owner.cause_; }, seconds) && reports_;
    }
    /// The failure; Success where there is none within the time.
    Cause await_failure(double seconds = 10) {
        await([](const Owner& owner) { return owner.cause_.has_value(); }, seconds);
        const std::lock_guard lock(mutex_);
        return cause_.value_or(Cause{});
    }
    bool await_departed(const std::set<Rank>& ranks, double seconds = 10) {
        return await(
            [&](const Owner& owner) { return std::set<Rank>(owner.departed_.begin(), owner.departed_.end()) == ranks; },
            seconds);
    }

    // Under await() only, or when nothing comes any more.
    std::optional<Roster> roster_;
    std::optional<std::vector<std::string>> reports_;
    std::optional<Cause> cause_;
    int failures_ = 0;
    std::vector<Rank> departed_;
    std::vector<std::pair<ProcessDescriptor, Hello>> connections_;

private:
    template <class Change>
    void note(Change change) {
        const std::lock_guard lock(mutex_);
        change();
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
};

inline constexpr const char* kFacts = "slots=4\nproto=auto\n";

/// One process's part in a communicator, or what stands for one.
struct Member {
    Member() = default;
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    ~Member() {
        if (session) session->close();
    }

    void open(const SessionOptions& options) {
        nranks = options.nranks;
        session = Session::open(options, owner);
    }
    void join(Rank rank, const std::string& facts = kFacts) {
        owner.name = owner.name.empty() ? fmt::format("{}", rank) : owner.name + fmt::format("+{}", rank);
        session->join(nranks, {rank, facts, fmt::format("extra of {}", rank)});
    }

    Owner owner;
    std::shared_ptr<Session> session;
    Rank nranks = 0;
};

inline SessionOptions options_for(Service* service, const UniqueId& id, Rank nranks, double timeout = 20) {
    SessionOptions options;
    options.service = service;
    options.id = id;
    options.nranks = nranks;
    options.timeout = timeout;
    return options;
}

/// Processes of one communicator, each with a service of its own, one rank each.
class Party {
public:
    explicit Party(Rank nranks, double timeout = 20) : nranks_(nranks), timeout_(timeout) {
        for (Rank rank = 0; rank < nranks; ++rank) {
            services.push_back(std::make_unique<Service>());
            members.push_back(std::make_unique<Member>());
        }
        id = make_unique_id(*services[0], Settings{});
    }
    void open(Rank rank) { member(rank).open(options_for(services[index(rank)].get(), id, nranks_, timeout_)); }
    void start(Rank rank) {
        open(rank);
        member(rank).join(rank);
    }
    void start_all() {
        for (Rank rank = 0; rank < nranks_; ++rank) start(rank);
    }
    /// Up to on_go() on all.
    bool start_and_go() {
        start_all();
        bool good = true;
        for (const auto& member : members) {
            good = good && member->owner.await_roster();
            if (good) member->session->report("report of " + member->owner.name);
        }
        for (const auto& member : members) good = good && member->owner.await_go();
        return good;
    }
    Member& member(Rank rank) { return *members[index(rank)]; }

    UniqueId id{};
    std::vector<std::unique_ptr<Service>> services;
    std::vector<std::unique_ptr<Member>> members;

private:
    static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }
    Rank nranks_;
    double timeout_;
};

inline Hello hello_for(Purpose purpose, Rank source, Rank destination, std::uint16_t flow) {
    Hello hello;
    hello.purpose = purpose;
    hello.source = source;
    hello.destination = destination;
    hello.flow = flow;
    return hello;
}

/// What a non-blocking socket has next, within two seconds.
inline std::string receive(int fd) {
    char buffer[64];
    for (int i = 0; i < 2000; ++i) {
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got >= 0) return {buffer, static_cast<std::size_t>(got)};
        ::usleep(1000);
    }
    return "nothing came";
}

}  // namespace rondo::bootstrap
