#pragma once
// What the ranks of one communicator in this process share: the membership in the job, the memory, the first cause of a
// failure, the plans from a file.
//
// Init: the ranks join (join()); when all of the job are there, each process tries to share memory with the others of
// its host and reports how that went; when all have reported, every process computes the same placement, and the team
// is ready. Of this, what may block runs on a thread of its own.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/runtime.hpp"
#include "bootstrap/session.hpp"
#include "comm/options.hpp"
#include "comm/placement.hpp"
#include "plan/shapes.hpp"
#include "transport/first_cause.hpp"
#include "transport/memory/domain.hpp"
#include "transport/tcp/network.hpp"
#include "transport/wait.hpp"

namespace rondo::comm {

/// What a rank was doing when it was asked.
struct RankStatus {
    std::uint64_t latest = 0;                            ///< sequence of its last call
    std::vector<transport::memory::CallRecord> calls{};  ///< the last ones, as far as they are held
};

class Team final : public bootstrap::Events {
public:
    /// Errors: InvalidArgument for a plan file that cannot be read, is for another number of ranks, or does not verify;
    /// those of Session::open.
    Team(const bootstrap::UniqueId& id, Rank nranks, const Options& options);
    ~Team() override;

    // Init.

    /// Errors: those of Session::join.
    void join(Rank rank, Rank nranks, const Options& options);
    /// May further ranks join?
    [[nodiscard]] bool gathering() const;
    [[nodiscard]] bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
    /// Waits until ready() or failed().
    void wait_until_settled();
    /// Fails the team if its init has taken too long and no other thread watches that.
    void check_init_time();
    /// Ranks that have not joined: "1, 3-5".
    [[nodiscard]] std::string missing() const { return session_->missing(); }

    // Once ready.

