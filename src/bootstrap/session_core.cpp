#include "bootstrap/session_core.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "bootstrap/acceptor.hpp"
#include "bootstrap/rank_list.hpp"
#include "bootstrap/root.hpp"
#include "bootstrap/service.hpp"

namespace rondo::bootstrap {

namespace {

constexpr double kProgressSeconds = 30;
constexpr double kPortRetrySeconds = 0.1;
constexpr double kAfterDialSeconds = 0.2;  // the dialer's own deadline says more than ours

std::shared_ptr<Executor> executor_for(const std::shared_ptr<Loop>& loop) {
    if (!loop) return std::make_shared<Strand>();
    return std::make_shared<LoopExecutor>(loop);
}

}  // namespace

SessionCore::SessionCore(const SessionOptions& options, const Identity& identity, Introduction introduction,
                         Events& events)
    : token_(Runtime::get().token()),
      options_(options),
      identity_(identity),
      introduction_(std::move(introduction)),
      loop_(identity.local ? nullptr : options.service->loop()),
      executor_(executor_for(loop_)),
      gate_(events),
      opened_(Deadline::Clock::now()),
      init_deadline_(Deadline::after(options.timeout, opened_)) {}

SessionCore::~SessionCore() = default;

bool SessionCore::on_thread() const noexcept { return loop_ && loop_->on_thread(); }

bool SessionCore::claim(Rank rank) {
    const std::lock_guard lock(mutex_);
    return claimed_.insert(rank).second;
}

std::string SessionCore::missing() const {
    const std::lock_guard lock(mutex_);
    if (complete_known_) return {};
    if (!missing_known_.empty()) return missing_known_;
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < options_.nranks; ++rank) {
        if (!claimed_.contains(rank)) ranks.push_back(rank);
    }
    return rank_list(ranks);
}

void SessionCore::set_missing(Rank joined, std::string ranks) {
    const std::lock_guard lock(mutex_);
    joined_known_ = joined;
    missing_known_ = std::move(ranks);
    complete_known_ = missing_known_.empty();
}

std::string SessionCore::joined_text() const {
    const std::string ranks = missing();
    const std::lock_guard lock(mutex_);
    const Rank joined = joined_known_ != 0 ? joined_known_ : static_cast<Rank>(claimed_.size());
    return fmt::format("{} of {} ranks joined; missing: {}", joined, options_.nranks, ranks.empty() ? "none" : ranks);
}

std::string SessionCore::root_text() const { return identity_.local ? "this process" : describe(identity_.root); }

void SessionCore::start() {
    const std::chrono::duration<double> left = init_deadline_.remaining();
    if (!init_deadline_.is_never()) {
        init_timer_ =
            executor_->after(left.count() + kAfterDialSeconds, [self = shared_from_this()] { self->expire(); });
    }
    progress_timer_ = executor_->after(kProgressSeconds, [self = shared_from_this()] { self->log_progress(); });
}

void SessionCore::log_progress() {
    if (going_ || cause_ || closed_) return;
    const std::chrono::duration<double> waited = Deadline::Clock::now() - opened_;
    Runtime::get().logger().warn(ranks_.empty() ? Logger::kNoRank : ranks_.front(),
                                 "init has taken {} so far: {}; root at {}", seconds_text(waited.count()),
                                 roster_ ? "all ranks joined, some are not ready yet" : joined_text(), root_text());
    progress_timer_ = executor_->after(kProgressSeconds, [self = shared_from_this()] { self->log_progress(); });
}

// --- Joining ---------------------------------------------------------------------------------------------------------

void SessionCore::join(JoinMessage join) {
    if (closed_ || cause_ || own_cause_) return;
    if (joins_.empty() && !local()) options_.service->registry().add_callee(identity_.key, weak_from_this());
    const Rank rank = join.card.rank;
    ranks_.insert(std::lower_bound(ranks_.begin(), ranks_.end(), rank), rank);
    joins_.push_back(std::move(join));
    if (link_) {
        link_->send(FrameType::Join, encode(joins_.back()));
    } else {
        find_root();
    }
}

bool SessionCore::has_rank(Rank rank) const { return std::binary_search(ranks_.begin(), ranks_.end(), rank); }

void SessionCore::find_root() {
    if (!local()) {
        find_root_by_service();
    } else if (!own_root_) {
        own_root_ = std::make_shared<Root>(executor_, identity_.secret, nullptr);
        attach_to(*own_root_);
    }
}

