#include "comm/group.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace rondo::comm {

namespace {

/// Tagged messages alone, of one communicator: they wait beside its other operations.
bool runs_beside(const std::vector<Job>& jobs) {
    if (jobs.size() != 1 || jobs.front().operations.size() != 1) return false;
    const Operation& operation = jobs.front().operations.front();
    return operation.transfers.empty() && !operation.messages.empty();
}

/// Enters the communicators of all jobs.
std::vector<std::unique_ptr<Communicator::Presence>> enter(const std::vector<Job>& jobs) {
    std::vector<std::unique_ptr<Communicator::Presence>> present;
    for (const Job& job : jobs) present.push_back(std::make_unique<Communicator::Presence>(*job.comm));
    return present;
}

/// Queues messages on a stream. Where nothing is before them they begin now, so that messages on idle streams are in
/// the order of their calls.
void enqueue_beside(Stream& stream, const Job& job) {
    Communicator& comm = *job.comm;
    const Communicator::Presence present(comm);
    auto batch = std::make_shared<MessageBatch>(job.operations.front().messages);
    auto submitted = std::make_shared<bool>(false);
    const auto submit = [&comm, batch, submitted]() noexcept {
        if (!*submitted) comm.submit(*batch);
        *submitted = true;
    };
    const auto wait = [&comm, batch, submit, patience = comm.patience()] {
        submit();
        const Code code = comm.wait_beside(*batch, patience);
        Failure failure = code == Code::Success ? batch->take_failure() : Failure{code, comm.error_text()};
        comm.leave_beside();
        return failure;
    };
    comm.enter_beside();
    stream.enqueue(wait, submit);
}

/// Queues jobs on a stream. Each communicator's turn is taken now, in the order of calls; while this thread is inside
/// all of them, so that turns and places in queues are in the same order everywhere.
void enqueue(Stream& stream, std::vector<Job> jobs) {
    if (runs_beside(jobs)) {
        enqueue_beside(stream, jobs.front());
        return;
    }
    const auto present = enter(jobs);
    std::vector<std::uint64_t> tickets;
    for (const Job& job : jobs) tickets.push_back(job.comm->take_ticket());
    stream.enqueue([jobs = std::move(jobs), tickets = std::move(tickets)]() mutable {
        for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].comm->await_turn(tickets[i]);
        static_cast<void>(run(jobs));
        Failure failure;
        for (Job& job : jobs) {
            if (failure.code == Code::Success) failure = std::move(job.failure);
            job.comm->turn_done();
        }
        return failure;
    });
}

}  // namespace

Group& Group::current() {
    thread_local Group group;
    return group;
}

void Group::add(Communicator& comm, Operation operation, Stream* stream) {
    Job& job = job_for(comm, stream);
    if (operation.point_to_point()) {
        // All transfers of a communicator run as one operation, before its collectives.
        if (job.operations.empty() || !job.operations.front().point_to_point()) {
            job.operations.insert(job.operations.begin(), std::move(operation));
        } else {
            Operation& all = job.operations.front();
            all.transfers.insert(all.transfers.end(), operation.transfers.begin(), operation.transfers.end());
            all.messages.insert(all.messages.end(), operation.messages.begin(), operation.messages.end());
        }
        return;
    }
    job.operations.push_back(std::move(operation));
}

Job& Group::job_for(Communicator& comm, Stream* stream) {
    auto batch = std::ranges::find(batches_, stream, &Batch::stream);
    if (batch == batches_.end()) batch = batches_.insert(batch, Batch{stream, {}});
    auto job = std::ranges::find(batch->jobs, &comm, &Job::comm);
    if (job == batch->jobs.end()) job = batch->jobs.insert(job, Job{&comm, {}});
    return *job;
}

bool Group::holds(const Communicator& comm) const noexcept {
    const auto of_comm = [&](const Job& job) { return job.comm == &comm; };
    return std::ranges::find(inits_, &comm) != inits_.end() ||
           std::ranges::any_of(batches_, [&](const Batch& batch) { return std::ranges::any_of(batch.jobs, of_comm); });
}

bool Group::holds(const Stream& stream) const noexcept {
    return std::ranges::any_of(batches_, [&](const Batch& batch) { return batch.stream == &stream; });
}

void Group::note_failure(const Error& error) {
    if (failure_.code == Code::Success) failure_ = {error.code(), error.what()};
}

void Group::end() {
    if (depth_ == 0) throw Error(Code::InvalidUsage, "rondoGroupEnd without rondoGroupStart in this thread");
    if (--depth_ > 0) return;
    const Failure failure = std::exchange(failure_, {});
    const std::vector<Communicator*> inits = std::exchange(inits_, {});
    std::vector<Batch> batches = std::exchange(batches_, {});
    if (failure.code != Code::Success) throw Error(failure.code, "a call in this group failed: " + failure.text);
    for (Communicator* comm : inits) comm->wait_until_joined();
    // Streams first: what runs on this thread may wait for what runs there.
    std::stable_partition(batches.begin(), batches.end(), [](const Batch& batch) { return batch.stream != nullptr; });
    for (Batch& batch : batches) launch(batch);
}

void Group::launch(Batch& batch) {
    if (batch.stream != nullptr) {
        enqueue(*batch.stream, std::move(batch.jobs));
        return;
    }
    const auto present = enter(batch.jobs);
    for (const Job& job : batch.jobs) job.comm->drain();
    if (run(batch.jobs) == Code::Success) return;
    for (const Job& job : batch.jobs) {
        if (job.failure.code != Code::Success) throw Error(job.failure.code, job.failure.text);
    }
}

void submit(Communicator& comm, Operation&& operation, Stream* stream) {
    if (Group::current().open()) {
        Group::current().add(comm, std::move(operation), stream);
    } else if (stream != nullptr) {
        std::vector<Job> jobs(1);
        jobs[0].comm = &comm;
        jobs[0].operations.push_back(std::move(operation));
        enqueue(*stream, std::move(jobs));
    } else {
        const Communicator::Presence present(comm);
        comm.drain();
        const Code code = run(comm, operation);
        if (code != Code::Success) throw Error(code, comm.operation_text());
    }
}

}  // namespace rondo::comm
