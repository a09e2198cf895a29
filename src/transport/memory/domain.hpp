#pragma once
// The memory that ranks of one communicator share: doorbells, counters, call records, FIFOs. Its members are threads of
// this process, or also ranks of other processes on the same host; each process has a Domain of its own over the same
// segment, which the first of them made. The first cause of a failure is kept in each process.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"
#include "transport/doorbell.hpp"
#include "transport/fifos.hpp"
#include "transport/first_cause.hpp"
#include "transport/memory/directory.hpp"
#include "transport/memory/fifo.hpp"
#include "transport/memory/pull.hpp"
#include "transport/memory/records.hpp"
#include "transport/memory/segment.hpp"

namespace rondo::transport::memory {

inline constexpr int kMaxChannels = 32;
inline constexpr int kMaxCounterTags = 4;

/// A counter that one rank advances and every rank may await. It only grows.
struct alignas(128) Counter {
    std::atomic<std::uint64_t> value{0};
};

/// What is equal in all processes of a domain.
struct Geometry {
    Rank nranks = 0;            ///< of the communicator
    std::vector<Rank> members;  ///< in ascending order
    std::uint32_t slots = 0;
    std::size_t slot_bytes = 0;
};

class Domain final : public FifoSource {
public:
    /// For ranks 0 to nranks-1 as threads of this process.
    Domain(Rank nranks, std::uint32_t slots, std::size_t slot_bytes);
    /// The first process of a domain: makes its segment, to be handed to the others if `shared`. Errors: SystemError.
    Domain(const Geometry& geometry, std::shared_ptr<FirstCause> cause, bool shared);
    /// The other processes. Errors: SystemError; InternalError where the segment was made for another geometry.
    Domain(const Geometry& geometry, std::shared_ptr<FirstCause> cause, Descriptor segment);

    [[nodiscard]] Rank nranks() const noexcept { return nranks_; }
    [[nodiscard]] std::span<const Rank> members() const noexcept { return members_; }
    [[nodiscard]] bool has(Rank rank) const noexcept { return shared_[static_cast<std::size_t>(rank)] != nullptr; }
    [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t slot_bytes() const noexcept override { return slot_bytes_; }
    /// The segment's descriptor, for the other processes; -1 where it is private.
    [[nodiscard]] int descriptor() const noexcept { return segment_.descriptor(); }

    /// Both ends must be members. Takes a lock.
    Fifo& fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) override;

    /// Takes a lock. Only of members.
    std::byte* window(Rank rank) override;
    [[nodiscard]] std::size_t window_bytes() const noexcept override {
        return transport::window_bytes(slots_, slot_bytes_);
    }

    /// Bytes that FIFOs, windows and shared state occupy now.
    [[nodiscard]] std::size_t bytes() const;

    [[nodiscard]] Doorbell& bell(Rank rank) noexcept { return shared(rank).bell; }
    [[nodiscard]] CallRecords& records(Rank rank) noexcept { return shared(rank).records; }
    [[nodiscard]] PullRecord& pull_record(Rank rank) noexcept { return shared(rank).pulls; }
    [[nodiscard]] Counter& counter(int channel, Rank owner, int tag) noexcept {
        return shared(owner)
            .counters[static_cast<std::size_t>(channel) * kMaxCounterTags + static_cast<std::size_t>(tag)];
    }

    /// Advances `counter` to `value` and wakes every sleeper of `owner`'s peers.
    void advance(Counter& counter, std::uint64_t value) noexcept {
        counter.value.store(value, std::memory_order_release);
        for (const Rank rank : members_) shared(rank).bell.notify();
    }

    /// Why the communicator failed, as this process knows it. Whoever sets it then calls ring_all().
    [[nodiscard]] FirstCause& first_cause() noexcept { return *cause_; }
    [[nodiscard]] bool failed() const noexcept { return cause_->failed(); }
    /// Wakes every member that sleeps.
    void ring_all() noexcept;

    // Leases: while a rank is inside a plan that touches its peers' own buffers, it says so, and looks at gone_back()
    // after saying it (seq_cst both). Whoever takes its buffers back and then finds nobody inside knows that no peer
    // will touch them any more. In one process the first cause takes back those of all ranks.

    void enter(Rank rank) noexcept { shared(rank).inside.store(1, std::memory_order_seq_cst); }
    void leave(Rank rank) noexcept { shared(rank).inside.store(0, std::memory_order_release); }
    void take_back(Rank rank) noexcept { shared(rank).taken_back.store(1, std::memory_order_seq_cst); }
    [[nodiscard]] bool gone_back() const noexcept {
        if (failed()) return true;
        return std::ranges::any_of(
            members_, [this](Rank rank) { return shared(rank).taken_back.load(std::memory_order_seq_cst) != 0; });
    }
    [[nodiscard]] bool inside(Rank rank) const noexcept {
        return shared(rank).inside.load(std::memory_order_seq_cst) != 0;
    }

    // Life: a rank that destroyed its communicator will not take part in another call.

    void depart(Rank rank) noexcept;
    [[nodiscard]] bool departed(Rank rank) const noexcept {
        return shared(rank).departed.load(std::memory_order_acquire) != 0;
    }

private:
    struct Shared {
        Doorbell bell;
        CallRecords records;
        PullRecord pulls;
        std::array<Counter, kMaxChannels * kMaxCounterTags> counters;
        alignas(128) std::atomic<std::uint32_t> inside;
        alignas(128) std::atomic<std::uint32_t> taken_back;  // apart from what its rank writes in every call
        std::atomic<std::uint32_t> departed;
    };

    Domain(const Geometry& geometry, std::shared_ptr<FirstCause> cause, Segment segment, bool made_here);

    [[nodiscard]] Shared& shared(Rank rank) const noexcept { return *shared_[static_cast<std::size_t>(rank)]; }

    const Rank nranks_;
    const std::vector<Rank> members_;
    const std::uint32_t slots_;
    const std::size_t slot_bytes_;
    const Segment segment_;
    std::vector<Shared*> shared_;  // by rank; null: not a member
    Directory directory_;

    mutable std::mutex fifos_mutex_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Fifo>> fifos_;

    const std::shared_ptr<FirstCause> cause_;
};

}  // namespace rondo::transport::memory
