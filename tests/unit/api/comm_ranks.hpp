#pragma once
// Ranks of one communicator as threads, through the C interface.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::api::test {

inline rondoConfig_t config() { return RONDO_CONFIG_INITIALIZER; }

inline rondoConfig_t with_timeout(double seconds) {
    rondoConfig_t made = config();
    made.timeout = seconds;
    return made;
}

/// The state of a communicator whose init does not block, once it is over.
inline rondoResult_t settled_state(rondoComm_t comm) {
    rondoResult_t state = rondoInProgress;
    while (state == rondoInProgress) {
        EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return state;
}

/// An enumeration's variable with any number in it, as C programs may pass it.
template <class Enum>
Enum raw(int value) {
    Enum made;
    static_assert(sizeof(made) == sizeof(value));
    std::memcpy(&made, &value, sizeof(made));
    return made;
}

/// The seed of tests that draw at random, from RONDO_TESTS_SEED.
inline unsigned seed() {
    const char* text = std::getenv("RONDO_TESTS_SEED");
    return text == nullptr ? 1 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// The handles of all ranks of a communicator; destroyed at the end.
class Ranks {
public:
    explicit Ranks(int count, const rondoConfig_t& how = config()) : comms_(static_cast<std::size_t>(count)) {
        const rondoResult_t result = rondoCommInitAll(comms_.data(), count, &how);
        if (result != rondoSuccess) {
            ADD_FAILURE() << rondoGetLastError(nullptr);
            std::abort();  // no test can go on, and its threads would use null handles
        }
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;
    ~Ranks() {
        for (rondoComm_t comm : comms_) {
            if (comm == nullptr) continue;
            EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess) << rondoGetLastError(nullptr);
        }
    }

    [[nodiscard]] int count() const { return static_cast<int>(comms_.size()); }
    [[nodiscard]] rondoComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }

    /// Destroys one rank's handle early.
    rondoResult_t destroy(int rank) {
        return rondoCommDestroy(std::exchange(comms_[static_cast<std::size_t>(rank)], nullptr));
    }

    /// body(rank, comm) on a thread for each rank.
    template <class Body>
    void run(Body body) const {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < count(); ++rank) {
            threads.emplace_back([this, rank, &body] { body(rank, (*this)[rank]); });
        }
        for (std::thread& thread : threads) thread.join();
    }

private:
    std::vector<rondoComm_t> comms_;
};

/// What a call returned, what it said (in its thread), and how long it took.
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
    outcome.text = rondoGetLastError(nullptr);
    return outcome;
}

inline void expect(const Outcome& outcome, rondoResult_t result, std::initializer_list<std::string> parts = {}) {
    EXPECT_EQ(outcome.result, result) << rondoGetErrorString(outcome.result) << ": " << outcome.text;
    for (const std::string& part : parts) {
        EXPECT_NE(outcome.text.find(part), std::string::npos) << "no \"" << part << "\" in: " << outcome.text;
    }
}

}  // namespace rondo::api::test
