#include "comm/team.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <sstream>

#include "base/cpus.hpp"
#include "base/error.hpp"
#include "base/runtime.hpp"
#include "bootstrap/service.hpp"
#include "comm/call.hpp"
#include "comm/plan_proof.hpp"

namespace rondo::comm {

namespace {

constexpr std::chrono::milliseconds kFirstCause{700};  // the session answers within half a second
constexpr std::chrono::milliseconds kFirstCauseOfSilentRoot{50};
constexpr std::chrono::milliseconds kAnswers{350};  // the session gives them 300 ms
constexpr std::chrono::milliseconds kLook{50};
constexpr double kSessionSeconds = 2;  // by which the session may miss the end of init's time

bootstrap::Service* service_for(const bootstrap::UniqueId& id) {
    return bootstrap::decode(id).local ? nullptr : &Runtime::get().service<bootstrap::Service>();
}

/// Two ranks have been waiting in different calls of the same number.
Cause compare(const bootstrap::Record& a, const bootstrap::Record& b) {
    return disagreement_of(a.sequence, a.rank, a.call, b.rank, b.call);
}

}  // namespace

Team::Team(const bootstrap::UniqueId& id, Rank nranks, const Options& options)
    : id_(id),
      nranks_(nranks),
      options_(options),
      init_deadline_(Deadline::after(options.timeout)),
      loaded_(load_plans(options.plan_file, nranks, options.slots)),
      departed_(static_cast<std::size_t>(nranks)) {
    session_ = bootstrap::Session::open({.service = service_for(id),
                                         .id = id,
                                         .nranks = nranks,
                                         .timeout = options.timeout,
                                         .settings = options.settings,
                                         .comparator = compare},
                                        *this);
}

Team::~Team() {
    closing_ = true;
    session_->close();
    if (sharing_.joinable()) sharing_.join();
}

void Team::join(Rank rank, Rank nranks, const Options& options) {
    session_->join(nranks, {.rank = rank, .facts = options.facts(), .extra = ""});
}

bool Team::gathering() const {
    const std::lock_guard lock(mutex_);
    return !complete_ && !failed();
}

void Team::wait_until_settled() {
    const Deadline late = Deadline::after(options_.timeout + kSessionSeconds);
    std::unique_lock lock(mutex_);
    while (!ready() && !failed()) {
        settled_.wait_for(lock, kLook);
        lock.unlock();
        session_->check_init_time();
        // The session says more, and says it first; but this wait depends on no other thread.
        if (late.expired()) {
            fail({.code = Code::Timeout,
                  .text = fmt::format("init has not ended within {} (RONDO_TIMEOUT)", seconds_text(options_.timeout)),
                  .operation = "init"});
        }
        lock.lock();
    }
}

void Team::check_init_time() { session_->check_init_time(); }

std::string Team::describe(Rank rank) const {
    const std::int32_t process = roster_.process_of[static_cast<std::size_t>(rank)];
    return fmt::format("rank {} (host {}, pid {})", rank, roster_.site_of(process).host,
                       roster_.processes[static_cast<std::size_t>(process)].pid);
}

void Team::fail(const Cause& cause) {
    if (failed()) return;
    session_->fail(cause);
    if (!service_for(id_) || !Runtime::get().service<bootstrap::Service>().on_thread()) {
        std::unique_lock lock(mutex_);
        settled_.wait_for(lock, root_silent_ ? kFirstCauseOfSilentRoot : kFirstCause, [this] { return failed(); });
    }
    if (!failed()) on_failure(cause);
}

void Team::wake_all() {
    if (domain_) domain_->ring_all();
    for (const auto& [rank, network] : networks_) network->wake();
    settled_.notify_all();
}

void Team::on_failure(const Cause& cause) {
    const std::lock_guard lock(mutex_);
    if (!first_cause_->set(cause)) return;
    wake_all();
}

void Team::on_departed(Rank rank) {
    const std::lock_guard lock(mutex_);
    departed_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
    wake_all();
}

void Team::depart(Rank rank) {
    if (ready()) domain_->depart(rank);
    session_->depart(rank);
}

void Team::leave() {
    if (ready() && !failed()) {
        for (const Rank rank : local_ranks()) depart(rank);
    }
    session_->close();
}

void Team::record(Rank rank, const transport::memory::CallRecord& call) {
    session_->record({.rank = rank, .sequence = call.sequence, .signature = call.signature, .call = call.call});
}

std::string Team::on_status() {
    const std::lock_guard lock(mutex_);
    if (!ready()) return "";
    std::string text;
    for (const Rank rank : local_ranks()) {
        const transport::memory::CallRecords& records = domain_->records(rank);
        const std::uint64_t latest = records.latest();
        text += fmt::format("{} {}", rank, latest);
        const std::uint64_t depth = std::min(latest, transport::memory::CallRecords::kDepth);
        for (std::uint64_t sequence = latest - depth + 1; sequence <= latest; ++sequence) {
            if (const auto call = records.find(sequence)) {
                text += fmt::format(" {} {} {} {}", sequence, call->signature, call->call[0], call->call[1]);
            }
        }
        text += "\n";
    }
    return text;
}

bool Team::seen_leaving(Rank rank) {
    const std::lock_guard lock(mutex_);
    return ready() && domain_->has(rank) && domain_->departed(rank);
}

std::vector<std::optional<RankStatus>> Team::ask() {
    std::vector<std::optional<RankStatus>> all(static_cast<std::size_t>(nranks_));
    auto answer = std::make_shared<std::promise<std::vector<std::string>>>();
    std::future<std::vector<std::string>> answers = answer->get_future();
    session_->query([answer](const std::vector<std::string>& texts) { answer->set_value(texts); });
    const bool answered = answers.wait_for(kAnswers) == std::future_status::ready;
    root_silent_ = !answered;
    if (!answered) return all;
    for (const std::string& text : answers.get()) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            Rank rank = -1;
            RankStatus status;
            if (!(words >> rank >> status.latest) || rank < 0 || rank >= nranks_) continue;
            transport::memory::CallRecord call;
            while (words >> call.sequence >> call.signature >> call.call[0] >> call.call[1]) {
                status.calls.push_back(call);
            }
            all[static_cast<std::size_t>(rank)] = std::move(status);
        }
    }
    return all;
}

