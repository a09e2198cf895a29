#pragma once
// Groups: calls between start and end are collected and run together at the outermost end. A group belongs to a thread.

#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/drive.hpp"
#include "comm/stream.hpp"

namespace rondo::comm {

class Group {
public:
    /// The group of the calling thread.
    static Group& current();

    [[nodiscard]] bool open() const noexcept { return depth_ > 0; }

    void start() noexcept { ++depth_; }

    /// A collective call or one transfer, in the order of the user's calls. `stream` null: runs in end().
    void add(Communicator& comm, Operation operation, Stream* stream);
    /// An init whose other ranks end() waits for.
    void add_init(Communicator& comm) { inits_.push_back(&comm); }
    /// True where calls of the communicator, or on the stream, wait for the end of the group.
    [[nodiscard]] bool holds(const Communicator& comm) const noexcept;
    [[nodiscard]] bool holds(const Stream& stream) const noexcept;
    /// A call inside the group failed: end() will run nothing and report this.
    void note_failure(const Error& error);

    /// Ends one level; at the outermost runs everything. Errors (thrown): InvalidUsage without a start; the first
    /// failure of a call inside; what running throws.
    void end();

private:
    /// What runs on one stream, or (null) on the calling thread.
    struct Batch {
        Stream* stream = nullptr;
        std::vector<Job> jobs;
    };

    Job& job_for(Communicator& comm, Stream* stream);
    void launch(Batch& batch);

    int depth_ = 0;
    std::vector<Communicator*> inits_;
    std::vector<Batch> batches_;
    Failure failure_;
};

/// Runs an operation now (stream null), on the stream, or with the open group. Errors (thrown): as Communicator::begin,
/// and the first cause if the operation fails.
void submit(Communicator& comm, Operation&& operation, Stream* stream);

}  // namespace rondo::comm
