#pragma once
// Where the code of a session runs: on the service thread, or, in a local communicator, on whichever thread has called.
// One task at a time, in the order in which they were posted.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "bootstrap/loop.hpp"

namespace rondo::bootstrap {

class Executor {
public:
    using Task = Loop::Task;
    using TimerId = Loop::TimerId;

    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    /// From any thread.
    virtual void post(Task task) = 0;
    // From tasks of this executor. Without a thread there is no timer: after() returns 0 and the task never runs.
    virtual TimerId after(double seconds, Task task) = 0;
    virtual void cancel(TimerId timer) noexcept = 0;
};

class LoopExecutor final : public Executor {
public:
    explicit LoopExecutor(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}

    void post(Task task) override { loop_->post(std::move(task)); }
    TimerId after(double seconds, Task task) override { return loop_->after(seconds, std::move(task)); }
    void cancel(TimerId timer) noexcept override { loop_->cancel(timer); }

private:
    const std::shared_ptr<Loop> loop_;
};

/// Runs tasks on the posting thread, unless another thread (or this one, further up) runs tasks already: that one runs
/// it then.
class Strand final : public Executor {
public:
    void post(Task task) override {
        {
            const std::lock_guard lock(mutex_);
            tasks_.push_back(std::move(task));
            if (running_) return;
            running_ = true;
        }
        while (run_one()) {}
    }
    TimerId after(double, Task) override { return 0; }
    void cancel(TimerId) noexcept override {}

private:
    bool run_one() {
        Task task;
        {
            const std::lock_guard lock(mutex_);
            if (tasks_.empty()) {
                running_ = false;
                return false;
            }
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        task();
        return true;
    }

    std::mutex mutex_;
    std::deque<Task> tasks_;
    bool running_ = false;
};

}  // namespace rondo::bootstrap