    [[nodiscard]] Rank nranks() const noexcept { return nranks_; }
    [[nodiscard]] const bootstrap::UniqueId& id() const noexcept { return id_; }
    [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
    [[nodiscard]] const bootstrap::Roster& roster() const noexcept { return roster_; }
    [[nodiscard]] const Placement& placement() const noexcept { return placement_; }
    /// Of the ranks that share memory with those of this process.
    [[nodiscard]] transport::memory::Domain& domain() noexcept { return *domain_; }
    /// True where ranks that share memory copy out of each other's buffers, if they are of several processes. Equal on
    /// all of them.
    [[nodiscard]] bool pulls() const noexcept { return pulls_; }
    [[nodiscard]] const transport::WaitPolicy& wait_policy() const noexcept { return wait_policy_; }
    /// "rank 3 (host h, pid 123)".
    [[nodiscard]] std::string describe(Rank rank) const;

    /// True where the process of a rank that this one shares memory with has been seen to have ended.
    [[nodiscard]] bool has_ended(Rank rank) const noexcept;

    // Failure.

    [[nodiscard]] bool failed() const noexcept { return first_cause_->failed(); }
    [[nodiscard]] Cause cause() const { return first_cause_->get(); }
    /// Outlives the team, for those who come late.
    [[nodiscard]] const std::shared_ptr<transport::FirstCause>& first_cause() const noexcept { return first_cause_; }
    /// Fails the communicator on all ranks. Returns when this process knows the first cause, which may be another one:
    /// after half a second at most.
    void fail(const Cause& cause);

    // The networks of local ranks.

    void attach(Rank rank, transport::tcp::Network& network);
    void detach(Rank rank);
    /// Starts a connection from a local rank to a peer.
    void dial(Rank rank, Rank peer, int flow);
    /// The first peer to which a local rank could not be connected, if any.
    [[nodiscard]] std::optional<transport::tcp::Lost> unreachable(Rank rank) const;

    // Life.

    void depart(Rank rank);
    /// The process ends: its ranks leave.
    void leave();
    /// A rank of another memory, whose own messages may still be under way.
    [[nodiscard]] bool departed(Rank rank) const noexcept {
        return departed_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
    }

    /// The root compares the calls that ranks have been waiting in.
    void record(Rank rank, const transport::memory::CallRecord& call);
    /// What every rank is doing, by rank; nothing for those that do not answer within half a second.
    [[nodiscard]] std::vector<std::optional<RankStatus>> ask();

    /// Proves the plans of all ranks of this shape, once for all of them. Errors: InternalError with the verifier's
    /// text.
    void verify(const plan::Shape& shape, const plan::Facts& facts);

    /// The user's plans for a call, in rank order; nullptr where there are none.
    [[nodiscard]] const std::vector<plan::Plan>* loaded(plan::Collective collective, Rank root) const noexcept;

    // From the session.

    void on_roster(const bootstrap::Roster& roster) override;
    void on_go(const std::vector<std::string>& reports) override;
    void on_failure(const Cause& cause) override;
    void on_departed(Rank rank) override;
    void on_connection(ProcessDescriptor connection, const bootstrap::Hello& hello) override;
    std::string on_status() override;
    bool seen_leaving(Rank rank) override;

private:
    struct Waiting {
        Rank peer;
        int flow;
        ProcessDescriptor connection;
    };

    [[nodiscard]] std::vector<Rank> local_ranks() const;
    void make_private_domain();
    void test_pulls();
    int try_pulls(const std::vector<Rank>& others, Rank& failed_with);
    [[nodiscard]] std::vector<Rank> first_of_other_processes() const;
    [[nodiscard]] std::string settle_pulls();
    void share_memory();
    void make_shared_domain(const transport::memory::Geometry& geometry);
    Descriptor receive_segment(Rank leader);
    void check_sharing(const char* waiting_for) const;
    void hand_out_segment(ProcessDescriptor connection) const;
    void deliver(Rank rank, Rank peer, int flow, ProcessDescriptor connection);
    void dial_within_process(Rank rank, Rank peer, int flow);
    void wake_all();
    [[nodiscard]] bool on_other_process(Rank rank) const;

    const bootstrap::UniqueId id_;
    const Rank nranks_;
    const Options options_;
    const Deadline init_deadline_;
    const std::vector<plan::Plan> loaded_;
    const std::shared_ptr<transport::FirstCause> first_cause_ = std::make_shared<transport::FirstCause>();
    std::vector<std::atomic<bool>> departed_;

    mutable std::mutex mutex_;
    std::condition_variable settled_;
    bool complete_ = false;  // the roster is there
    std::atomic<bool> ready_{false};
    std::atomic<bool> root_silent_{false};  // it did not answer the last question
    bootstrap::Roster roster_;
    Placement placement_;
    transport::WaitPolicy wait_policy_{};
    std::unique_ptr<transport::memory::Domain> domain_;
    std::optional<transport::memory::PullSample> sample_;  // made where other processes are to read it
    bool pulls_ = false;
    std::vector<ProcessDescriptor> want_segment_;  // connections of processes that came before it was made
    std::map<Rank, transport::tcp::Network*> networks_;
    std::map<Rank, std::vector<Waiting>> undelivered_;
    std::map<Rank, transport::tcp::Lost> unreachable_;  // by local rank

    std::mutex verified_mutex_;
    std::set<std::pair<const plan::Shape*, Rank>> verified_;  // shape and root

    std::thread sharing_;
    std::atomic<bool> closing_{false};  // nobody waits for sharing_ any more
    std::shared_ptr<bootstrap::Session> session_;
};

/// The teams of this process. One object, owned by the Runtime.
class Teams {
public:
    Teams();

    /// Joins the team under `id`, which the first rank makes. Errors: those of Team, of Team::join; InvalidUsage for an
    /// id that has served a communicator.
    std::shared_ptr<Team> join(const bootstrap::UniqueId& id, Rank nranks, Rank rank, const Options& options);

private:
    void leave_all();

    struct Known {
        std::weak_ptr<Team> team;
        std::shared_ptr<transport::FirstCause> first_cause;
    };
    const ProcessToken token_;
    std::mutex mutex_;
    std::map<bootstrap::UniqueId, Known> teams_;  // all that ever were
};

}  // namespace rondo::comm
