#include "bootstrap/loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/runtime.hpp"

namespace rondo::bootstrap {

namespace {

constexpr std::size_t kStackBytes = 256U << 10U;
constexpr int kEventsAtOnce = 128;

}  // namespace

void Loop::start() {
    epoll_ = ProcessDescriptor::open([] { return ::epoll_create1(EPOLL_CLOEXEC); });
    if (!epoll_) throw make_system_error(errno, "epoll_create of the service thread");
    wake_ = ProcessDescriptor::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (!wake_) throw make_system_error(errno, "eventfd of the service thread");
    watch(wake_.get(), EPOLLIN, [this](std::uint32_t) {
        std::uint64_t count = 0;
        static_cast<void>(::read(wake_.get(), &count, sizeof count) == sizeof count);
    });
    start_thread();
}

void Loop::start_thread() {
    // Signals belong to the threads of the program.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, kStackBytes);
    running_ = true;
    stopping_ = false;
    int error = ::pthread_create(&thread_, &attributes, &Loop::run_thread, this);
    // The thread-local variables of a large program may not fit.
    if (error == EINVAL) error = ::pthread_create(&thread_, nullptr, &Loop::run_thread, this);
    ::pthread_attr_destroy(&attributes);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error == 0) return;
    running_ = false;
    throw make_system_error(error, "pthread_create of the service thread");
}

void* Loop::run_thread(void* self) {
    ::pthread_setname_np(::pthread_self(), "rondo-service");
    static_cast<Loop*>(self)->run();
    return nullptr;
}

void Loop::stop() noexcept {
    if (running_) {
        stopping_ = true;
        wake();
        ::pthread_join(thread_, nullptr);
        running_ = false;
    }
    std::vector<Task> tasks;
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        tasks.swap(tasks_);
    }
    // What is destroyed here may call post(), forget() and cancel().
    const auto timers = std::exchange(timers_, {});
    const auto watches = std::exchange(watches_, {});
}

void Loop::post(Task task) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        if (ended_) return;
        first = tasks_.empty();
        tasks_.push_back(std::move(task));
    }
    if (first) wake();
}

void Loop::wake() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

void Loop::watch(int fd, std::uint32_t events, Handler handler) {
    auto watch = std::make_shared<Watch>(Watch{++watch_number_, std::move(handler)});
    epoll_event event{};
    event.events = events;
    // The number tells an event of this watch from a late one of an earlier watch on the same descriptor number.
    event.data.u64 = watch->number << 32U | static_cast<std::uint32_t>(fd);
    watches_[fd] = std::move(watch);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
    const int error = errno;
    watches_.erase(fd);
    throw make_system_error(error, "epoll_ctl of descriptor {}", fd);
}

void Loop::change(int fd, std::uint32_t events) {
    const auto found = watches_.find(fd);
    if (found == watches_.end()) return;
    epoll_event event{};
    event.events = events;
    event.data.u64 = found->second->number << 32U | static_cast<std::uint32_t>(fd);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::forget(int fd) noexcept {
    if (watches_.erase(fd) == 0) return;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Loop::TimerId Loop::after(double seconds, Task task) {
    const TimerId id = ++timer_number_;
    const auto at = Deadline::after(seconds).at();
    timers_.emplace(std::pair(at, id), std::move(task));
    timer_times_[id] = at;
    return id;
}

void Loop::cancel(TimerId timer) noexcept {
    const auto found = timer_times_.find(timer);
    if (found == timer_times_.end()) return;
    timers_.erase({found->second, timer});
    timer_times_.erase(found);
}

void Loop::run() {
    std::array<epoll_event, kEventsAtOnce> events{};
    while (!stopping_) {
        const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, milliseconds_to_next());
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            dispatch(event.data.u64 >> 32U, static_cast<int>(event.data.u64 & 0xffffffffU), event.events);
        }
        run_tasks();
        run_timers();
    }
}

void Loop::dispatch(std::uint64_t number, int fd, std::uint32_t events) {
    const auto found = watches_.find(fd);
    if (found == watches_.end() || (found->second->number & 0xffffffffU) != number) return;
    const std::shared_ptr<Watch> watch = found->second;  // the handler may forget itself
    watch->handler(events);
}

void Loop::run_tasks() {
    std::vector<Task> tasks;
    {
        const std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
    }
    for (Task& task : tasks) {
        if (stopping_) return;
        std::exchange(task, {})();
    }
}

void Loop::run_timers() {
    const Clock::time_point now = Clock::now();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
        auto node = timers_.extract(timers_.begin());
        timer_times_.erase(node.key().second);
        node.mapped()();
    }
}

int Loop::milliseconds_to_next() const {
    if (timers_.empty()) return -1;
    const auto left = timers_.begin()->first.first - Clock::now();
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, std::numeric_limits<int>::max()));
}

}  // namespace rondo::bootstrap
