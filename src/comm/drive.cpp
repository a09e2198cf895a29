#include "comm/drive.hpp"

#include <chrono>

#include "base/error.hpp"

namespace rondo::comm {

namespace {

/// A job under way.
class Driver {
public:
    explicit Driver(Job& job) : job_(&job) {}

    /// Starts, continues or finishes operations as far as they go. True if anything happened.
    bool step() {
        if (!job_->comm->running()) return start_next();
        if (job_->comm->watch().stopped()) {
            give_up(job_->comm->result());
            return true;
        }
        const bool any = job_->comm->poll();
        if (!job_->comm->running()) note(job_->comm->operation_result());
        return any;
    }

    [[nodiscard]] bool done() const noexcept { return done_; }
    [[nodiscard]] Code result() const noexcept { return job_->failure.code; }
    [[nodiscard]] Communicator& comm() const noexcept { return *job_->comm; }

    void give_up(Code code) noexcept {
        job_->comm->abandon();
        note(code);
        done_ = true;
    }

private:
    bool start_next() {
        if (next_ == job_->operations.size()) {
            done_ = true;
            return true;
        }
        try {
            job_->comm->begin(job_->operations[next_++]);
        } catch (...) {
            // A plan that cannot be found fails this rank alone; its peers must not wait for it.
            const Failure failure = current_failure();
            job_->comm->fail(Error(failure.code, failure.text));
            note(job_->comm->result());
        }
        return true;
    }

    /// A failure that leaves the communicator whole is no reason to keep its peers waiting for the next operation.
    void note(Code code) noexcept {
        if (code == Code::Success) return;
        done_ = job_->comm->result() != Code::Success;
        if (job_->failure.code != Code::Success) return;
        job_->failure.code = code;
        try {
            job_->failure.text = job_->comm->operation_text();
        } catch (...) {
            job_->failure.text.clear();  // no memory for it: the code still tells
        }
    }

    Job* job_;
    std::size_t next_ = 0;
    bool done_ = false;
};

/// A call that fails gives its buffers back like any other: first, no peer may touch them any more.
Code finish(Communicator& comm, Code code) {
    if (comm.result() != Code::Success) comm.revoke();
    return code;
}

}  // namespace

Code run(Communicator& comm, const Operation& operation) {
    comm.begin(operation);
    comm.poll();
    if (!comm.running()) return finish(comm, comm.operation_result());
    transport::Waiter waiter(comm.wait_policy(), comm.bell(), comm.watch());
    while (comm.running()) {
        if (comm.poll()) {
            waiter.restart();
        } else if (const Code code = waiter.pause(); code != Code::Success) {
            comm.abandon();
            return finish(comm, code);
        }
    }
    return finish(comm, comm.operation_result());
}

Code run(std::span<Job> jobs) {
    if (jobs.empty()) return Code::Success;
    std::vector<Driver> drivers(jobs.begin(), jobs.end());
    // One thread can sleep on one bell only. With several communicators it looks at the others every so often.
    transport::WaitPolicy policy = jobs.front().comm->wait_policy();
    if (jobs.size() > 1) policy.tick = std::chrono::milliseconds(1);
    Code first = Code::Success;
    while (true) {
        Driver* blocked = nullptr;
        for (Driver& driver : drivers) {
            if (!driver.done()) blocked = &driver;
        }
        if (blocked == nullptr) break;
        transport::Waiter waiter(policy, blocked->comm().bell(), blocked->comm().watch());
        while (!blocked->done()) {
            bool any = false;
            for (Driver& driver : drivers) {
                while (!driver.done() && driver.step()) any = true;
            }
            if (any) {
                waiter.restart();
            } else if (const Code code = waiter.pause(); code != Code::Success) {
                blocked->give_up(code);
            }
        }
    }
    for (const Driver& driver : drivers) {
        finish(driver.comm(), driver.result());
        if (first == Code::Success) first = driver.result();
    }
    return first;
}

}  // namespace rondo::comm
