// The rest of SessionCore: failures, departures, deaths, and what processes ask each other.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/host_identity.hpp"
#include "bootstrap/liveness.hpp"
#include "bootstrap/rank_list.hpp"
#include "bootstrap/root.hpp"
#include "bootstrap/service.hpp"
#include "bootstrap/session_core.hpp"

namespace rondo::bootstrap {

namespace {

constexpr double kCauseSeconds = 0.5;        // for the root's answer to a failure
constexpr double kGraceSeconds = 0.3;        // for the news of a departure to overtake that of the process's end
constexpr double kRootlessGraceSeconds = 1;  // no such news can come: time to finish what the process took part in
constexpr double kBetweenTellers = 0.01;
constexpr std::int32_t kMostTellers = 30;
constexpr double kQuerySeconds = 0.6;
constexpr double kLingerSeconds = 5;  // so long a closed session tries to tell the root of its failure
constexpr std::size_t kMostWatched = 256;

}  // namespace

// --- Failures --------------------------------------------------------------------------------------------------------

void SessionCore::fail(Cause cause) {
    if (closed_ || left_ || cause_ || own_cause_) return;
    own_cause_ = fit(std::move(cause));
    if (!link_) {
        deliver(*own_cause_);
        if (rootless_) spread(*own_cause_);
        return;
    }
    link_->send(FrameType::Fail, encode(*own_cause_));
    cause_timer_ = executor_->after(kCauseSeconds, [self = shared_from_this()] { self->deliver(*self->own_cause_); });
}

void SessionCore::deliver(const Cause& cause) {
    if (cause_) return;
    cause_ = cause;
    cancel_timers();
    watches_.clear();
    early_.clear();
    // What this process knows, the root shall know: only a dialer without such news is in vain.
    if (dialer_ && !own_cause_) {
        dialer_->cancel();
        dialer_ = nullptr;
    }
    gate_.pass([&](Events& events) { events.on_failure(*cause_); });
}

void SessionCore::cancel_timers() {
    for (Executor::TimerId* timer : {&init_timer_, &progress_timer_, &cause_timer_, &port_timer_}) {
        executor_->cancel(std::exchange(*timer, 0));
    }
    for (const Executor::TimerId timer : grace_timers_) executor_->cancel(timer);
    grace_timers_.clear();
}

void SessionCore::drop_link() {
    // It may be in the middle of a callback: it goes later.
    if (link_) executor_->post([link = std::move(link_)] {});
    link_ = nullptr;
}

void SessionCore::on_link_closed(const std::string& reason) {
    drop_link();
    if (left_ || closed_ || cause_) return;
    const std::int32_t process = roster_ ? roster_->root_process : -1;
    rootless_ = going_ && (process < 0 || all_departed(process));
    if (own_cause_) {
        deliver(*own_cause_);
        if (rootless_) spread(*own_cause_);
        return;
    }
    if (!roster_) {
        deliver({.code = Code::RemoteError,
                 .rank = ranks_.front(),
                 .text = fmt::format("the root at {} ended before all ranks had joined (control connection: {})",
                                     root_text(), reason),
                 .operation = "init",
                 .object = root_text()});
        return;
    }
    if (rootless_) {
        // Deaths are still seen by the processes of the same host, and by those that exchange data: see spread().
        Runtime::get().logger().info(Subsystem::Init, ranks_.front(), "the root at {} has left", root_text());
        end_queries();
        return;
    }
    const std::string who =
        process < 0 ? fmt::format("the root at {}", root_text()) : roster_->describe(process) + ", the root,";
    const Rank rank = process < 0 ? -1 : roster_->ranks_of(process).front();
    deliver({.code = Code::RemoteError,
             .rank = rank,
             .peer = rank,
             .text = fmt::format("{} ended without leaving the communicator (control connection: {})", who, reason)});
}

// --- Deaths seen by the system ---------------------------------------------------------------------------------------

void SessionCore::watch_processes() {
    if (local()) return;
    const auto self = roster_->self;
    const Site& here = roster_->site_of(self);
    std::set<std::int32_t> pids{::getpid()};
    for (std::int32_t process = 0; process < static_cast<std::int32_t>(roster_->processes.size()); ++process) {
        const Site& site = roster_->site_of(process);
        const Process& other = roster_->processes[static_cast<std::size_t>(process)];
        const bool comparable =
            here.pid_namespace != 0 && site.pid_namespace == here.pid_namespace && site.host_id == here.host_id;
        if (process == self || !comparable || !pids.insert(other.pid).second) continue;
        if (watches_.size() == kMostWatched) return;
        watches_[process] =
            options_.service->liveness().watch(other.pid, other.start_time, [weak = weak_from_this(), process] {
                if (const auto core = weak.lock()) core->on_death(process);
            });
    }
}

void SessionCore::on_death(std::int32_t process) {
    if (cause_ || closed_ || left_) return;
    // A process may well end after it has left: the news of that may be on its way yet.
    // Without a root each that sees it tells all others: one after the other, so that the first spares the rest.
    const double grace =
        rootless_ ? kRootlessGraceSeconds + kBetweenTellers * std::min(roster_->self, kMostTellers) : kGraceSeconds;
    grace_timers_.push_back(
        executor_->after(grace, [self = shared_from_this(), process] { self->report_death(process); }));
}

void SessionCore::report_death(std::int32_t process) {
    if (cause_ || closed_ || left_ || all_departed(process)) return;
    if (rootless_ && seen_leaving(process)) return;
    const Rank rank = roster_->ranks_of(process).front();
    fail({.code = Code::RemoteError,
          .rank = rank,
          .peer = rank,
          .text = rootless_ ? fmt::format("{} ended, and whether it had left could not be heard after the root had",
                                          roster_->describe(process))
                            : fmt::format("{} ended without leaving the communicator (its process is gone)",
                                          roster_->describe(process))});
}

bool SessionCore::all_departed(std::int32_t process) const {
    const std::vector<Rank> ranks = roster_->ranks_of(process);
    return std::all_of(ranks.begin(), ranks.end(), [this](Rank rank) { return departed_.contains(rank); });
}

/// The root has left without hearing of it, but data or memory tell that the process had left before it ended.
bool SessionCore::seen_leaving(std::int32_t process) {
    bool all = true;
    for (const Rank rank : roster_->ranks_of(process)) {
        gate_.pass([&](Events& events) { all = all && (departed_.contains(rank) || events.seen_leaving(rank)); });
    }
    return all;
}

// --- Leaving ---------------------------------------------------------------------------------------------------------

void SessionCore::depart(Rank rank) {
    if (closed_ || left_ || !has_rank(rank) || !departed_.insert(rank).second) return;
    if (link_) link_->send(FrameType::Depart, encode(rank));
    if (going_ && !cause_) gate_.pass([&](Events& events) { events.on_departed(rank); });
    left_ = std::all_of(ranks_.begin(), ranks_.end(), [this](Rank own) { return departed_.contains(own); });
    if (!left_) return;
    // Where the root has not been reached yet, it must still hear of it: others wait for this rank.
    if (dialer_ && !own_cause_) own_cause_ = cause_of_leaving("left before all ranks had joined");
    say_goodbye();
}

Cause SessionCore::cause_of_leaving(const char* how) const {
    return {.code = Code::RemoteError,
            .rank = ranks_.front(),
            .peer = ranks_.front(),
            .text = fmt::format("rank{} {} (host {}, pid {}) {}", ranks_.size() == 1 ? "" : "s", rank_list(ranks_),
                                introduction_.site.host, introduction_.process.pid, how)};
}

/// All news for the root is out or on its way.
void SessionCore::say_goodbye() {
    watches_.clear();
    cancel_timers();
    if (!link_) return;
    link_->send(FrameType::Goodbye, std::string());
    link_->close();
    drop_link();
}

void SessionCore::close() {
    if (std::exchange(closed_, true)) return;
    if (!left_ && dialer_ && !cause_ && !own_cause_) own_cause_ = cause_of_leaving("left before all ranks had joined");
    if (!left_ && link_ && !cause_ && !own_cause_ && !ranks_.empty()) {
        own_cause_ = cause_of_leaving("gave the communicator up without leaving it");
        link_->send(FrameType::Fail, encode(*own_cause_));
    }
    say_goodbye();
    if (!local()) options_.service->registry().remove_callee(identity_.key, this);
    early_.clear();
    for (const std::shared_ptr<Link>& link : std::exchange(news_, {})) executor_->post([link] {});
    for (const std::shared_ptr<Dialer>& call : std::exchange(calls_, {})) call->cancel();
    for (auto& [name, wish] : std::exchange(wishes_, {})) executor_->cancel(wish.timer);
    for (auto& [number, query] : std::exchange(queries_, {})) executor_->cancel(query.second);
    own_root_ = nullptr;
    if (!dialer_) return;
    if (!own_cause_) {
        dialer_->cancel();
        dialer_ = nullptr;
        return;
    }
    cause_timer_ = executor_->after(kLingerSeconds, [self = shared_from_this()] {
        if (self->dialer_) self->dialer_->cancel();
        self->dialer_ = nullptr;
    });
}

// --- Records, queries -----------------------------------------------------------------------------------------------

void SessionCore::record(const Record& record) {
    if (link_ && going_ && !cause_) link_->send(FrameType::Record, encode(record));
}

void SessionCore::query(Session::QueryCallback callback) {
    if (closed_) return;
    if (!roster_ || !link_) {
        const std::vector<std::string> none(roster_ ? roster_->processes.size() : 0);
        gate_.pass([&](Events&) { callback(none); });
        return;
    }
    const std::uint64_t number = ++query_number_;
    const Executor::TimerId timer = executor_->after(kQuerySeconds, [self = shared_from_this(), number] {
        self->on_status_reply({number, std::vector<std::string>(self->roster_->processes.size())});
    });
    queries_[number] = {std::move(callback), timer};
    link_->send(FrameType::Query, encode(number));
}

void SessionCore::on_status_reply(const StatusReplyMessage& reply) {
    auto node = queries_.extract(reply.number);
    if (node.empty()) return;
    executor_->cancel(node.mapped().second);
    gate_.pass([&](Events&) { node.mapped().first(reply.texts); });
}

/// Nobody will answer any more.
void SessionCore::end_queries() {
    while (!queries_.empty()) {
        on_status_reply({queries_.begin()->first, std::vector<std::string>(roster_->processes.size())});
    }
}

}  // namespace rondo::bootstrap
