#pragma once
// Where the ranks of a communicator find each other. Ranks are threads of one process: they meet at an id.

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/types.hpp"
#include "bootstrap/rank_list.hpp"
#include "bootstrap/unique_id.hpp"

namespace rondo::bootstrap {

/// A new id from the system's random source. Errors: SystemError.
UniqueId make_unique_id();

/// Ranks that have joined under one id.
class Meeting {
public:
    Meeting(Rank nranks, std::string facts, std::shared_ptr<void> shared)
        : nranks_(nranks),
          facts_(std::move(facts)),
          shared_(std::move(shared)),
          here_(static_cast<std::size_t>(nranks)) {}

    /// What the first rank made for all of them.
    [[nodiscard]] const std::shared_ptr<void>& shared() const noexcept { return shared_; }

    [[nodiscard]] bool complete() const;

    /// Waits until all ranks are here. Errors: Timeout naming the missing ranks; InvalidUsage where a rank came that
    /// does not fit to the others.
    void wait(const Deadline& deadline, double timeout_seconds) const;

    /// "1, 3-5": the ranks that have not joined.
    [[nodiscard]] std::string missing() const;

private:
    friend class Rendezvous;
    void join(Rank nranks, Rank rank, const std::string& facts);
    [[noreturn]] void refuse(const std::string& reason);

    const Rank nranks_;
    const std::string facts_;
    const std::shared_ptr<void> shared_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::vector<bool> here_;
    Rank joined_ = 0;
    std::string refusal_;  // why the meeting can never be complete
};

/// All meetings of the process. One object, owned by the Runtime.
class Rendezvous {
public:
    /// Joins the meeting under `id`. The first rank makes the shared object by `make`. `facts` must be equal on all
    /// ranks: one "name=value" a line, so that an error can say what differs. Errors: InvalidUsage (id already used,
    /// rank taken, other number of ranks, other facts).
    std::shared_ptr<Meeting> join(const UniqueId& id, Rank nranks, Rank rank, const std::string& facts,
                                  const std::function<std::shared_ptr<void>()>& make);

private:
    std::mutex mutex_;
    std::map<UniqueId, std::shared_ptr<Meeting>> open_;
    std::set<UniqueId> used_;
};

}  // namespace rondo::bootstrap
