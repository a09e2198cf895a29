#include "bootstrap/rendezvous.hpp"

#include <fmt/core.h>
#include <sys/random.h>

#include <cerrno>
#include <sstream>

#include "base/error.hpp"

namespace rondo::bootstrap {

namespace {

/// The first line in which two lists of facts differ, as "ours" against "theirs".
std::string first_difference(const std::string& first, const std::string& other) {
    std::istringstream a(first);
    std::istringstream b(other);
    std::string line_a;
    std::string line_b;
    while (std::getline(a, line_a) && std::getline(b, line_b)) {
        if (line_a != line_b) return fmt::format("{} here, {} on the rank that came first", line_b, line_a);
    }
    return "number of facts";
}

}  // namespace

UniqueId make_unique_id() {
    UniqueId id{};
    const ssize_t got = ::getrandom(id.data(), id.size(), 0);
    if (got != static_cast<ssize_t>(id.size())) throw make_system_error(errno, "getrandom of {} bytes", id.size());
    return id;
}

bool Meeting::complete() const {
    const std::lock_guard lock(mutex_);
    return joined_ == nranks_;
}

void Meeting::join(Rank nranks, Rank rank, const std::string& facts) {
    const std::lock_guard lock(mutex_);
    if (nranks != nranks_) {
        refuse(fmt::format("rank {} joins with {} ranks, the first rank came with {}", rank, nranks, nranks_));
    }
    if (here_[static_cast<std::size_t>(rank)]) {
        throw make_error(Code::InvalidUsage, "rank {} has joined already; give each rank its own number", rank);
    }
    if (facts != facts_) {
        refuse(fmt::format("rank {} has other settings than the others: {}; set them alike", rank,
                           first_difference(facts_, facts)));
    }
    here_[static_cast<std::size_t>(rank)] = true;
    ++joined_;
    changed_.notify_all();
}

/// A rank that does not fit will not come again: the others must not wait for it.
void Meeting::refuse(const std::string& reason) {
    refusal_ = reason;
    changed_.notify_all();
    throw Error(Code::InvalidUsage, reason);
}

void Meeting::wait(const Deadline& deadline, double timeout_seconds) const {
    std::unique_lock lock(mutex_);
    const auto settled = [this] { return joined_ == nranks_ || !refusal_.empty(); };
    bool in_time = true;
    if (deadline.is_never()) {
        changed_.wait(lock, settled);
    } else {
        in_time = changed_.wait_until(lock, deadline.at(), settled);
    }
    if (!refusal_.empty()) throw Error(Code::InvalidUsage, "init failed: " + refusal_);
    if (in_time) return;
    lock.unlock();
    throw make_error(Code::Timeout,
                     "init of a communicator of {} ranks: rank(s) {} did not join within {}; start them, or raise "
                     "RONDO_TIMEOUT",
                     nranks_, missing(), seconds_text(timeout_seconds));
}

std::string Meeting::missing() const {
    const std::lock_guard lock(mutex_);
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < nranks_; ++rank) {
        if (!here_[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
    }
    return rank_list(ranks);
}

std::shared_ptr<Meeting> Rendezvous::join(const UniqueId& id, Rank nranks, Rank rank, const std::string& facts,
                                          const std::function<std::shared_ptr<void>()>& make) {
    const std::lock_guard lock(mutex_);
    if (used_.contains(id)) {
        throw make_error(Code::InvalidUsage,
                         "rank {}: this unique id has served a communicator already; make a new one", rank);
    }
    std::shared_ptr<Meeting>& meeting = open_[id];
    if (!meeting) meeting = std::make_shared<Meeting>(nranks, facts, make());
    meeting->join(nranks, rank, facts);
    std::shared_ptr<Meeting> joined = meeting;
    if (joined->complete()) {
        open_.erase(id);
        used_.insert(id);
    }
    return joined;
}

}  // namespace rondo::bootstrap
