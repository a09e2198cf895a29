#pragma once
// One rank's communicator: its life from init to destroy, and the operations it runs.
//
// An operation is driven by whoever waits for it: begin(), poll() until it is over, and a Waiter in between
// (drive.hpp).

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/runtime.hpp"
#include "comm/call.hpp"
#include "comm/messages.hpp"
#include "comm/messages_seat.hpp"
#include "comm/options.hpp"
#include "comm/plan_cache.hpp"
#include "comm/routes.hpp"
#include "comm/team.hpp"
#include "comm/watch.hpp"
#include "host/execution.hpp"
#include "plan/traffic.hpp"

namespace rondo::comm {

class alignas(kLinePair) Communicator {
public:
    /// Joins; does not wait for the others. Errors: those of Teams::join.
    Communicator(const bootstrap::UniqueId& id, Rank nranks, Rank rank, Options options);
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator();

    [[nodiscard]] Rank rank() const noexcept { return rank_; }
    [[nodiscard]] Rank nranks() const noexcept { return team_->nranks(); }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] Team& team() const noexcept { return *team_; }
    /// 0, 1, 2, ...: the number of the next communicator made out of this one; ranks count alike.
    [[nodiscard]] std::uint64_t next_derived() noexcept { return derived_++; }
    /// For the calls from now on.
    void set_patience(const Patience& patience) noexcept { patience_ = patience; }
    [[nodiscard]] const Patience& patience() const noexcept { return patience_; }

    /// Waits until every rank has joined. Errors: Timeout, or the first cause of a failure.
    void wait_until_joined();
    /// InProgress while ranks are missing, Success when all is well, else the first cause as this rank sees it.
    Code state();
    /// The first cause with this rank's name before it; "" while there is none.
    [[nodiscard]] const char* error_text();
    /// The first cause, the same object from the first failure on; nullptr while there is none.
    [[nodiscard]] const Cause* first_cause();

    // Operations. One at a time.

    /// Starts an operation. Errors (thrown): the first cause of an earlier failure, or what finding a plan throws.
    void begin(const Operation& operation);
    /// Makes progress; true if any was made.
    bool poll();
    [[nodiscard]] bool running() const noexcept { return running_; }
    /// Fails the communicator for all ranks: this one cannot take part in the operation that `error` kept it from.
    void fail(const Error& error) { team_->fail({.code = error.code(), .rank = rank_, .text = error.what()}); }
    /// Ends an operation that cannot go on, after the communicator has failed.
    void abandon() noexcept;
    /// Success, or the first cause as this rank sees it.
    [[nodiscard]] Code result() noexcept;
    /// Of the last operation: as result(), but for a receive that had no room for its message, which leaves the
    /// communicator whole.
    [[nodiscard]] Code operation_result() noexcept;
    /// What operation_result() means.
    [[nodiscard]] std::string operation_text();

    // Tagged messages that go on beside other operations. They take no turn.

    /// One more of them is to come; the communicator lives until leave_beside(). Errors (thrown): as begin().
    void enter_beside();
    void leave_beside();
    /// Hands messages to whoever moves them. From any thread, in the order in which they are to be matched.
    void submit(MessageBatch& batch) noexcept;
    /// Waits for messages that were submitted. Returns the first cause of a failure, or Success.
    Code wait_beside(MessageBatch& batch, const Patience& patience);
    /// Unmatched bytes that this rank holds. While nothing of it runs.
    [[nodiscard]] std::int64_t held_message_bytes() const noexcept {
        return engine_ && engine_->messages ? engine_->messages->held_bytes() : 0;
    }

    [[nodiscard]] transport::Doorbell& bell() noexcept { return domain().bell(rank_); }
    /// Once joined.
    [[nodiscard]] transport::Watch& watch() noexcept { return engine_->watch; }
    [[nodiscard]] const transport::WaitPolicy& wait_policy() const noexcept { return team_->wait_policy(); }

    // Order of operations on streams: each takes a ticket when it is called and runs when its ticket is up.

