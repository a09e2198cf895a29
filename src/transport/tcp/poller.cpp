#include "transport/tcp/poller.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "base/error.hpp"
#include "transport/tcp/flow.hpp"

namespace rondo::transport::tcp {

namespace {

using Events = std::array<epoll_event, 64>;

void mark(const Events& events, int count) noexcept {
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto* flow = static_cast<Flow*>(event.data.ptr);
        if (flow == nullptr) continue;  // the bell
        if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) flow->readable = true;
        if ((event.events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) flow->ending = true;
        if ((event.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) flow->writable = true;
    }
}

}  // namespace

Poller::Poller()
    : epoll_(ProcessDescriptor::open([] { return ::epoll_create1(EPOLL_CLOEXEC); })),
      wake_(ProcessDescriptor::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })),
      epoll_fd_(epoll_.get()),
      wake_fd_(wake_.get()) {
    if (!epoll_ || !wake_) throw make_system_error(errno, "descriptors for waiting on connections (see ulimit -n)");
    // The count is never read: each write is an edge of its own.
    epoll_event event{.events = EPOLLIN | static_cast<std::uint32_t>(EPOLLET), .data = {.ptr = nullptr}};
    if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) != 0) throw make_system_error(errno, "epoll_ctl");
}

void Poller::add(Flow& flow) {
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | static_cast<std::uint32_t>(EPOLLET),
                      .data = {.ptr = &flow}};
    if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, flow.socket(), &event) != 0) {
        throw make_system_error(errno, "epoll_ctl for a connection");
    }
    ++flows_;
}

void Poller::remove(const Flow& flow) noexcept {
    // In a forked child both numbers may be other files' by now.
    const int epoll = epoll_.get();
    if (epoll >= 0 && ::epoll_ctl(epoll, EPOLL_CTL_DEL, flow.socket(), nullptr) == 0) --flows_;
}

void Poller::poll() noexcept {
    if (flows_ == 0) return;
    Events events;
    mark(events, ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), 0));
}

void Poller::wait(std::chrono::nanoseconds longest) noexcept {
    const std::int64_t ns = std::max<std::int64_t>(longest.count(), 0);
    const auto most = static_cast<int>(Events{}.size());
    Events events;
    if (precise_) {
        const timespec time{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
        const int count = ::epoll_pwait2(epoll_fd_, events.data(), most, &time, nullptr);
        if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return mark(events, count);
        precise_ = false;
    }
    const auto ms = static_cast<int>(std::min<std::int64_t>((ns + 999'999) / 1'000'000, INT_MAX));
    mark(events, ::epoll_wait(epoll_fd_, events.data(), most, ms));
}

void Poller::wake() noexcept {
    const std::uint64_t one = 1;
    // It cannot fail but by overflow, after 2^64 wakes.
    [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof(one));
}

}  // namespace rondo::transport::tcp
