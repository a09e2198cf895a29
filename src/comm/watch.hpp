#pragma once
// What a waiting rank looks at: the communicator's failure, its deadline, its peers' calls and their life.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "comm/messages.hpp"
#include "comm/options.hpp"
#include "comm/routes.hpp"
#include "comm/team.hpp"
#include "comm/watch_clock.hpp"
#include "host/execution.hpp"
#include "transport/wait.hpp"

namespace rondo::comm {

/// How long calls may wait, in seconds.
struct Patience {
    double timeout = 600;
    double stall_warning = 30;  ///< 0: no warning
};

/// A thread's wait for messages that go on beside other operations. The time counts from when they last came on,
/// whoever moved them.
struct MessageWait {
    MessageWait(const MessageBatch& waited_for, const Patience& limits) noexcept
        : batch(waited_for), patience(limits), clock(waited_for.steps()) {}

    const MessageBatch& batch;
    const Patience patience;
    WatchClock clock;
    bool warned = false;
};

class CallWatch final : public transport::Watch {
public:
    CallWatch(Team& team, Routes& routes, Rank rank, const host::Execution& execution)
        : team_(team), routes_(routes), domain_(team.domain()), rank_(rank), execution_(execution) {}

    /// A collective call, or with sequence 0 a group of transfers, begins.
    void begin(std::uint64_t sequence, const PackedCall& call, const Patience& patience) noexcept {
        sequence_ = sequence;
        call_ = call;
        patience_ = patience;
        warned_ = false;
        recorded_ = false;
        messages_ = nullptr;
        batch_ = nullptr;
        wait_ = nullptr;
        clock_.stop();
    }
    /// Tagged messages, moved by `messages`, are waited for as well.
    void add_messages(const Messages& messages, const MessageBatch& batch) noexcept {
        messages_ = &messages;
        batch_ = &batch;
    }
    /// Nothing else is: whoever is in the seat waits beside operations. `messages` may be null.
    void begin_beside(const Messages* messages, MessageWait& wait) noexcept {
        begin(0, {}, wait.patience);
        messages_ = messages;
        batch_ = &wait.batch;
        wait_ = &wait;
    }
    /// A plan has come on, or has not.
    void came_on(bool plan) noexcept { plan_steps_ += plan ? 1 : 0; }
    /// While messages move, whosoever they are: has what this call waits for come on? Fails the communicator where its
    /// time is up.
    void look() noexcept;
    /// The same for a wait beside other operations. From any thread, in the seat or not.
    void look(MessageWait& wait) const noexcept;

    [[nodiscard]] bool stopped() const noexcept override { return team_.failed(); }
    Code examine(std::chrono::nanoseconds waited) noexcept override;
    void sleep(transport::Doorbell& bell, std::uint32_t word, std::chrono::nanoseconds waited,
               std::chrono::nanoseconds longest) noexcept override {
        routes_.sleep(bell, word, waited, longest);
    }

    /// Fails the communicator because a peer makes another call than this rank.
    void report(const host::Disagreement& found);
    /// Fails the communicator because a peer's buffer cannot be copied from.
    void report(const host::Unread& unread);

    /// "call 12 all_reduce(sum, float, count 4)" or "send/recv".
    [[nodiscard]] std::string current() const;

private:
    using Statuses = std::vector<std::optional<RankStatus>>;

    /// Who has made this call, who has not, whom the blocked lanes wait for, and which of the ranks that are here do
    /// not run: their processes are stopped, or do not answer.
    struct Progress {
        std::vector<Rank> awaited;
        std::vector<Rank> missing;
        std::vector<Rank> silent;
        std::string text;
    };

    Code check(std::chrono::nanoseconds waited);
    [[nodiscard]] double seconds_waited(std::chrono::nanoseconds waited) noexcept;
    void record_call();
    bool mismatch_found();
    bool difference_found(Rank peer, const Statuses& statuses);
    bool calls_differ(Rank peer, std::uint64_t sequence, const Statuses& statuses);
    bool departure_found();
    bool loss_found();
    void report_timeout(double seconds);
    void warn_stall(double seconds);
    void warn_stall(const std::string& what, double seconds, const Progress& found) const;
    [[nodiscard]] static Cause timeout_cause(const std::string& what, double seconds, double most,
                                             const Progress& found);
    [[nodiscard]] std::string current(Rank peer) const;
    [[nodiscard]] Statuses statuses_of_all() const;
    [[nodiscard]] Progress progress(std::uint64_t sequence, std::vector<Rank> awaited) const;
    [[nodiscard]] std::string missing_text(Rank peer, const std::optional<RankStatus>& status) const;
    [[nodiscard]] std::vector<Rank> awaited() const;
    [[nodiscard]] bool stopped(Rank peer) const;
    [[nodiscard]] std::string place_text(Rank peer) const;
    Code fail(Cause cause);
    [[nodiscard]] Code seen() const;

    Team& team_;
    Routes& routes_;
    transport::memory::Domain& domain_;
    const Rank rank_;
    const host::Execution& execution_;
    std::uint64_t sequence_ = 0;
    PackedCall call_{};
    Patience patience_;
    bool warned_ = false;
    bool recorded_ = false;
    const Messages* messages_ = nullptr;
    const MessageBatch* batch_ = nullptr;
    MessageWait* wait_ = nullptr;
    std::uint64_t plan_steps_ = 0;
    WatchClock clock_;  // runs once messages that are not waited for may put off the end of the wait
    std::optional<std::chrono::steady_clock::time_point> lost_since_;
};

/// The result that this rank reports for a failure: the first cause's code, seen from `rank`.
Code code_seen_by(Rank rank, const Cause& cause) noexcept;

}  // namespace rondo::comm
