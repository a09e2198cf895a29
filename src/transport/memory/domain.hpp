#pragma once
// The memory that the ranks of one communicator share: doorbells, counters, call records, FIFOs, and the first cause of
// a failure. Here ranks are threads of one process, so the domain is an ordinary object that they share.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"
#include "transport/doorbell.hpp"
#include "transport/memory/fifo.hpp"
#include "transport/memory/records.hpp"

namespace rondo::transport::memory {

inline constexpr int kMaxChannels = 32;
inline constexpr int kMaxCounterTags = 4;

/// A counter that one rank advances and every rank may await. It only grows.
struct alignas(128) Counter {
    std::atomic<std::uint64_t> value{0};
};

/// Why a communicator failed, stored once: the first cause.
struct Cause {
    Code code = Code::Success;
    Rank rank = -1;  ///< the rank that met it
    std::string text;
};

class Domain {
public:
    Domain(Rank nranks, std::uint32_t slots, std::size_t slot_bytes);

    [[nodiscard]] Rank nranks() const noexcept { return nranks_; }
    [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }

    /// The FIFO with this identity, made at its first mention. Takes a lock: for binding plans, not for running them.
    /// `long_messages`: provides its slots too.
    Fifo& fifo(int channel, Rank source, Rank destination, int tag, bool long_messages);

    /// Bytes that FIFOs and shared state occupy now.
    [[nodiscard]] std::size_t bytes() const;

    [[nodiscard]] Doorbell& bell(Rank rank) noexcept { return shared(rank).bell; }
    [[nodiscard]] CallRecords& records(Rank rank) noexcept { return shared(rank).records; }
    [[nodiscard]] Counter& counter(int channel, Rank owner, int tag) noexcept {
        return shared(owner)
            .counters[static_cast<std::size_t>(channel) * kMaxCounterTags + static_cast<std::size_t>(tag)];
    }

    /// Advances `counter` to `value` and wakes every sleeper of `owner`'s peers.
    void advance(Counter& counter, std::uint64_t value) noexcept {
        counter.value.store(value, std::memory_order_release);
        for (Rank rank = 0; rank < nranks_; ++rank) shared(rank).bell.notify();
    }

    // Failure. The first cause wins; later ones are dropped.

    /// Stores the cause if none is stored, and wakes everyone. Returns true if this one was the first.
    bool fail(Cause cause);
    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }
    /// The first cause; code Success while there is none.
    [[nodiscard]] Cause cause() const;

    // Leases: while a rank is inside a plan that touches its peers' own buffers, it says so, and looks at failed()
    // after saying it (seq_cst both). Whoever fails the domain and then finds nobody inside knows that no peer will
    // touch its buffers any more.

    void enter(Rank rank) noexcept { shared(rank).inside.store(1, std::memory_order_seq_cst); }
    void leave(Rank rank) noexcept { shared(rank).inside.store(0, std::memory_order_release); }
    [[nodiscard]] bool inside(Rank rank) const noexcept {
        return shared(rank).inside.load(std::memory_order_seq_cst) != 0;
    }

    // Life: a rank that destroyed its communicator will not take part in another call.

    void depart(Rank rank) noexcept;
    [[nodiscard]] bool departed(Rank rank) const noexcept {
        return shared(rank).departed.load(std::memory_order_acquire);
    }

private:
    struct Shared {
        Doorbell bell;
        CallRecords records;
        std::vector<Counter> counters = std::vector<Counter>(kMaxChannels * kMaxCounterTags);
        alignas(128) std::atomic<std::uint32_t> inside{0};
        std::atomic<bool> departed{false};
    };

    [[nodiscard]] Shared& shared(Rank rank) const noexcept { return *shared_[static_cast<std::size_t>(rank)]; }
    void ring_all() noexcept;

    const Rank nranks_;
    const std::uint32_t slots_;
    const std::size_t slot_bytes_;
    std::vector<std::unique_ptr<Shared>> shared_;

    mutable std::mutex fifos_mutex_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Fifo>> fifos_;
    std::size_t long_fifos_ = 0;

    mutable std::mutex cause_mutex_;
    Cause cause_;
    std::atomic<bool> failed_{false};
};

}  // namespace rondo::transport::memory
