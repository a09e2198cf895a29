// The rest of SessionCore: connections to other processes. Where one cannot be called, it is asked by the root to call:
// a firewall may let connections through one way only. It is asked when the own calls have failed, and no connection of
// theirs is under way any more, so that there is never a second one.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "bootstrap/session_core.hpp"

namespace rondo::bootstrap {

namespace {

constexpr double kOwnSeconds = 5;       // for own calls: the kernel tries three times, or twice at two addresses
constexpr double kOwnShare = 0.4;       // and no more than this of all the time there is
constexpr double kAnswerSeconds = 0.5;  // for the answer to come back, beyond the time the other one has
constexpr double kLookSeconds = 0.2;
constexpr double kMostSeconds = 60;

}  // namespace

void SessionCore::connect(std::int32_t process, Hello hello, const Deadline& deadline,
                          const Session::ConnectCallback& callback) {
    const auto refuse = [&](Code code, const std::string& text) {
        gate_.pass([&](Events&) { callback({}, {code, text}); });
    };
    if (closed_) return;
    if (local() || !roster_ || process < 0 || process >= static_cast<std::int32_t>(roster_->processes.size())) {
        refuse(Code::InvalidUsage, fmt::format("process {} cannot be called: {}", process,
                                               local() ? "all ranks are in this process" : "it is not known"));
        return;
    }
    if (hello.purpose == Purpose::Data) {
        wish(process, hello, deadline, callback);
        return;
    }
    call(process, hello, deadline,
         [this, callback](ProcessDescriptor socket, const std::string&, const Failure& failure) {
             gate_.pass([&](Events&) { callback(std::move(socket), failure); });
         });
}

std::shared_ptr<Dialer> SessionCore::start_call(std::int32_t process, const Hello& hello, const Deadline& deadline,
                                                Dialer::Callback callback) {
    const Process& peer = roster_->processes[static_cast<std::size_t>(process)];
    Call call;
    call.hello = hello;
    call.hello.key = identity_.key;
    call.hello.token = introduction_.process.token;
    call.secret = identity_.secret;
    call.deadline = deadline;
    call.whom = roster_->describe(process);
    if (hello.purpose == Purpose::Memory) {
        call.targets.push_back(SocketAddress::abstract_unix(peer.unix_name));
    } else {
        call.targets = targets_of(roster_->contact_of(process));
    }
    auto place = std::make_shared<std::weak_ptr<Dialer>>();
    const auto dialer = Dialer::start(loop_, std::move(call),
                                      [weak = weak_from_this(), callback = std::move(callback), place](
                                          ProcessDescriptor socket, const std::string& text, const Failure& failure) {
                                          const auto self = weak.lock();
                                          if (!self) return;
                                          self->calls_.erase(place->lock());
                                          if (!self->closed_) callback(std::move(socket), text, failure);
                                      });
    *place = dialer;
    calls_.insert(dialer);
    return dialer;
}

void SessionCore::call(std::int32_t process, const Hello& hello, const Deadline& deadline, Dialer::Callback callback) {
    static_cast<void>(start_call(process, hello, deadline, std::move(callback)));
}

void SessionCore::wish(std::int32_t process, const Hello& hello, const Deadline& deadline,
                       const Session::ConnectCallback& callback) {
    const ConnectionName name(process, hello.source, hello.destination, hello.flow);
    Wish& wish = wishes_[name];
    wish.callback = callback;
    wish.deadline = deadline;
    wish.dialer = start_call(process, hello, deadline,
                             [this, name](ProcessDescriptor socket, const std::string&, const Failure& failure) {
                                 if (socket) {
                                     end_wish(name, std::move(socket), {});
                                 } else {
                                     ask(name, failure);
                                 }
                             });
    double own = kOwnSeconds;
    if (!deadline.is_never()) {
        own = std::min(own, kOwnShare * std::chrono::duration<double>(deadline.remaining()).count());
    }
    wish.timer = executor_->after(own, [self = shared_from_this(), name] { self->consider_asking(name); });
}

/// The own calls have had their time. One that has been answered goes on.
void SessionCore::consider_asking(const ConnectionName& name) {
    const auto found = wishes_.find(name);
    if (found == wishes_.end() || !found->second.dialer) return;
    Wish& wish = found->second;
    wish.timer = 0;
    if (!link_ || wish.dialer->answered()) {
        wish.timer = executor_->after(kLookSeconds, [self = shared_from_this(), name] { self->consider_asking(name); });
        return;
    }
    const std::string text = fmt::format("no connection to {} in time: tried {}", roster_->describe(std::get<0>(name)),
                                         wish.dialer->outcomes());
    wish.dialer->cancel();
    calls_.erase(wish.dialer);
    ask(name, {Code::Timeout, text});
}

void SessionCore::ask(const ConnectionName& name, Failure failure) {
    const auto found = wishes_.find(name);
    if (found == wishes_.end()) return;
    Wish& wish = found->second;
    executor_->cancel(std::exchange(wish.timer, 0));
    wish.dialer = nullptr;
    const double left =
        wish.deadline.is_never() ? kOwnSeconds : std::chrono::duration<double>(wish.deadline.remaining()).count();
    if (!link_ || left <= 0) {
        end_wish(name, {}, failure);
        return;
    }
    const auto& [process, source, destination, flow] = name;
    const Errand errand{.process = process,
                        .source = source,
                        .destination = destination,
                        .flow = flow,
                        .milliseconds = static_cast<std::uint32_t>(std::min(left, kMostSeconds) * 1000),
                        .text = {}};
    Runtime::get().logger().info(Subsystem::Init, source, "{}; asking rank {} to call", failure.text, destination);
    wish.failure = std::move(failure);
    wish.timer = executor_->after(std::min(left, kMostSeconds) + kAnswerSeconds, [self = shared_from_this(), name] {
        self->on_refused({.process = std::get<0>(name),
                          .source = std::get<1>(name),
                          .destination = std::get<2>(name),
                          .flow = std::get<3>(name),
                          .text = "it did not answer in time"});
    });
    link_->send(FrameType::Ask, encode(errand));
}

void SessionCore::end_wish(const ConnectionName& name, ProcessDescriptor socket, const Failure& failure) {
    auto node = wishes_.extract(name);
    if (node.empty()) return;
    executor_->cancel(node.mapped().timer);
    gate_.pass([&](Events&) { node.mapped().callback(std::move(socket), failure); });
}

/// True where the connection is one that this process has asked for.
bool SessionCore::fulfil(ProcessDescriptor& socket, const Hello& hello) {
    if (hello.purpose != Purpose::Data || hello.source < 0 || hello.source >= options_.nranks) return false;
    const std::int32_t process = roster_->process_of[static_cast<std::size_t>(hello.source)];
    const ConnectionName name(process, hello.destination, hello.source, hello.flow);
    const auto found = wishes_.find(name);
    if (found == wishes_.end() || found->second.dialer) return false;
    end_wish(name, std::move(socket), {});
    return true;
}

void SessionCore::on_asked(const Errand& errand) {
    if (!roster_ || closed_ || left_ || cause_) return;
    const auto processes = static_cast<std::int32_t>(roster_->processes.size());
    const bool fits = errand.process >= 0 && errand.process < processes && has_rank(errand.destination) &&
                      errand.source >= 0 && errand.source < options_.nranks;
    if (!fits) throw Error(Code::RemoteError, "malformed message: an errand that does not fit");
    Hello hello{
        .purpose = Purpose::Data, .source = errand.destination, .destination = errand.source, .flow = errand.flow};
    call(errand.process, hello, Deadline::after(errand.milliseconds / 1000.0),
         [this, errand](ProcessDescriptor socket, const std::string&, const Failure& failure) {
             if (socket) {
                 // As if the other one had called.
                 Hello theirs{.purpose = Purpose::Data,
                              .source = errand.source,
                              .destination = errand.destination,
                              .flow = errand.flow};
                 theirs.key = identity_.key;
                 theirs.token = roster_->processes[static_cast<std::size_t>(errand.process)].token;
                 gate_.pass([&](Events& events) { events.on_connection(std::move(socket), theirs); });
             } else if (link_) {
                 Errand refusal = errand;
                 refusal.text = failure.text;
                 link_->send(FrameType::Refuse, encode(refusal));
             }
         });
}

void SessionCore::on_refused(const Errand& errand) {
    const ConnectionName name(errand.process, errand.source, errand.destination, errand.flow);
    const auto found = wishes_.find(name);
    if (found == wishes_.end() || found->second.dialer) return;
    const Failure own = found->second.failure;
    end_wish(name, {},
             {own.code, fmt::format("{}; asked to call back, rank {}: {}", own.text, errand.destination, errand.text)});
}

}  // namespace rondo::bootstrap