void SessionCore::find_root_by_service() {
    Registry& registry = options_.service->registry();
    const std::shared_ptr<Root> root = registry.root(identity_.key);
    if (root && !root->complete()) {
        attach_to(*root);
    } else if (root || registry.used(identity_.key)) {
        deliver({.code = Code::InvalidUsage,
                 .rank = ranks_.front(),
                 .text = "the unique id has already been used; make a new one for each communicator",
                 .operation = "init"});
    } else if (identity_.late_root && has_rank(0)) {
        found_root();
    } else if (!dialer_) {
        dial();
    }
}

/// Rank 0 is here, and brings the root along.
void SessionCore::found_root() {
    if (dialer_) dialer_->cancel();
    dialer_ = nullptr;
    const std::shared_ptr<Root> root = make_root(*options_.service, identity_.key, identity_.secret);
    attach_to(*root);
    if (identity_.own_port) open_own_port(root);
}

void SessionCore::open_own_port(const std::shared_ptr<Root>& root) {
    if (closed_ || cause_) return;
    // Where the process listens at some interfaces alone, it does so here, and at the place that was named.
    std::vector<Address> addresses;
    if (!identity_.loopback && !options_.service->addresses().empty()) {
        addresses = options_.service->addresses();
        for (const Address& address : identity_.root.addresses) {
            if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
        }
    }
    if (std::shared_ptr<void> lease =
            options_.service->acceptor().share_port(identity_.root.port, identity_.loopback, addresses)) {
        root->hold(std::move(lease));
        port_trouble_.clear();
        return;
    }
    const int error = errno;
    port_trouble_ = fmt::format(
        "rank 0 cannot listen at port {}: {}; end what holds the port, or choose another one "
        "(RONDO_COMM_ID)",
        identity_.root.port, errno_text(error));
    if (error != EADDRINUSE) {
        fail({.code = Code::SystemError, .rank = 0, .text = port_trouble_, .operation = "init"});
        return;
    }
    // It may be that of a job that is ending.
    port_timer_ = executor_->after(kPortRetrySeconds, [self = shared_from_this(), root] { self->open_own_port(root); });
}

void SessionCore::attach_to(Root& root) {
    if (options_.comparator) root.set_comparator(options_.comparator);
    auto links = make_local_links(executor_);
    root.attach(std::move(links.first));
    on_link(std::move(links.second));
}

void SessionCore::dial() {
    Call call;
    call.targets = targets_of(identity_.root);
    call.hello.purpose = Purpose::Control;
    call.hello.key = identity_.key;
    call.hello.token = introduction_.process.token;
    call.hello.source = ranks_.front();
    call.secret = identity_.secret;
    call.deadline = init_deadline_;
    call.wait_for_id = identity_.late_root;
    call.wait_for_listener = identity_.own_port;
    call.whom = "the root";
    // Held weakly, as this holds the dialer.
    dialer_ = Dialer::start(
        loop_, std::move(call),
        [weak = weak_from_this()](ProcessDescriptor socket, const std::string& peer, const Failure& failure) {
            if (const auto self = weak.lock()) self->on_dialed(std::move(socket), peer, failure);
        });
}

void SessionCore::on_dialed(ProcessDescriptor socket, const std::string& peer, const Failure& failure) {
    dialer_ = nullptr;
    if (socket) {
        on_link(make_socket_link(loop_, std::move(socket), peer));
        return;
    }
    deliver({.code = failure.code,
             .rank = ranks_.front(),
             .text = failure.text,
             .operation = "init",
             .object = root_text()});
}

void SessionCore::on_link(std::shared_ptr<Link> link) {
    link_ = std::move(link);
    link_->set_limit(kMostRootFrame);
    link_->set_silence_limit(options_.timeout);
    link_->receive(
        [weak = weak_from_this()](FrameType type, std::string_view payload) {
            if (const auto self = weak.lock()) self->on_frame(type, payload);
        },
        [weak = weak_from_this()](const std::string& reason) {
            if (const auto self = weak.lock()) self->on_link_closed(reason);
        });
    link_->send(FrameType::Introduce, encode(introduction_));
    for (const JoinMessage& join : joins_) link_->send(FrameType::Join, encode(join));
    if (own_cause_) link_->send(FrameType::Fail, encode(*own_cause_));
    if (left_ || closed_) say_goodbye();
}

// --- What the root says ----------------------------------------------------------------------------------------------

void SessionCore::on_frame(FrameType type, std::string_view payload) {
    try {
        dispatch(type, payload);
    } catch (const Error& error) {
        fail({.code = error.code(), .text = fmt::format("the root at {}: {}", root_text(), error.what())});
    }
}

