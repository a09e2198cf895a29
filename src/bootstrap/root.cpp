#include "bootstrap/root.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/runtime.hpp"
#include "bootstrap/messages.hpp"
#include "bootstrap/rank_list.hpp"

namespace rondo::bootstrap {

namespace {

constexpr double kFirstMissingSeconds = 0.1;  // doubled each time, up to kMissingSeconds
constexpr double kMissingSeconds = 1;
constexpr double kInquirySeconds = 0.3;
constexpr double kMournSeconds = 60;         // so long a failed init is remembered for ranks that come yet
constexpr double kMournWithPortSeconds = 5;  // the same where a port of its own is held meanwhile
constexpr std::size_t kRecordsOfRank = 8;

/// The first line in which two lists of facts differ.
std::pair<std::string, std::string> first_difference(const std::string& first, const std::string& other) {
    std::istringstream a(first);
    std::istringstream b(other);
    std::string line_a;
    std::string line_b;
    while (true) {
        const bool more_a = static_cast<bool>(std::getline(a, line_a));
        const bool more_b = static_cast<bool>(std::getline(b, line_b));
        if (!more_a) line_a = "nothing";
        if (!more_b) line_b = "nothing";
        if (line_a != line_b || (!more_a && !more_b)) return {line_a, line_b};
    }
}

}  // namespace

Root::Root(std::shared_ptr<Executor> executor, const Secret& secret, std::function<void()> on_over)
    : executor_(std::move(executor)), secret_(secret), on_over_(std::move(on_over)) {}

Root::~Root() {
    executor_->cancel(missing_timer_);
    executor_->cancel(over_timer_);
    for (const auto& [id, inquiry] : inquiries_) executor_->cancel(inquiry.timer);
}

void Root::attach(std::shared_ptr<Link> link) {
    members_.push_back(std::make_unique<Member>());
    Member& member = *members_.back();
    member.link = std::move(link);
    ++present_;
    executor_->cancel(over_timer_);
    member.link->set_limit(kMostEarlyFrame);
    member.link->receive(
        [weak = weak_from_this(), &member](FrameType type, std::string_view payload) {
            if (const auto self = weak.lock()) self->on_frame(member, type, payload);
        },
        [weak = weak_from_this(), &member](const std::string& reason) {
            if (const auto self = weak.lock()) self->on_closed(member, reason);
        });
    if (cause_.code != Code::Success) member.link->send(FrameType::Failure, encode(cause_));
}

void Root::on_frame(Member& member, FrameType type, std::string_view payload) {
    try {
        dispatch(member, type, payload);
    } catch (const Error& error) {
        const std::string text = fmt::format("{} sent what makes no sense: {}", describe(member), error.what());
        fail({.code = Code::RemoteError, .rank = member.ranks.empty() ? -1 : member.ranks.front(), .text = text});
        member.link->close();
        gone(member);
    }
}

void Root::dispatch(Member& member, FrameType type, std::string_view payload) {
    if (!member.link) return;
    if (!member.introduced && type != FrameType::Introduce) {
        throw make_error(Code::RemoteError, "message {} before its introduction", static_cast<int>(type));
    }
    switch (type) {
        case FrameType::Introduce: introduce(member, decode_introduction(payload)); return;
        case FrameType::Join: join(member, decode_join(payload)); return;
        case FrameType::Ready: ready(member, std::string(payload)); return;
        case FrameType::Fail: fail(decode_cause(payload)); return;
        case FrameType::Depart: depart(member, decode_rank(payload)); return;
        case FrameType::Goodbye: goodbye(member); return;
        case FrameType::Record: compare(decode_record(payload)); return;
        case FrameType::Ask: forward(member, FrameType::Asked, decode_errand(payload)); return;
        case FrameType::Refuse: forward(member, FrameType::Refused, decode_errand(payload)); return;
        case FrameType::Query: inquire(member, decode_number(payload)); return;
        case FrameType::Status: answer(member, decode_status(payload)); return;
        default: throw make_error(Code::RemoteError, "message {} is none for the root", static_cast<int>(type));
    }
}

// --- Joining ---------------------------------------------------------------------------------------------------------

void Root::introduce(Member& member, Introduction introduction) {
    if (std::exchange(member.introduced, true)) throw Error(Code::RemoteError, "a second introduction");
    member.introduction = std::move(introduction);
    member.link->set_silence_limit(member.introduction.timeout);
    if (first_ == nullptr) first_ = &member;
    const std::string& build = first_->introduction.build;
    if (member.introduction.build == build) return;
    fail({.code = Code::InvalidUsage,
          .text = fmt::format("{} runs {}, {} runs {}; use one build of the library on all ranks", place_of(*first_),
                              build, place_of(member), member.introduction.build),
          .operation = "init"});
}

void Root::join(Member& member, JoinMessage join) {
    if (cause_.code != Code::Success) return;
    const Rank rank = join.card.rank;
    if (first_rank_ < 0) {
        if (join.nranks < 1 || join.nranks > kMostRanks) {
            throw make_error(Code::RemoteError, "a communicator of {} ranks", join.nranks);
        }
        first_rank_ = rank;
        facts_ = join.card.facts;
        seats_.resize(static_cast<std::size_t>(join.nranks));
        missing_timer_ = executor_->after(kFirstMissingSeconds, [this] { tell_missing(kFirstMissingSeconds); });
    }
    if (const std::string text = objection(member, join); !text.empty()) {
        fail({.code = Code::InvalidUsage, .rank = rank, .text = text, .operation = "init"});
        return;
    }
    seats_[static_cast<std::size_t>(rank)] = {&member, std::move(join.card.extra)};
    member.ranks.insert(std::lower_bound(member.ranks.begin(), member.ranks.end(), rank), rank);
    if (++joined_ == static_cast<Rank>(seats_.size())) complete_roster();
}

/// Why the rank cannot join; "" if it can.
std::string Root::objection(const Member& member, const JoinMessage& join) const {
    const auto nranks = static_cast<Rank>(seats_.size());
    const Rank rank = join.card.rank;
    if (join.nranks != nranks) {
        return fmt::format("rank {} ({}) says {} ranks, rank {} says {}; give all ranks the same number", rank,
                           place_of(member), join.nranks, first_rank_, nranks);
    }
    if (rank < 0 || rank >= nranks) {
        return fmt::format("rank {} ({}) is outside [0, {})", rank, place_of(member), nranks);
    }
    const Member* holder = seats_[static_cast<std::size_t>(rank)].member;
    if (holder != nullptr) {
        return fmt::format("rank {} was claimed twice: by {} and by {}; give each process its own rank", rank,
                           place_of(*holder), place_of(member));
    }
    if (join.card.facts != facts_) {
        const auto difference = first_difference(facts_, join.card.facts);
        return fmt::format("ranks have different settings: {} on rank {}, {} on rank {} ({}); set them alike",
                           difference.first, first_rank_, difference.second, rank, place_of(member));
    }
    return {};
}

void Root::complete_roster() {
    complete_ = true;
    lease_.reset();
    executor_->cancel(missing_timer_);
    const Roster roster = make_roster();
    processes_ = roster.processes.size();
    for (const auto& member : members_) {
        if (member->link) member->link->set_limit(kMostMemberFrame);
    }
    broadcast(FrameType::Roster, make_payload(encode(roster)));
}

Roster Root::make_roster() {
    Roster roster;
    for (Seat& seat : seats_) {
        Member& member = *seat.member;
        if (member.index < 0) {
            member.index = static_cast<std::int32_t>(roster.processes.size());
            Process process = member.introduction.process;
            const auto same = std::find(roster.sites.begin(), roster.sites.end(), member.introduction.site);
            process.site = static_cast<std::uint32_t>(same - roster.sites.begin());
            if (same == roster.sites.end()) roster.sites.push_back(member.introduction.site);
            roster.processes.push_back(std::move(process));
            if (!member.link->over_network()) roster.root_process = member.index;
        }
        roster.process_of.push_back(member.index);
        roster.extra.push_back(std::move(seat.extra));
    }
    return roster;
}

MissingRanks Root::missing() const {
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        if (seats_[i].member == nullptr) ranks.push_back(static_cast<Rank>(i));
    }
    return {joined_, rank_list(ranks)};
}

