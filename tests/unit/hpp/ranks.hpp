#pragma once
// Ranks as threads.

#include <exception>
#include <mutex>
#include <rondo/rondo.hpp>
#include <string>
#include <thread>
#include <vector>

namespace rondo_test {

/// Runs `body(communicator)` on each rank of a communicator in a thread of its own; rethrows the first exception.
template <class Body>
void on_ranks(int nranks, Body&& body, const rondo::Config& config = {}) {
    const rondoUniqueId id = rondo::unique_id();
    std::mutex mutex;
    std::exception_ptr first;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < nranks; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                rondo::Communicator comm = rondo::Communicator::init_rank(nranks, id, rank, config);
                body(comm);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!first) first = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    if (first) std::rethrow_exception(first);
}

/// The error that `call` throws; Error(rondoSuccess, "") if it throws none.
template <class Call>
rondo::Error error_of(Call&& call) {
    try {
        call();
    } catch (const rondo::Error& error) {
        return error;
    }
    return rondo::Error(rondoSuccess, "");
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace rondo_test
