#pragma once
// What a waiting rank looks at: the communicator's failure, its deadline, its peers' calls and their life.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "comm/options.hpp"
#include "host/execution.hpp"
#include "transport/wait.hpp"

namespace rondo::comm {

class CallWatch final : public transport::Watch {
public:
    CallWatch(transport::memory::Domain& domain, Rank rank, const Options& options, const host::Execution& execution)
        : domain_(domain), rank_(rank), options_(options), execution_(execution) {}

    /// A collective call, or with sequence 0 a group of transfers, begins.
    void begin(std::uint64_t sequence, const PackedCall& call) noexcept {
        sequence_ = sequence;
        call_ = call;
        warned_ = false;
    }

    [[nodiscard]] bool stopped() const noexcept override { return domain_.failed(); }
    Code examine(std::chrono::nanoseconds waited) noexcept override;

    /// Fails the communicator because a peer makes another call than this rank.
    void report(const host::Disagreement& found);

    /// "call 12 all_reduce(sum, float, count 4)" or "send/recv".
    [[nodiscard]] std::string current() const;

private:
    Code check(double seconds);
    bool mismatch_found();
    bool calls_differ(Rank peer, std::uint64_t sequence);
    bool departure_found();
    void report_timeout(double seconds);
    void warn_stall(double seconds);
    [[nodiscard]] std::string progress_text() const;
    Code fail(Code code, const std::string& text);

    transport::memory::Domain& domain_;
    const Rank rank_;
    const Options& options_;
    const host::Execution& execution_;
    std::uint64_t sequence_ = 0;
    PackedCall call_{};
    bool warned_ = false;
};

/// The result that this rank reports for a failure: the first cause's code, seen from `rank`.
Code code_seen_by(Rank rank, const transport::memory::Cause& cause) noexcept;

}  // namespace rondo::comm
