#pragma once
// A host stream: a thread that runs tasks in the order in which they were queued.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.hpp"

namespace rondo::comm {

class Stream {
public:
    using Task = std::function<Failure()>;  ///< code Success: none

    Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    /// Waits for what is queued.
    ~Stream();

    /// Where nothing else is queued and nothing runs, `if_idle` (which throws nothing) is called before the task
    /// begins.
    void enqueue(Task task, const std::function<void()>& if_idle = nullptr);
    /// Waits for what is queued. Returns the first failure since the last call, and forgets it.
    Failure synchronize();
    /// Code InProgress while anything is queued or runs, else the first failure so far.
    Failure query();

private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    bool working_ = false;
    bool ending_ = false;
    Failure first_failure_;
    std::thread thread_;
};

}  // namespace rondo::comm
