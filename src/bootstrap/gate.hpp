#pragma once
// The way from a session to its owner, which the owner can shut.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "bootstrap/session.hpp"

namespace rondo::bootstrap {

class Gate {
public:
    explicit Gate(Events& events) : events_(events) {}

    /// Runs `body(events)` unless the gate is shut; no lock is held meanwhile. One caller at a time.
    template <class Body>
    void pass(Body&& body) {
        {
            const std::lock_guard lock(mutex_);
            if (shut_) return;
            inside_ = true;
            thread_ = std::this_thread::get_id();
        }
        const Leave leave{*this};
        body(events_);
    }

    /// Nobody passes any more; waits until nobody is inside, except this thread itself.
    void shut() {
        std::unique_lock lock(mutex_);
        shut_ = true;
        changed_.wait(lock, [this] { return !inside_ || thread_ == std::this_thread::get_id(); });
    }

private:
    struct Leave {
        Gate& gate;
        ~Leave() {
            const std::lock_guard lock(gate.mutex_);
            gate.inside_ = false;
            gate.changed_.notify_all();
        }
    };

    Events& events_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool shut_ = false;
    bool inside_ = false;
    std::thread::id thread_;
};

}  // namespace rondo::bootstrap