    std::uint64_t take_ticket();
    void await_turn(std::uint64_t ticket);
    void turn_done();
    /// Waits until no stream operation is pending. One load when none is.
    void drain();

    // Life.

    /// Flushes; the communicator takes no more operations.
    void finalize();
    /// Fails the communicator from any thread, then revoke().
    void abort();
    /// After a failure: waits (at most 2 s) until no peer touches this rank's buffers.
    void revoke() const noexcept;
    /// Errors (thrown): InvalidUsage in a process that was forked from the communicator's.
    void check_process() const { Runtime::get().check_fork(token_); }

    // What the last operation did.

    [[nodiscard]] const std::string& last_plan() const noexcept;
    [[nodiscard]] const host::Traffic& traffic();
    [[nodiscard]] plan::PlannedTraffic planned_traffic() const;

    /// Held by the one thread that is inside the communicator.
    class Presence {
    public:
        /// Errors: InvalidUsage if another thread is inside, or in a process that was forked from the communicator's.
        explicit Presence(Communicator& comm);
        Presence(const Presence&) = delete;
        Presence& operator=(const Presence&) = delete;
        ~Presence() { comm_.busy_.store(false, std::memory_order_release); }

    private:
        Communicator& comm_;
    };

private:
    /// What runs operations; made when all ranks have joined.
    struct Engine {
        Routes routes;
        PlanCache plans;
        host::Traffic traffic;
        host::Execution execution;
        CallWatch watch;
        std::optional<Messages> messages;  // from the first tagged message on

        Engine(Team& team, Rank rank, const Options& options)
            : routes(team, rank, options),
              plans(team, routes, rank, options),
              traffic(team.nranks()),
              execution(team.domain(), rank, traffic, team.wait_policy().spins()),
              watch(team, routes, rank, execution) {}
    };

    [[nodiscard]] transport::memory::Domain& domain() const noexcept { return team_->domain(); }
    void make_engine();
    void throw_if_unusable();
    void throw_first_cause();
    void begin_call(const Call& call);
    void begin_transfers(const std::vector<Transfer>& transfers);
    void begin_messages(const std::vector<Message>& messages);
    void start(const Operation& operation);
    bool poll_plan();
    void accept_messages();
    bool poll_messages();
    Code drive_beside(MessageWait& wait);
    void leave_seat() noexcept;
    void end() noexcept;
    void end_plan() noexcept;
    void await_empty_queue();

    const Options options_;
    const Rank rank_;
    std::shared_ptr<Team> team_;
    const ProcessToken token_;
    Patience patience_{options_.timeout, options_.stall_warning};
    std::atomic<bool> joined_{false};
    std::atomic<bool> busy_{false};
    std::atomic<bool> finalized_{false};

    std::mutex engine_mutex_;  // of its making
    std::optional<Engine> engine_;
    std::array<std::array<reduce::Kernel, kAllReduceOps.size()>, 16> kernels_{};
    std::vector<std::byte> scratch_;
    std::vector<host::BlockExtent> send_blocks_;
    std::vector<host::BlockExtent> receive_blocks_;
    std::uint64_t sequence_ = 0;
    std::uint64_t signature_ = 0;  // of the last collective call
    const CachedPlan* current_ = nullptr;
    bool running_ = false;
    bool planned_ = false;  // a plan is running
    bool seated_ = false;   // the operation that is running has the seat
    std::unique_ptr<MessageBatch> batch_;
    Failure failure_;  // of the last operation alone
    Seat seat_;        // of all that is in engine_

    std::mutex submitted_mutex_;
    MessageBatch* submitted_ = nullptr;  // the last one, and through next those before it
    std::atomic<bool> submitted_any_{false};

    std::mutex turn_mutex_;
    std::condition_variable turn_changed_;
    std::uint64_t tickets_ = 0;
    std::uint64_t turns_ = 0;
    std::uint64_t beside_ = 0;  // operations without a turn that are not over
    std::atomic<std::uint64_t> pending_{0};

    std::mutex text_mutex_;
    std::string text_;
    std::optional<Cause> cause_;
    std::uint64_t derived_ = 0;
};

}  // namespace rondo::comm
