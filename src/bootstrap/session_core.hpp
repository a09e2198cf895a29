#pragma once
// What a Session does on its executor: the service thread, or a strand in a local communicator.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/cause.hpp"
#include "base/deadline.hpp"
#include "base/runtime.hpp"
#include "bootstrap/dialer.hpp"
#include "bootstrap/executor.hpp"
#include "bootstrap/gate.hpp"
#include "bootstrap/link.hpp"
#include "bootstrap/messages.hpp"
#include "bootstrap/registry.hpp"
#include "bootstrap/session.hpp"

namespace rondo::bootstrap {

class Root;

class SessionCore final : public Callee, public std::enable_shared_from_this<SessionCore> {
public:
    SessionCore(const SessionOptions& options, const Identity& identity, Introduction introduction, Events& events);
    ~SessionCore() override;

    // From any thread.
    [[nodiscard]] bool in_own_process() const noexcept { return Runtime::get().same_process(token_); }
    void post(Executor::Task task) { executor_->post(std::move(task)); }
    [[nodiscard]] Gate& gate() noexcept { return gate_; }
    [[nodiscard]] bool on_thread() const noexcept;
    [[nodiscard]] bool local() const noexcept { return identity_.local; }
    [[nodiscard]] Rank nranks() const noexcept { return options_.nranks; }
    /// Marks a rank as joined in this process; false if it was.
    [[nodiscard]] bool claim(Rank rank);
    [[nodiscard]] std::string missing() const;
    [[nodiscard]] bool init_time_left() const noexcept { return !init_deadline_.expired(); }

    // On the executor.
    void start();
    void join(JoinMessage join);
    void report(std::string text);
    void fail(Cause cause);
    void depart(Rank rank);
    void connect(std::int32_t process, Hello hello, const Deadline& deadline, const Session::ConnectCallback& callback);
    void record(const Record& record);
    void query(Session::QueryCallback callback);
    /// Runs the task when what spread() tells has been told: now, where that is nothing.
    void when_told(Executor::Task task);
    void expire();
    void close();

    [[nodiscard]] const Secret& secret() const override { return identity_.secret; }
    [[nodiscard]] bool has_rank(Rank rank) const override;
    void take_connection(ProcessDescriptor socket, const Hello& hello) override;

private:
    /// Which connection, as the one that called for it first names it: process, source, destination, flow.
    using ConnectionName = std::tuple<std::int32_t, Rank, Rank, std::uint16_t>;
    /// A Data connection that this process wants to another, and who waits for it.
    struct Wish {
        Session::ConnectCallback callback;
        Deadline deadline = Deadline::never();
        std::shared_ptr<Dialer> dialer;  // null: the other one has been asked to call
        Failure failure;                 // of the own calls
        Executor::TimerId timer = 0;     // for asking, then for the answer
    };

    void call(std::int32_t process, const Hello& hello, const Deadline& deadline, Dialer::Callback callback);
    [[nodiscard]] std::shared_ptr<Dialer> start_call(std::int32_t process, const Hello& hello, const Deadline& deadline,
                                                     Dialer::Callback callback);
    void wish(std::int32_t process, const Hello& hello, const Deadline& deadline,
              const Session::ConnectCallback& callback);
    void consider_asking(const ConnectionName& name);
    void ask(const ConnectionName& name, Failure failure);
    void end_wish(const ConnectionName& name, ProcessDescriptor socket, const Failure& failure);
    bool fulfil(ProcessDescriptor& socket, const Hello& hello);
    void on_asked(const Errand& errand);
    void on_refused(const Errand& errand);
    void find_root();
    void find_root_by_service();
    void found_root();
    void open_own_port(const std::shared_ptr<Root>& root);
    void attach_to(Root& root);
    void dial();
    void on_dialed(ProcessDescriptor socket, const std::string& peer, const Failure& failure);
    void on_link(std::shared_ptr<Link> link);
    void on_frame(FrameType type, std::string_view payload);
    void dispatch(FrameType type, std::string_view payload);
    void on_link_closed(const std::string& reason);
    void drop_link();
    void on_roster(std::string_view payload);
    void on_go(std::string_view payload);
    void on_departed(Rank rank);
    void on_status_reply(const StatusReplyMessage& reply);
    void watch_processes();
    void on_death(std::int32_t process);
    [[nodiscard]] bool seen_leaving(std::int32_t process);
    void report_death(std::int32_t process);
    [[nodiscard]] bool all_departed(std::int32_t process) const;
    void deliver(const Cause& cause);
    void spread(const Cause& cause);
    void tell_next(const Payload& news);
    void told(const std::shared_ptr<Dialer>& dialer, const Payload& news);
    void take_news(ProcessDescriptor socket);
    void say_goodbye();
    void set_missing(Rank joined, std::string ranks);
    void log_progress();
    [[nodiscard]] std::string joined_text() const;
    [[nodiscard]] std::string root_text() const;
    [[nodiscard]] Cause cause_of_leaving(const char* how) const;
    void cancel_timers();
    void end_queries();

    const ProcessToken token_;
    const SessionOptions options_;
    const Identity identity_;
    const Introduction introduction_;
    const std::shared_ptr<Loop> loop_;  // null in a local communicator
    const std::shared_ptr<Executor> executor_;
    Gate gate_;
    const Deadline::Clock::time_point opened_;
    const Deadline init_deadline_;

    mutable std::mutex mutex_;
    std::set<Rank> claimed_;       // under mutex_
    Rank joined_known_ = 0;        // under mutex_: as the root said last
    std::string missing_known_;    // under mutex_
    bool complete_known_ = false;  // under mutex_

    std::vector<JoinMessage> joins_;
    std::vector<Rank> ranks_;         // of joins_
    std::set<Rank> departed_;         // here and elsewhere
    std::shared_ptr<Root> own_root_;  // of a local communicator
    std::shared_ptr<Link> link_;
    std::shared_ptr<Dialer> dialer_;
    std::optional<Roster> roster_;
    bool going_ = false;
    bool left_ = false;  // all local ranks have departed
    bool closed_ = false;
    bool rootless_ = false;           // the root has left in good order
    std::optional<Cause> own_cause_;  // this process's, on its way to the root
    std::optional<Cause> cause_;      // told to the owner
    std::string port_trouble_;        // of open_own_port
    Executor::TimerId init_timer_ = 0;
    Executor::TimerId progress_timer_ = 0;
    Executor::TimerId cause_timer_ = 0;
    Executor::TimerId port_timer_ = 0;
    std::vector<std::pair<ProcessDescriptor, Hello>> early_;  // connections that came before the roster
    std::set<std::shared_ptr<Dialer>> calls_;                 // of connect() and on_asked()
    std::map<ConnectionName, Wish> wishes_;                   // of connect()
    std::map<std::uint64_t, std::pair<Session::QueryCallback, Executor::TimerId>> queries_;
    std::uint64_t query_number_ = 0;
    std::map<std::int32_t, std::shared_ptr<void>> watches_;  // by process
    std::vector<Executor::TimerId> grace_timers_;
    std::deque<std::int32_t> to_tell_;           // processes, of spread()
    std::set<std::shared_ptr<Dialer>> telling_;  // calls of spread()
    std::vector<Executor::Task> when_told_;      // see there
    std::set<std::shared_ptr<Link>> news_;       // of others' spread()
};

}  // namespace rondo::bootstrap
