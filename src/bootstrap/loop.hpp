#pragma once
// One thread that sleeps in epoll: descriptors, timers, and tasks that other threads post.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/process_descriptor.hpp"

namespace rondo::bootstrap {

class Loop {
public:
    using Task = std::function<void()>;
    using Clock = std::chrono::steady_clock;
    using TimerId = std::uint64_t;  ///< never 0
    /// Gets the EPOLL* bits that came.
    using Handler = std::function<void(std::uint32_t)>;

    Loop() = default;
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;
    ~Loop() { stop(); }

    /// Errors: SystemError.
    void start();
    /// Ends the thread and forgets all tasks, timers and descriptors.
    void stop() noexcept;

    /// From any thread. Tasks run in the order in which they were posted.
    void post(Task task);
    [[nodiscard]] bool on_thread() const noexcept {
        return running_ && ::pthread_equal(::pthread_self(), thread_) != 0;
    }

    // On the thread alone, or while there is none.

    /// Calls `handler` at each of `events` (EPOLLIN, EPOLLOUT) on `fd`. Level-triggered. Errors: SystemError.
    void watch(int fd, std::uint32_t events, Handler handler);
    void change(int fd, std::uint32_t events);
    /// Before `fd` is closed.
    void forget(int fd) noexcept;
    /// Runs `task` once, no sooner than in `seconds`.
    TimerId after(double seconds, Task task);
    /// 0 and timers that have run are no error.
    void cancel(TimerId timer) noexcept;

private:
    struct Watch {
        std::uint64_t number = 0;
        Handler handler;
    };

    static void* run_thread(void* self);
    void start_thread();
    void run();
    void wake() noexcept;
    void dispatch(std::uint64_t number, int fd, std::uint32_t events);
    void run_tasks();
    void run_timers();
    [[nodiscard]] int milliseconds_to_next() const;

    ProcessDescriptor epoll_;
    ProcessDescriptor wake_;
    pthread_t thread_{};
    std::atomic<bool> running_{false};
    std::atomic<bool> stopping_{false};

    std::mutex mutex_;
    std::vector<Task> tasks_;  // under mutex_
    bool ended_ = false;       // under mutex_: tasks are dropped, which else would hold what holds this loop

    std::unordered_map<int, std::shared_ptr<Watch>> watches_;
    std::uint64_t watch_number_ = 0;
    std::map<std::pair<Clock::time_point, TimerId>, Task> timers_;
    std::unordered_map<TimerId, Clock::time_point> timer_times_;
    TimerId timer_number_ = 0;
};

}  // namespace rondo::bootstrap
