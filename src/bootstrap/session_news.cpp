// The rest of SessionCore: failures after the root has left. A process that finds one then calls all others itself.

#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/session_core.hpp"

namespace rondo::bootstrap {

namespace {

constexpr double kNewsSeconds = 3;  // for a process to take them
constexpr std::size_t kCallsAtOnce = 16;

}  // namespace

/// Calls those that have not left, beginning with the next process, so that many that do the same meet few at once.
void SessionCore::spread(const Cause& cause) {
    if (!roster_ || !going_ || local()) return;
    const auto count = static_cast<std::int32_t>(roster_->processes.size());
    for (std::int32_t i = 1; i < count; ++i) {
        const std::int32_t process = (roster_->self + i) % count;
        if (!all_departed(process)) to_tell_.push_back(process);
    }
    const Payload news = make_payload(encode(cause));
    while (telling_.size() < kCallsAtOnce && !to_tell_.empty()) tell_next(news);
}

void SessionCore::tell_next(const Payload& news) {
    const std::int32_t process = to_tell_.front();
    to_tell_.pop_front();
    Call call;
    call.targets = targets_of(roster_->contact_of(process));
    call.hello.purpose = Purpose::News;
    call.hello.key = identity_.key;
    call.hello.token = introduction_.process.token;
    call.hello.source = ranks_.front();
    call.hello.destination = roster_->ranks_of(process).front();
    call.secret = identity_.secret;
    call.deadline = Deadline::after(kNewsSeconds);
    call.whom = roster_->describe(process);
    auto place = std::make_shared<std::weak_ptr<Dialer>>();
    const auto dialer =
        Dialer::start(loop_, std::move(call),
                      [self = shared_from_this(), news, place](ProcessDescriptor socket, const std::string& peer,
                                                               const Failure& failure) {
                          if (socket) {
                              const auto link = make_socket_link(self->loop_, std::move(socket), peer);
                              link->send(FrameType::Failure, news);
                              link->close();  // the loop keeps it until the other side has read all
                          } else {
                              Runtime::get().logger().info(Subsystem::Init, self->ranks_.front(),
                                                           "a failure could not be told: {}", failure.text);
                          }
                          self->told(place->lock(), news);
                      });
    *place = dialer;
    telling_.insert(dialer);
}

void SessionCore::told(const std::shared_ptr<Dialer>& dialer, const Payload& news) {
    telling_.erase(dialer);
    if (!to_tell_.empty()) tell_next(news);
    if (!telling_.empty()) return;
    for (const Executor::Task& task : std::exchange(when_told_, {})) task();
}

void SessionCore::when_told(Executor::Task task) {
    if (telling_.empty()) {
        task();
    } else {
        when_told_.push_back(std::move(task));
    }
}

/// One that calls has found a failure.
void SessionCore::take_news(ProcessDescriptor socket) {
    auto link = make_socket_link(loop_, std::move(socket), "a process of the communicator");
    const std::weak_ptr<Link> weak_link = link;
    const auto drop = [weak = weak_from_this(), weak_link] {
        const auto self = weak.lock();
        const auto ended = weak_link.lock();
        // It may be in the middle of a callback: it goes later.
        if (self && ended && self->news_.erase(ended) != 0) self->executor_->post([ended] {});
    };
    link->receive(
        [weak = weak_from_this(), drop](FrameType type, std::string_view payload) {
            const auto self = weak.lock();
            if (!self || type != FrameType::Failure) return drop();
            try {
                self->deliver(decode_cause(payload));
            } catch (const Error& error) {
                Runtime::get().logger().warn(self->ranks_.front(), "news that make no sense: {}", error.what());
            }
            drop();
        },
        [drop](const std::string&) { drop(); });
    news_.insert(std::move(link));
}

}  // namespace rondo::bootstrap
