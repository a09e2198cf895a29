// How the processes of a team come to share memory and connections.

#include <poll.h>
#include <sys/socket.h>

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <set>
#include <system_error>
#include <thread>

#include "base/cpus.hpp"
#include "base/error.hpp"
#include "base/process_state.hpp"
#include "base/runtime.hpp"
#include "comm/team.hpp"
#include "transport/tcp/loopback.hpp"

namespace rondo::comm {

namespace {

using transport::memory::Domain;
using transport::memory::Geometry;

constexpr int kLookMs = 50;
constexpr double kDialSeconds = 60;
constexpr double kPullSeconds = 2;  // for all processes of a host to be there; else there are no pulls
constexpr std::chrono::microseconds kPullLook{50};

/// A message of one byte that carries a descriptor (cmsg(3)).
class DescriptorMessage {
public:
    DescriptorMessage() {
        message_.msg_iov = &content_;
        message_.msg_iovlen = 1;
        message_.msg_control = rights_;
        message_.msg_controllen = sizeof(rights_);
    }
    DescriptorMessage(const DescriptorMessage&) = delete;
    DescriptorMessage& operator=(const DescriptorMessage&) = delete;

    void send(int connection, int descriptor) {
        cmsghdr* head = CMSG_FIRSTHDR(&message_);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
        if (::sendmsg(connection, &message_, MSG_NOSIGNAL) < 0) {
            throw make_system_error(errno, "handing shared memory to another process");
        }
    }

    Descriptor receive(int connection) {
        const ssize_t got = ::recvmsg(connection, &message_, MSG_CMSG_CLOEXEC);
        if (got < 0) throw make_system_error(errno, "receiving shared memory");
        const cmsghdr* head = CMSG_FIRSTHDR(&message_);
        if (got == 0 || head == nullptr || head->cmsg_type != SCM_RIGHTS) {
            throw Error(Code::RemoteError, "the process that makes the shared memory closed the connection without it");
        }
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(head), sizeof(int));
        return Descriptor(descriptor);
    }

private:
    char mark_ = 'm';
    iovec content_{&mark_, 1};
    alignas(cmsghdr) char rights_[CMSG_SPACE(sizeof(int))]{};
    msghdr message_{};
};

/// The processes with ranks in this list, each once.
bool spans_processes(const bootstrap::Roster& roster, const std::vector<Rank>& ranks) {
    for (const Rank rank : ranks) {
        if (roster.process_of[static_cast<std::size_t>(rank)] != roster.self) return true;
    }
    return false;
}

Rank ranks_on_this_host(const bootstrap::Roster& roster) {
    Rank count = 0;
    for (const std::int32_t process : roster.process_of) count += roster.same_host(process, roster.self) ? 1 : 0;
    return count;
}

}  // namespace

std::vector<Rank> Team::local_ranks() const { return roster_.ranks_of(roster_.self); }

bool Team::on_other_process(Rank rank) const {
    return roster_.process_of[static_cast<std::size_t>(rank)] != roster_.self;
}

void Team::on_roster(const bootstrap::Roster& roster) {
    bool alone = false;
    {
        const std::lock_guard lock(mutex_);
        complete_ = true;
        roster_ = roster;
        placement_ = place(roster_, options_.transports, {});
        wait_policy_ = transport::wait_policy(ranks_on_this_host(roster_), cpu_limits().usable(), options_.spin_us);
        alone = !spans_processes(roster_, placement_.group(local_ranks().front()));
    }
    if (alone) {
        session_->report("");
    } else {
        sharing_ = std::thread([this] { share_memory(); });
    }
}

void Team::on_go(const std::vector<std::string>& reports) {
    try {
        std::string pull_text;
        {
            const std::lock_guard lock(mutex_);
            placement_ = place(roster_, options_.transports, reports);
            check_reachable(roster_, placement_, options_.transports, reports);
            const bool alone = !spans_processes(roster_, placement_.group(local_ranks().front()));
            if (alone) make_private_domain();
            if (!alone) pull_text = settle_pulls();
            ready_.store(true, std::memory_order_release);
            settled_.notify_all();
        }
        Runtime::get().logger().info(Subsystem::Init, local_ranks().front(), "communicator '{}': {}{}", options_.name,
                                     comm::describe(roster_, placement_, options_.transports, reports), pull_text);
    } catch (...) {
        const Failure failure = current_failure();
        fail({.code = failure.code, .rank = local_ranks().front(), .text = "init: " + failure.text});
    }
}

