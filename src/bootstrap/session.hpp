#pragma once
// One process's membership in one communicator: how its ranks join, what all processes then know of each other, and how
// a failure, a departure or a question reaches all of them.
//
// A star: each process has one control connection to the root, which is in the process that made the id (or that of
// rank 0, see Identity::late_root). A communicator whose id is local has its root in the session and needs no thread:
// its events come from whichever thread calls the session, one at a time and in order.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cause.hpp"
#include "base/deadline.hpp"
#include "base/process_descriptor.hpp"
#include "base/settings.hpp"
#include "base/types.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/unique_id.hpp"

namespace rondo::bootstrap {

class Service;
class SessionCore;

inline constexpr std::size_t kMostFactsBytes = 16U << 10U;
inline constexpr std::size_t kMostExtraBytes = 4U << 10U;
inline constexpr std::size_t kMostReportBytes = 256U << 10U;  ///< of a report, a status, or a text of a Cause

/// What a rank brings along.
struct Card {
    Rank rank = -1;
    std::string facts;  ///< "name=value" lines that must agree on all ranks; at most kMostFactsBytes
    std::string extra;  ///< for all to know, opaque here; at most kMostExtraBytes
};

/// Where processes run. Processes for which all of it is alike share one.
struct Site {
    std::string host;     ///< name, for people
    std::string host_id;  ///< equal for processes of one host: RONDO_HOSTID, else boot id and network namespace
    std::uint64_t pid_namespace = 0;  ///< pids of different ones cannot be compared
    std::vector<Address> addresses;   ///< where its processes listen, in the order in which to try them

    bool operator==(const Site&) const = default;
};

struct Process {
    std::uint64_t token = 0;       ///< random: no two processes have the same
    std::uint32_t site = 0;        ///< index into Roster::sites
    std::int32_t pid = 0;          ///< in its pid namespace
    std::uint64_t start_time = 0;  ///< of the process in clock ticks since boot; 0: unknown
    std::uint16_t port = 0;        ///< of its listener; 0 in a local communicator
    std::string unix_name;  ///< of its abstract Unix listener, without the leading NUL; "" in a local communicator

    bool operator==(const Process&) const = default;
};

/// Who takes part. The same on all processes, except for `self`.
struct Roster {
    std::vector<Site> sites;
    std::vector<Process> processes;        ///< in the order of their lowest ranks
    std::vector<std::int32_t> process_of;  ///< by rank
    std::vector<std::string> extra;        ///< by rank
    std::int32_t root_process = -1;        ///< -1: the root is in a process without a rank
    std::int32_t self = 0;                 ///< this process

    [[nodiscard]] const Site& site_of(std::int32_t process) const {
        return sites[processes[static_cast<std::size_t>(process)].site];
    }
    /// Where a process listens: for derive_id().
    [[nodiscard]] Contact contact_of(std::int32_t process) const {
        return {site_of(process).addresses, processes[static_cast<std::size_t>(process)].port};
    }
    [[nodiscard]] bool same_host(std::int32_t a, std::int32_t b) const {
        return site_of(a).host_id == site_of(b).host_id;
    }
    /// In ascending order.
    [[nodiscard]] std::vector<Rank> ranks_of(std::int32_t process) const;
    /// "rank(s) 2-3 (host h, pid 123)".
    [[nodiscard]] std::string describe(std::int32_t process) const;

    bool operator==(const Roster&) const = default;
};

/// A call that a rank has been waiting in for a while.
struct Record {
    Rank rank = -1;
    std::uint64_t sequence = 0;
    std::uint64_t signature = 0;
    std::array<std::uint64_t, 2> call{};

    bool operator==(const Record&) const = default;
};

/// What to tell everybody of two records with equal sequence and different signatures.
using Comparator = std::function<Cause(const Record&, const Record&)>;

/// What a session tells its owner: on the service thread, or, for a local id, on a thread that is inside a function of
/// the session. One at a time, in order, never with a lock of this room held: a callback may call the session.
class Events {
public:
    Events() = default;
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;
    virtual ~Events() = default;

