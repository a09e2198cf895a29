#include "comm/stream.hpp"

#include <utility>

namespace rondo::comm {

Stream::Stream() : thread_([this] { work(); }) {}

Stream::~Stream() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Stream::enqueue(Task task, const std::function<void()>& if_idle) {
    {
        const std::lock_guard lock(mutex_);
        const bool idle = tasks_.empty() && !working_;
        tasks_.push_back(std::move(task));
        if (if_idle && idle) if_idle();
    }
    changed_.notify_all();
}

Failure Stream::synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !working_; });
    return std::exchange(first_failure_, {});
}

Failure Stream::query() {
    const std::lock_guard lock(mutex_);
    if (!tasks_.empty() || working_) return {Code::InProgress, {}};
    return first_failure_;
}

void Stream::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return !tasks_.empty() || ending_; });
        if (tasks_.empty()) return;
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        working_ = true;
        lock.unlock();
        Failure failure = task();
        lock.lock();
        working_ = false;
        if (first_failure_.code == Code::Success) first_failure_ = std::move(failure);
        changed_.notify_all();
    }
}

}  // namespace rondo::comm