void Root::tell_missing(double interval) {
    if (complete_ || cause_.code != Code::Success) return;
    broadcast(FrameType::Missing, make_payload(encode(missing())));
    const double next = std::min(2 * interval, kMissingSeconds);
    missing_timer_ = executor_->after(next, [this, next] { tell_missing(next); });
}

void Root::ready(Member& member, std::string report) {
    if (!complete_ || report.size() > kMostReportBytes)
        throw Error(Code::RemoteError, "a report that nobody asked for");
    if (std::exchange(member.ready, true) || cause_.code != Code::Success) return;
    member.report = std::move(report);
    if (++ready_ != processes_) return;
    going_ = true;
    std::vector<std::string> reports(processes_);
    for (const auto& other : members_) {
        if (other->index >= 0) reports[static_cast<std::size_t>(other->index)] = std::move(other->report);
    }
    broadcast(FrameType::Go, make_payload(encode(reports)));
}

// --- Leaving and failing ---------------------------------------------------------------------------------------------

void Root::depart(Member& member, Rank rank) {
    if (!std::binary_search(member.ranks.begin(), member.ranks.end(), rank)) return;
    if (std::find(member.departed.begin(), member.departed.end(), rank) != member.departed.end()) return;
    member.departed.push_back(rank);
    if (cause_.code != Code::Success) return;
    if (!going_) {
        fail({.code = Code::RemoteError,
              .rank = rank,
              .peer = rank,
              .text = fmt::format("rank {} ({}) left before all ranks had joined", rank, place_of(member)),
              .operation = "init"});
        return;
    }
    // Ranks tend to leave together: one message for all that are known by the end of this turn.
    if (departures_.empty()) {
        executor_->post([self = shared_from_this()] {
            self->broadcast(FrameType::Departed, make_payload(encode(std::exchange(self->departures_, {}))));
        });
    }
    departures_.push_back(rank);
}

