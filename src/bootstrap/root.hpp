#pragma once
// The centre of a communicator: collects the joins of all ranks, checks that they fit, and spreads rosters, reports,
// failures and departures. All functions on its executor.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cause.hpp"
#include "bootstrap/executor.hpp"
#include "bootstrap/link.hpp"
#include "bootstrap/session.hpp"

namespace rondo::bootstrap {

class Root : public std::enable_shared_from_this<Root> {
public:
    /// `on_over` is called once, when the root has nothing to do any more: the communicator has ended, or has failed
    /// and every member has gone.
    Root(std::shared_ptr<Executor> executor, const Secret& secret, std::function<void()> on_over);
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;
    ~Root();

    [[nodiscard]] const Secret& secret() const noexcept { return secret_; }
    /// All ranks have joined: nobody else can.
    [[nodiscard]] bool complete() const noexcept { return complete_; }

    /// A process that has proved that it knows the secret.
    void attach(std::shared_ptr<Link> link);
    void set_comparator(Comparator comparator) { comparator_ = std::move(comparator); }
    /// Held until all have joined, or the root is over: a listener.
    void hold(std::shared_ptr<void> lease) { lease_ = std::move(lease); }

private:
    struct Member {
        std::shared_ptr<Link> link;  // null once it has gone
        bool introduced = false;
        bool ready = false;
        std::int32_t index = -1;  // in the roster
        Introduction introduction;
        std::vector<Rank> ranks;
        std::vector<Rank> departed;
        std::string report;
    };
    struct Seat {
        Member* member = nullptr;  // null: the rank has not joined
        std::string extra;
    };
    struct Inquiry {
        Member* asker = nullptr;
        std::uint64_t number = 0;  // the asker's own
        std::size_t open = 0;
        Executor::TimerId timer = 0;
        std::vector<std::string> texts;
    };

    void on_frame(Member& member, FrameType type, std::string_view payload);
    void dispatch(Member& member, FrameType type, std::string_view payload);
    void on_closed(Member& member, const std::string& reason);
    void introduce(Member& member, Introduction introduction);
    void join(Member& member, JoinMessage join);
    [[nodiscard]] std::string objection(const Member& member, const JoinMessage& join) const;
    void complete_roster();
    [[nodiscard]] Roster make_roster();
    void ready(Member& member, std::string report);
    void depart(Member& member, Rank rank);
    void goodbye(Member& member);
    void compare(const Record& record);
    void forward(const Member& from, FrameType type, Errand errand);
    void inquire(Member& member, std::uint64_t number);
    void answer(Member& member, StatusMessage status);
    void end_inquiry(std::uint64_t id);
    void fail(Cause cause);
    void broadcast(FrameType type, const Payload& payload);
    void gone(Member& member);
    void finish_if_over();
    void tell_missing(double interval);
    [[nodiscard]] MissingRanks missing() const;
    [[nodiscard]] static std::string describe(const Member& member);
    [[nodiscard]] static std::string place_of(const Member& member);

    const std::shared_ptr<Executor> executor_;
    const Secret secret_;
    std::function<void()> on_over_;
    Comparator comparator_;
    std::shared_ptr<void> lease_;

    std::vector<std::unique_ptr<Member>> members_;
    const Member* first_ = nullptr;  // that introduced itself
    std::vector<Seat> seats_;        // by rank; empty until the first has joined
    Rank first_rank_ = -1;           // the one that the others must agree with
    std::string facts_;
    Rank joined_ = 0;
    std::vector<Rank> departures_;  // to be told
    std::size_t ready_ = 0;
    std::size_t processes_ = 0;
    bool complete_ = false;
    bool going_ = false;       // all have reported
    Cause cause_;              // Success: has not failed
    std::size_t present_ = 0;  // members with a link
    Executor::TimerId missing_timer_ = 0;
    Executor::TimerId over_timer_ = 0;

    std::map<Rank, std::vector<Record>> records_;  // the last few of each rank
    std::map<std::uint64_t, Inquiry> inquiries_;
    std::uint64_t inquiry_number_ = 0;
};

/// A root in the registry of the service, which it leaves when it is over. On the service thread.
std::shared_ptr<Root> make_root(Service& service, const Key& key, const Secret& secret);

}  // namespace rondo::bootstrap
