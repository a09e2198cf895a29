#include "comm/watch.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/deadline.hpp"
#include "base/process_state.hpp"
#include "base/runtime.hpp"
#include "bootstrap/rank_list.hpp"

namespace rondo::comm {

namespace {

using transport::memory::CallRecord;
using transport::memory::CallRecords;

// A rank that has waited this long tells the root in which call.
constexpr double kRecordSeconds = 0.1;
// A connection that ends is the echo of something that the root will soon tell; only if it does not, it is the cause.
constexpr std::chrono::milliseconds kEcho{1000};

std::optional<CallRecord> find(const RankStatus& status, std::uint64_t sequence) {
    const auto found = std::ranges::find(status.calls, sequence, &CallRecord::sequence);
    return found == status.calls.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

Code code_seen_by(Rank rank, const Cause& cause) noexcept {
    return cause.code == Code::Aborted && cause.rank != rank ? Code::RemoteError : cause.code;
}

Code CallWatch::seen() const { return code_seen_by(rank_, team_.cause()); }

Code CallWatch::examine(std::chrono::nanoseconds waited) noexcept {
    try {
        if (team_.failed()) return seen();
        return check(waited);
    } catch (...) {
        return Code::InternalError;  // no memory for a text: give up the wait rather than hang
    }
}

Code CallWatch::check(std::chrono::nanoseconds waited) {
    if (mismatch_found() || departure_found() || loss_found()) return seen();
    if (wait_ != nullptr) {
        look(*wait_);
        return team_.failed() ? seen() : Code::Success;
    }
    const double seconds = seconds_waited(waited);
    if (!recorded_ && seconds >= kRecordSeconds) record_call();
    if (seconds >= patience_.timeout) {
        report_timeout(seconds);
        return seen();
    }
    if (!warned_ && patience_.stall_warning > 0 && seconds >= patience_.stall_warning) warn_stall(seconds);
    return Code::Success;
}

/// A wait begins anew whenever anything moves. Where that may be messages of others, the clock has the time.
double CallWatch::seconds_waited(std::chrono::nanoseconds waited) noexcept {
    if (batch_ != nullptr || clock_.running()) {
        waited = clock_.look(plan_steps_ + (batch_ != nullptr ? batch_->steps() : 0), waited);
    }
    return std::chrono::duration<double>(waited).count();
}

void CallWatch::look() noexcept {
    const auto waited = clock_.look(plan_steps_ + (batch_ != nullptr ? batch_->steps() : 0));
    const double seconds = std::chrono::duration<double>(waited).count();
    if (seconds < patience_.timeout || team_.failed()) return;
    try {
        report_timeout(seconds);
    } catch (...) {
        return;  // no memory for a text: the next look may have it
    }
}

void CallWatch::look(MessageWait& wait) const noexcept {
    const double seconds = std::chrono::duration<double>(wait.clock.look(wait.batch.steps())).count();
    const bool late = seconds >= wait.patience.timeout;
    const bool slow = !wait.warned && wait.patience.stall_warning > 0 && seconds >= wait.patience.stall_warning;
    if ((!late && !slow) || wait.batch.over() || team_.failed()) return;
    try {
        const std::string what = wait.batch.current();
        const Progress found = progress(0, wait.batch.awaited(rank_, team_.nranks()));
        if (late) {
            Cause cause = timeout_cause(what, seconds, wait.patience.timeout, found);
            cause.rank = rank_;
            cause.operation = wait.batch.operation();
            team_.fail(cause);
        } else {
            wait.warned = true;
            warn_stall(what, seconds, found);
        }
    } catch (...) {
        return;  // no memory for a text: the next look may have it
    }
}

/// Ranks in other memories cannot look into this one's records.
void CallWatch::record_call() {
    recorded_ = true;
    if (sequence_ == 0 || team_.placement().one_memory()) return;
    if (const auto own = domain_.records(rank_).find(sequence_)) team_.record(rank_, *own);
}

/// A peer whose call with our sequence has another signature will never send what we wait for.
bool CallWatch::mismatch_found() {
    if (sequence_ == 0) return false;
    const auto own = domain_.records(rank_).find(sequence_);
    for (const Rank peer : domain_.members()) {
        const auto other = domain_.records(peer).find(sequence_);
        if (own && other && own->signature != other->signature) return difference_found(peer, {});
    }
    return false;
}

/// Fails the communicator and returns true if this rank and the peer have made different calls of late: the first of
/// them is the cause, for signatures differ from there on.
bool CallWatch::difference_found(Rank peer, const Statuses& statuses) {
    constexpr std::uint64_t kDepth = CallRecords::kDepth;
    for (std::uint64_t sequence = sequence_ > kDepth ? sequence_ - kDepth + 1 : 1; sequence <= sequence_; ++sequence) {
        if (calls_differ(peer, sequence, statuses)) return true;
    }
    return false;
}

/// Fails the communicator and returns true if this rank and the peer have made different calls with this sequence.
bool CallWatch::calls_differ(Rank peer, std::uint64_t sequence, const Statuses& statuses) {
    const auto own = domain_.records(rank_).find(sequence);
    std::optional<CallRecord> other;
    if (domain_.has(peer)) {
        other = domain_.records(peer).find(sequence);
    } else if (const auto p = static_cast<std::size_t>(peer); p < statuses.size() && statuses[p]) {
        other = find(*statuses[p], sequence);
    }
    if (!own || !other || own->signature == other->signature) return false;
    fail(disagreement_of(sequence, rank_, own->call, peer, other->call));
    return true;
}

void CallWatch::report(const host::Disagreement& found) {
    // A call that needs nothing from the peer is over before its difference shows.
    if (difference_found(found.peer, domain_.has(found.peer) ? Statuses{} : team_.ask())) return;
    const std::int64_t expected = transfer_bytes(found.expected);
    const std::int64_t received = transfer_bytes(found.received);
    const auto message = [](std::int64_t bytes) {
        return bytes < 0 ? std::string("a message of a collective call") : fmt::format("a send of {} bytes", bytes);
    };
    const bool calls = expected < 0 && received < 0;
    fail({.code = Code::InvalidUsage,
          .peer = found.peer,
          .text = fmt::format(
              "{}: rank {} expects {} from rank {}, and {} came; sends and receives of a pair must agree "
              "in order and bytes, and come between the same collective calls",
              current(), rank_, message(expected), found.peer, calls ? "one of another call" : message(received)),
          .remedy = "make the calls of both ranks agree"});
}

void CallWatch::report(const host::Unread& unread) {
    fail({.code = Code::RemoteError,
          .peer = unread.peer,
          .text = fmt::format("{}: {} bytes of the buffer of {} cannot be read: {}", current(), unread.bytes,
                              team_.describe(unread.peer), std::generic_category().message(unread.error)),
          .remedy = unread.error == EFAULT ? "give that rank a buffer as long as its count says"
                                           : "if the process runs, RONDO_TRANSPORT=^cma does without such reads"});
}

bool CallWatch::departure_found() {
    // First who is gone, then for whom this rank waits: what a peer sent last is there when it is seen to be gone.
    std::vector<Rank> gone;
    for (Rank peer = 0; peer < team_.nranks(); ++peer) {
        if (peer != rank_ && routes_.departed(peer)) gone.push_back(peer);
    }
    if (gone.empty()) return false;
    std::vector<Rank> needed = execution_.awaited();
    const std::optional<Rank> hopeless = messages_ != nullptr ? messages_->hopeless(gone) : std::nullopt;
    if (hopeless) needed.push_back(*hopeless);
    for (const Rank peer : needed) {
        if (std::ranges::find(gone, peer) == gone.end()) continue;
        const bool visible = domain_.has(peer);
        if (visible && sequence_ != 0 && domain_.records(peer).latest() >= sequence_) continue;  // has done its part
        fail({.code = Code::RemoteError,
              .peer = peer,
              .text = fmt::format("{} waits for {}, which destroyed its communicator{}; every rank must make the same "
                                  "calls before any destroys",
                                  current(peer), team_.describe(peer),
                                  visible ? fmt::format(" after call {}", domain_.records(peer).latest()) : ""),
              .remedy = "make the same calls on every rank before any destroys"});
        return true;
    }
    return false;
}

bool CallWatch::loss_found() {
    if (team_.placement().one_memory()) return false;
    const transport::tcp::Lost* broken = routes_.lost();
    const std::optional<transport::tcp::Lost> lost =
        broken != nullptr ? std::optional(*broken) : team_.unreachable(rank_);
    if (!lost) return false;
    const auto now = std::chrono::steady_clock::now();
    if (!lost_since_) lost_since_ = now;
    std::vector<Rank> needed = execution_.awaited();
    if (messages_ != nullptr) std::ranges::copy(messages_->awaited(), std::back_inserter(needed));
    if (now - *lost_since_ < kEcho || std::ranges::find(needed, lost->peer) == needed.end()) return false;
    fail({.code = Code::RemoteError,
          .peer = lost->peer,
          .text = team_.departed(lost->peer)
                      ? fmt::format(
                            "{} waits for {}, which has left; every rank must make the same calls before any leaves",
                            current(lost->peer), team_.describe(lost->peer))
                  : broken != nullptr ? fmt::format("{} lost its connection to {}: {}", current(lost->peer),
                                                    team_.describe(lost->peer), lost->text)
                                      : fmt::format("{}: {}", current(lost->peer), lost->text),
          .object = lost->text,
          .remedy = "see whether that process or the network between the hosts is down"});
    return true;
}

Cause CallWatch::timeout_cause(const std::string& what, double seconds, double most, const Progress& found) {
    // Whom this rank waits for may wait for another one itself.
    const std::vector<Rank>& suspects = !found.silent.empty()    ? found.silent
                                        : !found.missing.empty() ? found.missing
                                                                 : found.awaited;
    const std::string limit = seconds_text(most);
    return {.code = Code::Timeout,
            .peer = suspects.empty() ? -1 : suspects.front(),
            .text = fmt::format("{} waited {} (limit {}, RONDO_TIMEOUT); {}", what, seconds_text(seconds), limit,
                                found.text),
            .object = "RONDO_TIMEOUT",
            .limit = limit,
            .number = seconds_text(seconds),
            .remedy = "find out why the missing ranks do not come, or raise RONDO_TIMEOUT"};
}

void CallWatch::report_timeout(double seconds) {
    fail(timeout_cause(current(), seconds, patience_.timeout, progress(sequence_, awaited())));
}

void CallWatch::warn_stall(double seconds) {
    warned_ = true;
    warn_stall(current(), seconds, progress(sequence_, awaited()));
}

void CallWatch::warn_stall(const std::string& what, double seconds, const Progress& found) const {
    Runtime::get().logger().warn(rank_, "{} has waited {}; {}", what, seconds_text(seconds), found.text);
}

CallWatch::Statuses CallWatch::statuses_of_all() const {
    Statuses all = team_.placement().one_memory() ? Statuses(static_cast<std::size_t>(team_.nranks())) : team_.ask();
    for (const Rank peer : domain_.members()) {
        RankStatus status{.latest = domain_.records(peer).latest()};
        if (const auto last = domain_.records(peer).find(status.latest); last && status.latest != 0) {
            status.calls.push_back(*last);
        }
        all[static_cast<std::size_t>(peer)] = status;
    }
    return all;
}

CallWatch::Progress CallWatch::progress(std::uint64_t sequence, std::vector<Rank> awaited) const {
    const Statuses statuses = statuses_of_all();
    Progress found;
    found.awaited = std::move(awaited);
    std::vector<Rank> arrived;
    std::string missing;
    std::string silent;
    for (Rank peer = 0; peer < team_.nranks(); ++peer) {
        const std::optional<RankStatus>& status = statuses[static_cast<std::size_t>(peer)];
        const bool late = sequence == 0 ? std::ranges::find(found.awaited, peer) != found.awaited.end()
                                        : !status || status->latest < sequence;
        if (late) {
            found.missing.push_back(peer);
            missing += (missing.empty() ? "" : ", ") + missing_text(peer, status);
        } else {
            arrived.push_back(peer);
        }
        if (!late && stopped(peer)) {
            found.silent.push_back(peer);
            silent += fmt::format("{}rank {} ({})", silent.empty() ? "" : ", ", peer, place_text(peer));
        }
    }
    found.text = fmt::format("waiting for rank(s) {}", bootstrap::rank_list(found.awaited));
    if (sequence == 0) {
        found.text += ": " + missing;
    } else {
        found.text += fmt::format("; arrived: {}; missing: {}", bootstrap::rank_list(arrived),
                                  missing.empty() ? "none" : missing);
    }
    if (!silent.empty()) found.text += "; not running: " + silent;
    return found;
}

std::string CallWatch::missing_text(Rank peer, const std::optional<RankStatus>& status) const {
    std::string text = fmt::format("{} (", peer);
    if (status) {
        text += fmt::format("last call {}", status->latest);
        if (const auto last = find(*status, status->latest); last && status->latest != 0) {
            text += " " + describe(last->call);
        }
    } else {
        text += "its process does not answer";
    }
    const std::int32_t process = team_.roster().process_of[static_cast<std::size_t>(peer)];
    return text + (process == team_.roster().self ? ")" : "; " + place_text(peer) + ")");
}

/// As far as it can be seen from here: on the same host, with pids that mean the same.
bool CallWatch::stopped(Rank peer) const {
    const bootstrap::Roster& roster = team_.roster();
    const std::int32_t process = roster.process_of[static_cast<std::size_t>(peer)];
    if (process == roster.self || !roster.same_host(process, roster.self)) return false;
    if (roster.site_of(process).pid_namespace != roster.site_of(roster.self).pid_namespace) return false;
    return process_is_stopped(roster.processes[static_cast<std::size_t>(process)].pid);
}

std::string CallWatch::place_text(Rank peer) const {
    const bootstrap::Roster& roster = team_.roster();
    const std::int32_t process = roster.process_of[static_cast<std::size_t>(peer)];
    return fmt::format("host {}, pid {}{}", roster.site_of(process).host,
                       roster.processes[static_cast<std::size_t>(process)].pid,
                       stopped(peer) ? ", stopped by a signal" : "");
}

/// Messages with tags stand beside a group of transfers or alone, never beside a collective call.
std::vector<Rank> CallWatch::awaited() const {
    std::vector<Rank> ranks = execution_.awaited();
    if (batch_ == nullptr) return ranks;
    const std::vector<Rank> more = batch_->awaited(rank_, team_.nranks());
    ranks.insert(ranks.end(), more.begin(), more.end());
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

std::string CallWatch::current() const {
    if (batch_ != nullptr) return batch_->current();
    return sequence_ == 0 ? "send/recv" : fmt::format("call {} {}", sequence_, describe(call_));
}

/// What waits for this peer, as far as it is known.
std::string CallWatch::current(Rank peer) const {
    const MessageBatch* const batch = messages_ != nullptr ? messages_->batch_that_needs(peer) : nullptr;
    return batch != nullptr ? batch->current() : current();
}

Code CallWatch::fail(Cause cause) {
    cause.rank = rank_;
    cause.sequence = sequence_;
    if (cause.operation.empty() && batch_ != nullptr) cause.operation = batch_->operation();
    if (cause.operation.empty()) cause.operation = sequence_ == 0 ? "send/recv" : std::string(operation_of(call_));
    team_.fail(cause);
    return seen();
}

}  // namespace rondo::comm