void Root::goodbye(Member& member) {
    const std::vector<Rank> ranks = member.ranks;
    for (const Rank rank : ranks) depart(member, rank);
    member.link->close();
    gone(member);
}

void Root::on_closed(Member& member, const std::string& reason) {
    if (member.departed.size() < member.ranks.size()) {
        fail({.code = Code::RemoteError,
              .rank = member.ranks.front(),
              .peer = member.ranks.front(),
              .text = fmt::format("{} ended without leaving the communicator (control connection: {})",
                                  describe(member), reason)});
    }
    gone(member);
}

void Root::fail(Cause cause) {
    if (cause_.code != Code::Success) return;
    cause_ = fit(std::move(cause));
    executor_->cancel(missing_timer_);
    broadcast(FrameType::Failure, make_payload(encode(cause_)));
}

void Root::broadcast(FrameType type, const Payload& payload) {
    for (const auto& member : members_) {
        if (member->link) member->link->send(type, payload);
    }
}

void Root::gone(Member& member) {
    if (!member.link) return;
    // The link may be in the middle of a callback: it goes later.
    executor_->post([link = std::move(member.link)] {});
    member.link = nullptr;
    --present_;
    for (auto& [id, inquiry] : inquiries_) {
        if (inquiry.asker == &member) inquiry.asker = nullptr;
    }
    finish_if_over();
}