void Team::make_private_domain() {
    domain_ = std::make_unique<Domain>(
        Geometry{
            .nranks = nranks_, .members = local_ranks(), .slots = options_.slots, .slot_bytes = options_.slot_bytes},
        first_cause_, false);
}

/// On a thread of its own, between roster and report.
void Team::share_memory() {
    const std::vector<Rank>& members = placement_.group(local_ranks().front());
    const Geometry geometry{
        .nranks = nranks_, .members = members, .slots = options_.slots, .slot_bytes = options_.slot_bytes};
    const std::int32_t leader = roster_.process_of[static_cast<std::size_t>(members.front())];
    std::string report;
    try {
        if (leader == roster_.self) {
            make_shared_domain(geometry);
        } else {
            auto domain = std::make_unique<Domain>(geometry, first_cause_, receive_segment(members.front()));
            const std::lock_guard lock(mutex_);
            domain_ = std::move(domain);
        }
        test_pulls();
    } catch (...) {
        report = current_failure().text;
        if (report.empty()) report = "out of memory";
        const std::lock_guard lock(mutex_);
        want_segment_.clear();
    }
    session_->report(report);
}

/// Of the processes that this one shares memory with: the lowest rank of each.
std::vector<Rank> Team::first_of_other_processes() const {
    std::vector<Rank> first;
    std::set<std::int32_t> seen{roster_.self};
    for (const Rank rank : placement_.group(local_ranks().front())) {
        if (seen.insert(roster_.process_of[static_cast<std::size_t>(rank)]).second) first.push_back(rank);
    }
    return first;
}

/// Tells the others where they may read, reads from them, and says what came of it; all before this process's report.
void Team::test_pulls() {
    sample_.emplace();
    for (const Rank rank : local_ranks()) {
        auto& record = domain_->pull_record(rank);
        record.sample.store(sample_->data(), std::memory_order_relaxed);
        record.key.store(sample_->key(), std::memory_order_relaxed);
        record.pid.store(::getpid(), std::memory_order_release);
    }
    Rank failed_with = -1;
    const int error = options_.transports.cma ? try_pulls(first_of_other_processes(), failed_with) : EOPNOTSUPP;
    auto& record = domain_->pull_record(local_ranks().front());
    record.failed_with.store(failed_with, std::memory_order_relaxed);
    record.verdict.store(error == 0 ? transport::memory::PullRecord::kWorks : -error, std::memory_order_release);
}

/// 0, or the errno value of the first that failed.
int Team::try_pulls(const std::vector<Rank>& others, Rank& failed_with) {
    const Deadline deadline = Deadline::after(kPullSeconds);
    for (const Rank rank : others) {
        failed_with = rank;
        const auto& record = domain_->pull_record(rank);
        while (record.pid.load(std::memory_order_acquire) == 0) {
            check_sharing("the other processes' memory");
            if (deadline.expired()) return ETIMEDOUT;
            std::this_thread::sleep_for(kPullLook);
        }
        const int error =
            transport::memory::PullSample::test(record.pid.load(std::memory_order_relaxed),
                                                record.sample.load(std::memory_order_relaxed), record.key.load());
        if (error != 0) return error;
    }
    return 0;
}

bool Team::has_ended(Rank rank) const noexcept {
    const pid_t pid = domain_->pull_record(rank).pid.load(std::memory_order_acquire);
    try {
        return pid != 0 && on_other_process(rank) && process_has_ended(pid);
    } catch (...) {
        return false;  // no memory or descriptor to look: not seen
    }
}

/// When all have reported: the same on all ranks of this memory. Returns a text for the log.
std::string Team::settle_pulls() {
    std::vector<Rank> processes = first_of_other_processes();
    processes.push_back(local_ranks().front());
    std::ranges::sort(processes);
    for (const Rank rank : processes) {
        const auto& record = domain_->pull_record(rank);
        const std::int32_t verdict = record.verdict.load(std::memory_order_acquire);
        if (verdict == transport::memory::PullRecord::kWorks) continue;
        pulls_ = false;
        if (verdict == -EOPNOTSUPP) return "";
        return fmt::format("; no copies out of other processes' buffers: rank {} cannot read those of rank {} ({})",
                           rank, record.failed_with.load(), std::generic_category().message(-verdict));
    }
    pulls_ = true;
    return "; every rank can copy out of the others' buffers (cma)";
}

void Team::make_shared_domain(const Geometry& geometry) {
    auto domain = std::make_unique<Domain>(geometry, first_cause_, true);
    std::vector<ProcessDescriptor> waiting;
    {
        const std::lock_guard lock(mutex_);
        domain_ = std::move(domain);
        waiting = std::exchange(want_segment_, {});
    }
    for (ProcessDescriptor& connection : waiting) hand_out_segment(std::move(connection));
}