    /// All ranks have joined. The owner answers later with Session::report().
    virtual void on_roster(const Roster& roster) = 0;
    /// Every process has reported: its text by process index.
    virtual void on_go(const std::vector<std::string>& reports) = 0;
    /// The first cause, from anywhere. At most once; may come before or after any of the others.
    virtual void on_failure(const Cause& cause) = 0;
    /// A rank of another process, or another rank of this one, left in an orderly way, after on_go().
    virtual void on_departed(Rank rank) = 0;
    /// An authenticated Data or Memory connection from a peer; never before on_roster(). Non-blocking.
    virtual void on_connection(ProcessDescriptor connection, const Hello& hello) = 0;
    /// Is it known by other ways that a rank of another process left in an orderly way? Asked when the root has left.
    virtual bool seen_leaving(Rank rank) {
        static_cast<void>(rank);
        return false;
    }
    /// What the ranks of this process are doing, for Session::query(); at most kMostReportBytes.
    virtual std::string on_status() = 0;
};

struct SessionOptions {
    Service* service = nullptr;  ///< null for a local id
    UniqueId id{};
    Rank nranks = 0;
    double timeout = 600;   ///< seconds until all must have joined and reported; also after which a link is dead
    Settings settings;      ///< addresses, ports, name of the host
    Comparator comparator;  ///< used where the root is in this process; may be empty
};

/// All functions may be called from any thread, those of a session with a service return at once unless they say
/// otherwise. In a forked child they do nothing.
class Session {
public:
    /// Who got an answer to connect(): a connection, or the failure.
    using ConnectCallback = std::function<void(ProcessDescriptor, const Failure&)>;
    using QueryCallback = std::function<void(const std::vector<std::string>&)>;

    /// For the first rank of the process. `events` must live until close() has returned. Sends nothing before the first
    /// rank joins. Errors: InvalidArgument (not an id, ranks out of range), InvalidUsage (an id that is not local
    /// without a service), SystemError (the service cannot start).
    static std::shared_ptr<Session> open(const SessionOptions& options, Events& events);

    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();  ///< closes

    /// One local rank joins. Errors: InvalidArgument (rank outside, card too large), InvalidUsage (the rank has joined
    /// in this process). What other processes object to comes by on_failure(). `nranks` is what this rank was given:
    /// another number than the first rank's fails the communicator for all.
    void join(Rank nranks, const Card& card);

    /// This process is ready. Once, after on_roster().
    void report(std::string text);

    /// The communicator has failed. The first cause that reaches the root is spread to all, and comes back to this
    /// process by on_failure(), at the latest after half a second with this cause where the root does not answer.
    void fail(const Cause& cause);

    /// A local rank leaves for good. Others see it by on_departed(). Once all local ranks have left, no callback but
    /// on_failure() has a meaning any more.
    void depart(Rank rank);

    /// A Data or Memory connection to another process, after on_roster(). Key and token of the hello are filled in.
    /// Memory goes to the peer's Unix listener. The callback comes on the service thread unless the session is closed
    /// before. Errors in the callback: RemoteError (refused, unreachable), Timeout; InvalidUsage in a local
    /// communicator.
    void connect(std::int32_t process, const Hello& hello, const Deadline& deadline, ConnectCallback callback);

    /// A rank has been waiting in this call for a while. The root compares the records of all ranks.
    void record(const Record& record);

    /// What all processes are doing: on_status() of each by process index, "" where it did not answer within 300 ms; an
    /// empty list before on_roster().
    void query(QueryCallback callback);

    /// Only needed for a local id, where no thread watches the time: fails the communicator with a Timeout if its init
    /// has taken longer than it may. Returns whether it has time left.
    bool check_init_time();

    /// Ranks that have not joined, as far as known: "1, 3-5"; "" when all have.
    [[nodiscard]] std::string missing() const;

    /// Where the root listens, for messages: "10.0.0.1:4711 or ..."; "this process" for a local id.
    [[nodiscard]] const std::string& root_text() const noexcept { return root_text_; }

    /// Ends the membership; ranks that have not departed leave with a failure for the others, unless that has come
    /// already. Waits at most a second; afterwards there is no callback, and none is running unless close() is called
    /// from inside one. Must not be called with a lock held that a callback takes.
    void close();

private:
    explicit Session(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}

    std::shared_ptr<SessionCore> core_;
    std::string root_text_;
};

}  // namespace rondo::bootstrap