void Team::verify(const plan::Shape& shape, const plan::Facts& facts) {
    const std::lock_guard lock(verified_mutex_);
    if (verified_.contains({&shape, facts.root})) return;
    std::vector<plan::Plan> plans;
    for (Rank rank = 0; rank < facts.nranks; ++rank) plans.push_back(shape.build(facts, rank));
    try {
        prove(plans, options_.slots);
    } catch (const Error& error) {
        throw Error(Code::InternalError, std::string("a plan of this library fails its own proof: ") + error.what());
    }
    verified_.insert({&shape, facts.root});
}

const std::vector<plan::Plan>* Team::loaded(plan::Collective collective, Rank root) const noexcept {
    const bool fits = !loaded_.empty() && loaded_.front().collective == collective &&
                      (!plan::rooted(collective) || loaded_.front().root == root);
    return fits ? &loaded_ : nullptr;
}

/// A process that exits without having destroyed its communicators leaves them in an orderly way: its peers are to take
/// it for one that destroyed them, not for one that died.
Teams::Teams() : token_(Runtime::get().token()) {
    static_cast<void>(std::atexit([] { Runtime::get().service<Teams>().leave_all(); }));
}

void Teams::leave_all() {
    if (!Runtime::get().same_process(token_)) return;
    std::vector<std::shared_ptr<Team>> alive;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, known] : teams_) {
            if (std::shared_ptr<Team> team = known.team.lock()) alive.push_back(std::move(team));
        }
    }
    for (const std::shared_ptr<Team>& team : alive) team->leave();
}

std::shared_ptr<Team> Teams::join(const bootstrap::UniqueId& id, Rank nranks, Rank rank, const Options& options) {
    std::shared_ptr<Team> team;
    {
        const std::lock_guard lock(mutex_);
        const auto known = teams_.find(id);
        if (known == teams_.end()) {
            team = std::make_shared<Team>(id, nranks, options);
            teams_.emplace(id, Known{team, team->first_cause()});
        } else {
            const Cause cause = known->second.first_cause->get();
            team = known->second.team.lock();
            if (cause.code != Code::Success) {
                throw make_error(cause.code, "rank {}: rank {} failed first: {}; make a new unique id", rank,
                                 cause.rank, cause.text);
            }
            if (!team || !team->gathering()) {
                throw make_error(Code::InvalidUsage,
                                 "rank {}: this unique id has served a communicator already; make a new one", rank);
            }
        }
    }
    team->join(rank, nranks, options);
    return team;
}

}  // namespace rondo::comm
