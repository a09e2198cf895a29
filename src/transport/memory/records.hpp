#pragma once
// What each rank is doing, readable by its peers at any time: the last calls with their signatures and buffers.
// Direct plans take the peers' addresses from here; a waiter that has waited long compares calls; errors name them.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace rondo::transport::memory {

/// One call of one rank. `call` is opaque here: the communicator packs its description into it.
struct CallRecord {
    std::uint64_t sequence = 0;  ///< collective calls of the communicator, counted from 1
    std::uint64_t signature = 0;
    const void* input = nullptr;
    void* output = nullptr;
    std::array<std::uint64_t, 2> call{};
};

/// The last kDepth calls of one rank. One writer; readers never block it.
///
/// Memory order (a sequence lock without fences): the writer marks the entry invalid, stores the fields with release
/// and the sequence last with release; a reader loads the sequence, the fields with acquire, and the sequence again. A
/// field from a later call implies, by its acquire, that the second load sees the mark or the later sequence.
class alignas(128) CallRecords {
public:
    static constexpr std::uint64_t kDepth = 16;

    void publish(const CallRecord& record) noexcept {
        Entry& entry = entries_[record.sequence % kDepth];
        entry.sequence.store(0, std::memory_order_relaxed);
        entry.signature.store(record.signature, std::memory_order_release);
        entry.input.store(record.input, std::memory_order_release);
        entry.output.store(record.output, std::memory_order_release);
        entry.call[0].store(record.call[0], std::memory_order_release);
        entry.call[1].store(record.call[1], std::memory_order_release);
        entry.sequence.store(record.sequence, std::memory_order_release);
        latest_.store(record.sequence, std::memory_order_release);
    }

    /// Sequence of the last published call; 0 before the first.
    [[nodiscard]] std::uint64_t latest() const noexcept { return latest_.load(std::memory_order_acquire); }

    /// The call with this sequence, if it is still held.
    [[nodiscard]] std::optional<CallRecord> find(std::uint64_t sequence) const noexcept {
        const Entry& entry = entries_[sequence % kDepth];
        if (entry.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
        const CallRecord record{
            .sequence = sequence,
            .signature = entry.signature.load(std::memory_order_acquire),
            .input = entry.input.load(std::memory_order_acquire),
            .output = entry.output.load(std::memory_order_acquire),
            .call = {entry.call[0].load(std::memory_order_acquire), entry.call[1].load(std::memory_order_acquire)}};
        if (entry.sequence.load(std::memory_order_relaxed) != sequence) return std::nullopt;
        return record;
    }

    // For direct plans, after the owner's entry counter was awaited: the entry cannot change before this rank posts its
    // exit counter, so single loads suffice.
    [[nodiscard]] const void* input(std::uint64_t sequence) const noexcept {
        return entries_[sequence % kDepth].input.load(std::memory_order_relaxed);
    }
    [[nodiscard]] void* output(std::uint64_t sequence) const noexcept {
        return entries_[sequence % kDepth].output.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t signature(std::uint64_t sequence) const noexcept {
        return entries_[sequence % kDepth].signature.load(std::memory_order_relaxed);
    }

private:
    struct alignas(64) Entry {
        std::atomic<std::uint64_t> sequence{0};
        std::atomic<std::uint64_t> signature{0};
        std::atomic<const void*> input{nullptr};
        std::atomic<void*> output{nullptr};
        std::array<std::atomic<std::uint64_t>, 2> call{};
    };
    std::array<Entry, kDepth> entries_{};
    std::atomic<std::uint64_t> latest_{0};
};

}  // namespace rondo::transport::memory