void Root::finish_if_over() {
    if (present_ != 0) return;
    if (complete_) {
        lease_.reset();
        executor_->post([self = shared_from_this()] {
            if (self->on_over_) std::exchange(self->on_over_, {})();
        });
        return;
    }
    // Ranks that come yet shall hear why.
    if (cause_.code == Code::Success) return;
    over_timer_ = executor_->after(lease_ ? kMournWithPortSeconds : kMournSeconds, [self = shared_from_this()] {
        self->lease_.reset();
        if (self->on_over_) std::exchange(self->on_over_, {})();
    });
}

std::string Root::place_of(const Member& member) {
    if (!member.introduced) return fmt::format("a process at {}", member.link ? member.link->peer() : "?");
    return fmt::format("host {} pid {}", member.introduction.site.host, member.introduction.process.pid);
}

std::string Root::describe(const Member& member) {
    if (member.ranks.empty()) return place_of(member);
    return fmt::format("rank{} {} ({})", member.ranks.size() == 1 ? "" : "s", rank_list(member.ranks),
                       place_of(member));
}

// --- Records and inquiries -------------------------------------------------------------------------------------------

void Root::compare(const Record& record) {
    if (cause_.code != Code::Success) return;
    for (const auto& [rank, records] : records_) {
        if (rank == record.rank) continue;
        for (const Record& other : records) {
            if (other.sequence != record.sequence || other.signature == record.signature) continue;
            const auto [low, high] =
                std::minmax(other, record, [](const Record& a, const Record& b) { return a.rank < b.rank; });
            if (comparator_) {
                fail(comparator_(low, high));
            } else {
                fail({.code = Code::InvalidUsage,
                      .rank = low.rank,
                      .peer = high.rank,
                      .text = fmt::format("ranks {} and {} disagree in call {}: their signatures are {:x} and {:x}; "
                                          "make the same calls in the same order on all ranks",
                                          low.rank, high.rank, low.sequence, low.signature, high.signature),
                      .sequence = low.sequence});
            }
            return;
        }
    }
    if (record.rank < 0 || record.rank >= static_cast<Rank>(seats_.size())) return;
    std::vector<Record>& own = records_[record.rank];
    if (own.size() == kRecordsOfRank) own.erase(own.begin());
    own.push_back(record);
}

/// From process to process. Where the other has gone, its errands have failed.
void Root::forward(const Member& from, FrameType type, Errand errand) {
    const std::int32_t to = std::exchange(errand.process, from.index);
    for (const auto& member : members_) {
        if (member->index < 0 || member->index != to || !member->link) continue;
        member->link->send(type, encode(errand));
        return;
    }
    if (type != FrameType::Asked) return;
    errand.process = to;
    errand.text = "it has left, or ended";
    from.link->send(FrameType::Refused, encode(errand));
}

void Root::inquire(Member& member, std::uint64_t number) {
    const std::uint64_t id = ++inquiry_number_;
    Inquiry& inquiry = inquiries_[id];
    inquiry.asker = &member;
    inquiry.number = number;
    inquiry.texts.resize(processes_);
    for (const auto& other : members_) {
        if (!other->link || other->index < 0) continue;
        ++inquiry.open;
        other->link->send(FrameType::StatusRequest, encode(id));
    }
    if (inquiry.open == 0) {
        end_inquiry(id);
        return;
    }
    inquiry.timer = executor_->after(kInquirySeconds, [this, id] { end_inquiry(id); });
}

void Root::answer(Member& member, StatusMessage status) {
    const auto found = inquiries_.find(status.number);
    if (found == inquiries_.end() || member.index < 0) return;
    found->second.texts[static_cast<std::size_t>(member.index)] = std::move(status.text);
    if (--found->second.open == 0) end_inquiry(status.number);
}

void Root::end_inquiry(std::uint64_t id) {
    auto node = inquiries_.extract(id);
    if (node.empty()) return;
    Inquiry& inquiry = node.mapped();
    executor_->cancel(inquiry.timer);
    if (inquiry.asker == nullptr || !inquiry.asker->link) return;
    inquiry.asker->link->send(FrameType::StatusReply, encode(StatusReplyMessage{inquiry.number, inquiry.texts}));
}

}  // namespace rondo::bootstrap
