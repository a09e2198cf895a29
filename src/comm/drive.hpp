#pragma once
// Running operations to their end on the calling thread, for one communicator or several at once.

#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace rondo::comm {

/// The operations that one communicator is to run, in order.
struct Job {
    Communicator* comm = nullptr;
    std::vector<Operation> operations;
    Failure failure{};  ///< the first, once it has run
};

/// Runs one operation to its end. Returns Success, or the first cause of the communicator's failure.
/// Errors (thrown): what Communicator::begin throws.
Code run(Communicator& comm, const Operation& operation);

/// Runs all jobs side by side, each communicator's operations in order, so that ranks driven by one thread can wait for
/// each other. Returns the first failure; a communicator that fails ends its own job only. Throws nothing.
Code run(std::span<Job> jobs);

}  // namespace rondo::comm
