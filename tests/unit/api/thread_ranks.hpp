#pragma once
// Ranks as threads for tests of the C interface.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::test {

/// A communicator of `nranks` ranks; destroyed at the end.
class ThreadRanks {
public:
    explicit ThreadRanks(int nranks, double timeout = 20, const char* algo = nullptr)
        : comms_(static_cast<std::size_t>(nranks)) {
        rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
        config.timeout = timeout;
        config.commName = "test";
        config.algo = algo;
        const rondoResult_t result = rondoCommInitAll(comms_.data(), nranks, &config);
        EXPECT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr);
        if (result != rondoSuccess) comms_.clear();
    }
    ThreadRanks(const ThreadRanks&) = delete;
    ThreadRanks& operator=(const ThreadRanks&) = delete;
    ~ThreadRanks() {
        for (const rondoComm_t comm : comms_) {
            if (comm != nullptr) rondoCommDestroy(comm);
        }
    }

    [[nodiscard]] rondoComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }

    /// Destroys one rank's communicator now.
    void destroy(int rank) { rondoCommDestroy(std::exchange(comms_[static_cast<std::size_t>(rank)], nullptr)); }

    /// Runs body(rank, comm) in a thread for each rank.
    template <class Body>
    void run(Body body) {
        std::vector<std::thread> threads;
        for (std::size_t rank = 0; rank < comms_.size(); ++rank) {
            threads.emplace_back([&, rank] { body(static_cast<int>(rank), comms_[rank]); });
        }
        for (std::thread& thread : threads) thread.join();
    }

private:
    std::vector<rondoComm_t> comms_;
};

/// What a call returned, the text it left in its thread, and how long it took.
struct Outcome {
    rondoResult_t result = rondoSuccess;
    std::string text;
    double seconds = 0;
};

template <class Call>
Outcome outcome_of(Call call) {
    const auto began = std::chrono::steady_clock::now();
    Outcome outcome;
    outcome.result = call();
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (outcome.result != rondoSuccess) outcome.text = rondoGetLastError(nullptr);
    return outcome;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace rondo::test