void Team::hand_out_segment(ProcessDescriptor connection) const {
    DescriptorMessage().send(connection.get(), domain_->descriptor());
}

Descriptor Team::receive_segment(Rank leader) {
    using Answer = std::pair<ProcessDescriptor, Failure>;
    auto answer = std::make_shared<std::promise<Answer>>();
    std::future<Answer> answers = answer->get_future();
    session_->connect(roster_.process_of[static_cast<std::size_t>(leader)],
                      {.purpose = bootstrap::Purpose::Memory, .source = local_ranks().front(), .destination = leader},
                      init_deadline_, [answer](ProcessDescriptor connection, const Failure& failure) {
                          answer->set_value({std::move(connection), failure});
                      });
    while (answers.wait_for(std::chrono::milliseconds(kLookMs)) != std::future_status::ready) {
        check_sharing("a connection to the process that makes the memory");
    }
    const auto [connection, failure] = answers.get();
    if (failure.code != Code::Success) throw Error(failure.code, failure.text);
    pollfd ready{connection.get(), POLLIN, 0};
    while (::poll(&ready, 1, kLookMs) <= 0) check_sharing("the process that makes the memory");
    return DescriptorMessage().receive(connection.get());
}

/// Every wait of sharing_ looks here.
void Team::check_sharing(const char* waiting_for) const {
    if (failed() || closing_) throw Error(Code::RemoteError, "the communicator ended before its memory was shared");
    if (init_deadline_.expired()) {
        throw make_error(Code::Timeout, "waited {} for {}", seconds_text(options_.timeout), waiting_for);
    }
}

void Team::on_connection(ProcessDescriptor connection, const bootstrap::Hello& hello) {
    if (hello.purpose == bootstrap::Purpose::Data) {
        deliver(hello.destination, hello.source, hello.flow, std::move(connection));
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        if (!domain_) {
            want_segment_.push_back(std::move(connection));
            return;
        }
    }
    try {
        hand_out_segment(std::move(connection));
    } catch (const Error& error) {
        Runtime::get().logger().warn(-1, "{}", error.what());
    }
}

void Team::deliver(Rank rank, Rank peer, int flow, ProcessDescriptor connection) {
    const std::lock_guard lock(mutex_);
    const auto found = networks_.find(rank);
    if (found == networks_.end()) {
        undelivered_[rank].push_back({peer, flow, std::move(connection)});
    } else {
        found->second->deliver(peer, flow, std::move(connection));
    }
}

void Team::attach(Rank rank, transport::tcp::Network& network) {
    const std::lock_guard lock(mutex_);
    networks_[rank] = &network;
    for (Waiting& waiting : undelivered_[rank]) {
        network.deliver(waiting.peer, waiting.flow, std::move(waiting.connection));
    }
    undelivered_.erase(rank);
}

void Team::detach(Rank rank) {
    const std::lock_guard lock(mutex_);
    networks_.erase(rank);
}

void Team::dial(Rank rank, Rank peer, int flow) {
    if (!on_other_process(peer)) {
        dial_within_process(rank, peer, flow);
        return;
    }
    const bootstrap::Hello hello{.purpose = bootstrap::Purpose::Data,
                                 .source = rank,
                                 .destination = peer,
                                 .flow = static_cast<std::uint16_t>(flow)};
    session_->connect(roster_.process_of[static_cast<std::size_t>(peer)], hello,
                      Deadline::after(std::min(options_.timeout, kDialSeconds)),
                      [this, rank, peer, flow](ProcessDescriptor connection, const Failure& failure) {
                          if (failure.code == Code::Success) {
                              deliver(rank, peer, flow, std::move(connection));
                          } else {
                              const std::lock_guard lock(mutex_);
                              unreachable_.emplace(rank, transport::tcp::Lost{peer, failure.text});
                              wake_all();
                          }
                      });
}

std::optional<transport::tcp::Lost> Team::unreachable(Rank rank) const {
    const std::lock_guard lock(mutex_);
    const auto found = unreachable_.find(rank);
    return found == unreachable_.end() ? std::nullopt : std::optional(found->second);
}

void Team::dial_within_process(Rank rank, Rank peer, int flow) {
    auto [mine, theirs] = transport::tcp::loopback_pair();
    deliver(rank, peer, flow, std::move(mine));
    deliver(peer, rank, flow, std::move(theirs));
}

}  // namespace rondo::comm
