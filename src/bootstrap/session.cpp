#include "bootstrap/session.hpp"
#include "base/process_state.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "base/error.hpp"
#include "base/runtime.hpp"
#include "base/version.hpp"
#include "bootstrap/crypto.hpp"
#include "bootstrap/host_identity.hpp"
#include "bootstrap/rank_list.hpp"
#include "bootstrap/service.hpp"
#include "bootstrap/session_core.hpp"

namespace rondo::bootstrap {

namespace {

constexpr std::chrono::milliseconds kCloseTime{1000};

Introduction introduce(const SessionOptions& options, const Identity& identity) {
    Introduction introduction;
    introduction.build = fmt::format("rondo {} ({})", version_text(), build_commit());
    introduction.timeout = options.timeout;
    Process& process = introduction.process;
    process.token = random_u64();
    process.pid = ::getpid();
    process.start_time = process_start_time(process.pid);
    Site& site = introduction.site;
    site.host = Runtime::get().host();
    site.host_id = options.settings.network.host_id.empty() ? default_host_id() : options.settings.network.host_id;
    if (site.host_id.empty()) site.host_id = "host " + site.host;
    site.pid_namespace = pid_namespace();
    if (!identity.local) {
        const Contact contact = options.service->contact(options.settings);
        site.addresses = contact.addresses;
        process.port = contact.port;
        process.unix_name = options.service->unix_name();
    }
    return introduction;
}

/// Lets one thread wait for another.
struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool given = false;

    void give() {
        const std::lock_guard lock(mutex);
        given = true;
        changed.notify_all();
    }
    void await(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, time, [this] { return given; });
    }
};

/// What leaves for the other processes by a root in this one takes that many turns of the thread: to the root, from the
/// root's several departures into one message, and out. The process may end right after close().
constexpr int kHopsToOthers = 3;

void give_after(const std::shared_ptr<SessionCore>& core, const std::shared_ptr<Signal>& done, int turns) {
    if (turns == 0) {
        done->give();
    } else {
        core->post([core, done, turns] { give_after(core, done, turns - 1); });
    }
}

}  // namespace

std::vector<Rank> Roster::ranks_of(std::int32_t process) const {
    std::vector<Rank> ranks;
    for (std::size_t rank = 0; rank < process_of.size(); ++rank) {
        if (process_of[rank] == process) ranks.push_back(static_cast<Rank>(rank));
    }
    return ranks;
}

std::string Roster::describe(std::int32_t process) const {
    const std::vector<Rank> ranks = ranks_of(process);
    return fmt::format("rank{} {} (host {}, pid {})", ranks.size() == 1 ? "" : "s", rank_list(ranks),
                       site_of(process).host, processes[static_cast<std::size_t>(process)].pid);
}

std::shared_ptr<Session> Session::open(const SessionOptions& options, Events& events) {
    const Identity identity = decode(options.id);
    if (options.nranks < 1 || options.nranks > kMostRanks) {
        throw make_error(Code::InvalidArgument, "a communicator of {} ranks (allowed: 1 to {})", options.nranks,
                         kMostRanks);
    }
    if (!identity.local) {
        if (options.service == nullptr) throw Error(Code::InvalidUsage, "this unique id needs a service");
        options.service->start(options.settings);
    }
    auto core = std::make_shared<SessionCore>(options, identity, introduce(options, identity), events);
    std::shared_ptr<Session> session(new Session(std::move(core)));
    session->root_text_ = identity.local ? "this process" : bootstrap::describe(identity.root);
    session->core_->post([core = session->core_] { core->start(); });
    return session;
}

Session::~Session() {
    close();
    // In a forked child the service thread may have been in the middle of anything.
    if (!core_->in_own_process()) Runtime::get().keep(std::move(core_));
}

void Session::join(Rank nranks, const Card& card) {
    if (!core_->in_own_process()) return;
    if (card.rank < 0 || card.rank >= core_->nranks()) {
        throw make_error(Code::InvalidArgument, "rank {} is outside [0, {})", card.rank, core_->nranks());
    }
    if (card.facts.size() > kMostFactsBytes || card.extra.size() > kMostExtraBytes) {
        throw make_error(Code::InvalidArgument,
                         "rank {}: facts of {} bytes (at most {}), extra of {} bytes (at most {})", card.rank,
                         card.facts.size(), kMostFactsBytes, card.extra.size(), kMostExtraBytes);
    }
    if (!core_->claim(card.rank)) {
        throw make_error(Code::InvalidUsage,
                         "rank {} has joined already in this process (pid {}); give each rank its own "
                         "number",
                         card.rank, ::getpid());
    }
    core_->post([core = core_, message = JoinMessage{nranks, card}] { core->join(message); });
}

void Session::report(std::string text) {
    if (!core_->in_own_process()) return;
    core_->post([core = core_, text = std::move(text)] { core->report(text); });
}

void Session::fail(const Cause& cause) {
    if (!core_->in_own_process()) return;
    core_->post([core = core_, cause] { core->fail(cause); });
}

void Session::depart(Rank rank) {
    if (!core_->in_own_process()) return;
    core_->post([core = core_, rank] { core->depart(rank); });
}

void Session::connect(std::int32_t process, const Hello& hello, const Deadline& deadline, ConnectCallback callback) {
    if (!core_->in_own_process()) return;
    core_->post([core = core_, process, hello, deadline, callback = std::move(callback)] {
        core->connect(process, hello, deadline, callback);
    });
}

void Session::record(const Record& record) {
    if (!core_->in_own_process()) return;
    core_->post([core = core_, record] { core->record(record); });
}

void Session::query(QueryCallback callback) {
    if (!core_->in_own_process()) return;
    core_->post([core = core_, callback = std::move(callback)] { core->query(callback); });
}

bool Session::check_init_time() {
    if (!core_->in_own_process() || core_->init_time_left()) return true;
    core_->post([core = core_] { core->expire(); });
    return false;
}

std::string Session::missing() const { return core_->in_own_process() ? core_->missing() : std::string(); }

void Session::close() {
    if (!core_->in_own_process()) return;
    core_->gate().shut();
    if (core_->on_thread() || core_->local()) {
        core_->post([core = core_] { core->close(); });
        return;
    }
    const auto done = std::make_shared<Signal>();
    core_->post([core = core_, done] {
        core->close();
        core->when_told([core, done] { give_after(core, done, kHopsToOthers); });
    });
    done->await(kCloseTime);
}

}  // namespace rondo::bootstrap
