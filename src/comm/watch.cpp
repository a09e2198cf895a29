#include "comm/watch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/deadline.hpp"
#include "base/runtime.hpp"
#include "bootstrap/rendezvous.hpp"

namespace rondo::comm {

using transport::memory::Cause;

Code code_seen_by(Rank rank, const Cause& cause) noexcept {
    return cause.code == Code::Aborted && cause.rank != rank ? Code::RemoteError : cause.code;
}

Code CallWatch::examine(std::chrono::nanoseconds waited) noexcept {
    try {
        if (domain_.failed()) return code_seen_by(rank_, domain_.cause());
        return check(std::chrono::duration<double>(waited).count());
    } catch (...) {
        return Code::InternalError;  // no memory for a text: give up the wait rather than hang
    }
}

Code CallWatch::check(double seconds) {
    if (mismatch_found() || departure_found()) return code_seen_by(rank_, domain_.cause());
    if (seconds >= options_.timeout) {
        report_timeout(seconds);
        return code_seen_by(rank_, domain_.cause());
    }
    if (!warned_ && options_.stall_warning > 0 && seconds >= options_.stall_warning) warn_stall(seconds);
    return Code::Success;
}

/// A peer whose call with our sequence has another signature will never send what we wait for.
bool CallWatch::mismatch_found() {
    if (sequence_ == 0) return false;
    for (Rank peer = 0; peer < domain_.nranks(); ++peer) {
        if (calls_differ(peer, sequence_)) return true;
    }
    return false;
}

/// Fails the communicator and returns true if this rank and the peer have made different calls with this sequence.
bool CallWatch::calls_differ(Rank peer, std::uint64_t sequence) {
    const auto own = domain_.records(rank_).find(sequence);
    const auto other = domain_.records(peer).find(sequence);
    if (!own || !other || own->signature == other->signature) return false;
    const std::string fields = difference(own->call, other->call);
    fail(Code::InvalidUsage,
         fmt::format("call {}: rank {} called {}, rank {} called {}; they differ in: {}{}", sequence, rank_,
                     describe(own->call), peer, describe(other->call), fields,
                     fields == "plan" ? " (RONDO_ALGO, RONDO_PROTO or sizes of buffers differ between ranks)" : ""));
    return true;
}

void CallWatch::report(const host::Disagreement& found) {
    // A call that needs nothing from the peer is over before its difference shows: the first one of all is the cause.
    constexpr std::uint64_t kDepth = transport::memory::CallRecords::kDepth;
    for (std::uint64_t sequence = sequence_ > kDepth ? sequence_ - kDepth : 1; sequence <= sequence_; ++sequence) {
        if (calls_differ(found.peer, sequence)) return;
    }
    const std::int64_t expected = transfer_bytes(found.expected);
    const std::int64_t received = transfer_bytes(found.received);
    const auto message = [](std::int64_t bytes) {
        return bytes < 0 ? std::string("a message of a collective call") : fmt::format("a send of {} bytes", bytes);
    };
    const bool calls = expected < 0 && received < 0;
    fail(Code::InvalidUsage,
         fmt::format("{}: rank {} expects {} from rank {}, and {} came; sends and receives of a pair "
                     "must agree in order and bytes, and come between the same collective calls",
                     current(), rank_, message(expected), found.peer,
                     calls ? "one of another call" : message(received)));
}

bool CallWatch::departure_found() {
    // First who is gone, then for whom this rank waits: what a peer sent last is there when it is seen to be gone.
    std::vector<Rank> gone;
    for (Rank peer = 0; peer < domain_.nranks(); ++peer) {
        if (domain_.departed(peer)) gone.push_back(peer);
    }
    if (gone.empty()) return false;
    for (const Rank peer : execution_.awaited()) {
        if (std::ranges::find(gone, peer) == gone.end()) continue;
        if (sequence_ != 0 && domain_.records(peer).latest() >= sequence_) continue;  // it has done its part
        fail(Code::RemoteError,
             fmt::format("{} waits for rank {}, which destroyed its communicator after call {}; every "
                         "rank must make the same calls before any destroys",
                         current(), peer, domain_.records(peer).latest()));
        return true;
    }
    return false;
}

void CallWatch::report_timeout(double seconds) {
    fail(Code::Timeout, fmt::format("{} waited {} (limit {}, RONDO_TIMEOUT); {}", current(), seconds_text(seconds),
                                    seconds_text(options_.timeout), progress_text()));
}

void CallWatch::warn_stall(double seconds) {
    warned_ = true;
    Runtime::get().logger().warn(rank_, "{} has waited {}; {}", current(), seconds_text(seconds), progress_text());
}

/// Who has made this call, who has not, and whom the blocked lanes wait for.
std::string CallWatch::progress_text() const {
    std::vector<Rank> arrived;
    std::string missing;
    for (Rank peer = 0; peer < domain_.nranks(); ++peer) {
        const std::uint64_t latest = domain_.records(peer).latest();
        if (latest >= sequence_) {
            arrived.push_back(peer);
            continue;
        }
        const auto record = domain_.records(peer).find(latest);
        missing += fmt::format("{}{} (last call {}{}{})", missing.empty() ? "" : ", ", peer, latest,
                               record && latest != 0 ? " " : "", record && latest != 0 ? describe(record->call) : "");
    }
    std::string text = fmt::format("waiting for rank(s) {}", bootstrap::rank_list(execution_.awaited()));
    if (sequence_ != 0) {
        text += fmt::format("; arrived: {}; missing: {}", bootstrap::rank_list(arrived),
                            missing.empty() ? "none" : missing);
    }
    return text + fmt::format("; all ranks are threads of host {} pid {}", Runtime::get().host(), ::getpid());
}

std::string CallWatch::current() const {
    return sequence_ == 0 ? "send/recv" : fmt::format("call {} {}", sequence_, describe(call_));
}

Code CallWatch::fail(Code code, const std::string& text) {
    domain_.fail({.code = code, .rank = rank_, .text = text});
    return code_seen_by(rank_, domain_.cause());
}

}  // namespace rondo::comm