void SessionCore::dispatch(FrameType type, std::string_view payload) {
    switch (type) {
        case FrameType::Missing: {
            MissingRanks now = decode_missing(payload);
            set_missing(now.joined, std::move(now.ranks));
            return;
        }
        case FrameType::Roster: on_roster(payload); return;
        case FrameType::Go: on_go(payload); return;
        case FrameType::Failure: deliver(decode_cause(payload)); return;
        case FrameType::Departed:
            for (const Rank rank : decode_ranks(payload)) on_departed(rank);
            return;
        case FrameType::StatusRequest: {
            StatusMessage status{decode_number(payload), {}};
            gate_.pass([&](Events& events) { status.text = events.on_status(); });
            if (status.text.size() > kMostReportBytes) status.text.resize(kMostReportBytes);
            if (link_) link_->send(FrameType::Status, encode(status));
            return;
        }
        case FrameType::Asked: on_asked(decode_errand(payload)); return;
        case FrameType::Refused: on_refused(decode_errand(payload)); return;
        case FrameType::StatusReply: on_status_reply(decode_status_reply(payload)); return;
        default: throw make_error(Code::RemoteError, "message {} is none from a root", static_cast<int>(type));
    }
}

void SessionCore::on_roster(std::string_view payload) {
    Roster roster = decode_roster(payload);
    if (roster_ || roster.process_of.size() != static_cast<std::size_t>(options_.nranks)) {
        throw Error(Code::RemoteError, "malformed message: a roster that does not fit");
    }
    const auto own = std::find_if(roster.processes.begin(), roster.processes.end(), [this](const Process& process) {
        return process.token == introduction_.process.token;
    });
    if (own == roster.processes.end()) {
        throw Error(Code::RemoteError, "malformed message: a roster without this process");
    }
    roster.self = static_cast<std::int32_t>(own - roster.processes.begin());
    set_missing(options_.nranks, {});
    roster_ = std::move(roster);
    if (cause_ || closed_) return;
    watch_processes();
    gate_.pass([this](Events& events) { events.on_roster(*roster_); });
    auto early = std::move(early_);
    early_.clear();
    for (auto& [socket, hello] : early) take_connection(std::move(socket), hello);
}

void SessionCore::on_go(std::string_view payload) {
    const std::vector<std::string> reports = decode_reports(payload);
    if (!roster_ || going_ || reports.size() != roster_->processes.size()) {
        throw Error(Code::RemoteError, "malformed message: reports that do not fit");
    }
    going_ = true;
    executor_->cancel(std::exchange(init_timer_, 0));
    executor_->cancel(std::exchange(progress_timer_, 0));
    if (!cause_) gate_.pass([&](Events& events) { events.on_go(reports); });
}

void SessionCore::on_departed(Rank rank) {
    if (!departed_.insert(rank).second || cause_) return;
    gate_.pass([&](Events& events) { events.on_departed(rank); });
}

void SessionCore::report(std::string text) {
    if (closed_ || cause_ || !link_) return;
    link_->send(FrameType::Ready, std::move(text));
}

void SessionCore::take_connection(ProcessDescriptor socket, const Hello& hello) {
    if (cause_ || closed_ || left_) return;
    if (!roster_) {
        early_.emplace_back(std::move(socket), hello);
        return;
    }
    if (hello.purpose == Purpose::News) {
        take_news(std::move(socket));
        return;
    }
    if (fulfil(socket, hello)) return;
    gate_.pass([&](Events& events) { events.on_connection(std::move(socket), hello); });
}

/// The time for init is over.
void SessionCore::expire() {
    if (going_ || cause_ || closed_ || left_ || joins_.empty()) return;
    const std::string waited = seconds_text(options_.timeout);
    Cause cause{.code = Code::Timeout,
                .rank = ranks_.front(),
                .operation = "init",
                .object = root_text(),
                .limit = waited + " (RONDO_TIMEOUT)"};
    if (roster_) {
        cause.text = fmt::format("all {} ranks joined, but not every process was ready within {} (RONDO_TIMEOUT)",
                                 options_.nranks, waited);
    } else if (!port_trouble_.empty()) {
        cause.text = fmt::format("{} (tried for {})", port_trouble_, waited);
    } else if (!link_) {
        cause.text = fmt::format("no connection to the root at {} within {} (RONDO_TIMEOUT)", root_text(), waited);
    } else {
        cause.remedy = "start the missing ranks or raise RONDO_TIMEOUT";
        cause.text = fmt::format("{}; root at {}; waited {} (RONDO_TIMEOUT); start them or raise it", joined_text(),
                                 root_text(), waited);
    }
    fail(std::move(cause));
}

}  // namespace rondo::bootstrap
