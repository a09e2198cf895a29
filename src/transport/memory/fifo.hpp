#pragma once
// A FIFO in memory that both ends address: one sender, one receiver, messages in order.
//
// Every message is announced by one line of 128 bytes: a word (sequence and length), the signature of the operation,
// and up to kInline bytes of payload (protocol LL: data and flag travel in one or two cache lines, and the receiver
// reads nothing else). A longer message puts its payload into a slot (protocol Simple); long messages take the slots in
// turn. Which of the two a message uses is computed from its longest possible length by both ends alike.
//
// A Fifo is a view: lines, slots and the receiver's counter lie in memory that both ends map, each at an address of its
// own (FifoMemory); what only one end needs lies in the view. Ends in one process may share one view.
//
// Under way at once are at most `slots` long messages, and at most kLines messages in all (`slots`, where that is
// more): never fewer than the `slots` with which plans are proved, and a FIFO that holds more cannot make a plan block
// that would not block with fewer (Kahn networks: blocking writes only get rarer).
//
// Memory order. Sender: payload and signature with plain stores, then the word with a release store. The receiver loads
// the word (acquire) until it names the expected message; payload and signature are then visible. Receiver: after its
// last read of the payload, `consumed` with a release store; the sender loads it (acquire) before it writes the slot
// again. Each variable has one writer.
// The sender looks at `consumed` only when its cached credits run out: for short messages once per kLines of them, for
// each look costs a cache line's way from the other core.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/line_vector.hpp"
#include "transport/doorbell.hpp"

namespace rondo::transport::memory {

inline constexpr std::size_t kInline = 112;
inline constexpr std::uint32_t kLines = 16;

struct alignas(128) Line {
    std::atomic<std::uint64_t> word{0};
    std::uint64_t signature = 0;
    std::byte payload[kInline] = {};
};
static_assert(sizeof(Line) == 128);

/// Messages consumed; the receiver's, read by the sender.
struct alignas(128) Consumed {
    std::atomic<std::uint64_t> value{0};
};

/// How many lines a FIFO with this number of slots has.
constexpr std::uint32_t line_count(std::uint32_t slots) noexcept { return std::max(slots, kLines); }

/// What both ends of a FIFO map. All of it starts out as zeros.
struct FifoMemory {
    Consumed* consumed = nullptr;
    Line* lines = nullptr;       ///< line_count(slots) of them
    std::byte* slots = nullptr;  ///< null until provide_slots()
};

class Fifo {
public:
    Fifo(std::uint32_t slots, std::size_t slot_bytes, const FifoMemory& memory, Doorbell& sender, Doorbell& receiver)
        : line_count_(memory::line_count(slots)),
          slots_(slots),
          slot_bytes_(slot_bytes),
          sender_bell_(sender),
          receiver_bell_(receiver),
          consumed_(memory.consumed->value),
          lines_(memory.lines),
          data_(memory.slots),
          slot_messages_(slots) {}

    /// Hands over the slots for messages beyond kInline. Not for the hot path: before the first long message.
    void provide_slots(std::byte* slots) noexcept { data_ = slots; }
    [[nodiscard]] bool has_slots() const noexcept { return data_ != nullptr; }

    [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }

    // Sender's end.

    /// True where a message may be written; `inlined` as both ends computed it.
    [[nodiscard]] bool writable(bool inlined) noexcept {
        if (has_room(inlined)) return true;
        credit_ = consumed_.load(std::memory_order_acquire);
        return has_room(inlined);
    }

    /// Where the next message's payload goes. Only when writable().
    [[nodiscard]] std::byte* write_place(bool inlined) noexcept {
        return inlined ? lines_[write_line_].payload : data_ + write_slot_ * slot_bytes_;
    }

    /// Notes that the message under way now reaches to byte `end`; several writes may fill one message.
    void extend(std::size_t end) noexcept {
        if (end > length_) length_ = end;
    }

    /// Announces the message written at write_place(). Returns its length in bytes.
    std::size_t post(bool inlined, std::uint64_t signature) noexcept {
        Line& line = lines_[write_line_];
        const std::size_t length = std::exchange(length_, 0);
        line.signature = signature;
        ++posted_;
        std::uint64_t word = word_of(posted_, length);
        if (!inlined) {
            word |= kInSlot;
            slot_messages_[write_slot_] = posted_;
            write_slot_ = after(write_slot_, slots_);
        }
        line.word.store(word, std::memory_order_release);
        write_line_ = after(write_line_, line_count_);
        receiver_bell_.notify();
        return length;
    }

    // Receiver's end.

    /// True where a message has arrived and not been released.
    [[nodiscard]] bool readable() const noexcept {
        // A fresh line says 0 and an old one an earlier sequence; 2^32 messages lie between equal ones.
        const std::uint64_t word = lines_[read_line_].word.load(std::memory_order_acquire);
        return word >> 32U == ((received_ + 1) & 0xffffffffU);
    }

    [[nodiscard]] const std::byte* read_place(bool inlined) const noexcept {
        return inlined ? lines_[read_line_].payload : data_ + read_slot_ * slot_bytes_;
    }

    /// Length of the message that readable() found.
    [[nodiscard]] std::size_t read_length() const noexcept {
        return length_of(lines_[read_line_].word.load(std::memory_order_relaxed));
    }

    [[nodiscard]] std::uint64_t read_signature() const noexcept { return lines_[read_line_].signature; }

    /// Gives the place of the current message back to the sender.
    void release(bool inlined) noexcept {
        ++received_;
        read_line_ = after(read_line_, line_count_);
        if (!inlined) read_slot_ = after(read_slot_, slots_);
        consumed_.store(received_, std::memory_order_release);
        sender_bell_.notify();
    }

    // Forwarding. A FIFO whose ends have no memory in common has a copy at each end, with one geometry. A forwarder,
    // on the thread of that end, takes the place of the receiver at the sender's copy and that of the sender at the
    // receiver's: it moves each posted message to the same line and slot there, and credits back.

    struct Posted {
        const std::byte* payload = nullptr;
        std::size_t length = 0;
        std::uint64_t signature = 0;
        bool in_slot = false;
    };

    [[nodiscard]] std::uint32_t line_count() const noexcept { return line_count_; }
    [[nodiscard]] std::uint32_t slot_count() const noexcept { return slots_; }
    [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
    [[nodiscard]] std::uint64_t released() const noexcept { return received_; }
    [[nodiscard]] std::uint32_t slot_after(std::uint32_t slot) const noexcept { return after(slot, slots_); }

    /// The posted message `sequence`, counted from 1; `slot` is where it lies if it lies in a slot: the slot after that
    /// of the message in a slot before it. Valid until it is credited.
    [[nodiscard]] Posted peek(std::uint64_t sequence, std::uint32_t slot) const noexcept {
        const Line& line = line_of(sequence);
        const std::uint64_t word = line.word.load(std::memory_order_relaxed);
        const bool in_slot = (word & kInSlot) != 0;
        return {.payload = in_slot ? slot_place(slot) : line.payload,
                .length = length_of(word),
                .signature = line.signature,
                .in_slot = in_slot};
    }

    /// Tells the sender that `consumed` messages have been released.
    void credit(std::uint64_t consumed) noexcept { consumed_.store(consumed, std::memory_order_release); }

    /// Where the payload of message `sequence` goes, before announce(); at most line_count() after released().
    [[nodiscard]] std::byte* line_place(std::uint64_t sequence) noexcept { return line_of(sequence).payload; }
    [[nodiscard]] std::byte* slot_place(std::uint32_t slot) const noexcept { return data_ + slot * slot_bytes_; }

    /// Makes message `sequence` readable; messages are announced in order.
    void announce(std::uint64_t sequence, std::size_t length, bool in_slot, std::uint64_t signature) noexcept {
        Line& line = line_of(sequence);
        line.signature = signature;
        line.word.store(word_of(sequence, length) | (in_slot ? kInSlot : 0), std::memory_order_release);
    }

private:
    [[nodiscard]] Line& line_of(std::uint64_t sequence) const noexcept { return lines_[(sequence - 1) % line_count_]; }

    static std::uint32_t after(std::uint32_t index, std::uint32_t count) noexcept {
        return index + 1 == count ? 0 : index + 1;
    }

    [[nodiscard]] bool has_room(bool inlined) const noexcept {
        return posted_ - credit_ < line_count_ && (inlined || slot_messages_[write_slot_] <= credit_);
    }

    // Of a line's word: the sequence above, the length below, and between them whether the payload is in a slot, for
    // those who forward a message without knowing its plan.
    static constexpr std::uint64_t kInSlot = std::uint64_t{1} << 31U;
    static constexpr std::uint64_t word_of(std::uint64_t sequence, std::size_t length) noexcept {
        return (sequence & 0xffffffffU) << 32U | length;
    }
    static constexpr std::size_t length_of(std::uint64_t word) noexcept { return word & 0x7fffffffU; }

    const std::uint32_t line_count_;
    const std::uint32_t slots_;
    const std::size_t slot_bytes_;
    Doorbell& sender_bell_;
    Doorbell& receiver_bell_;
    std::atomic<std::uint64_t>& consumed_;  // written by the receiver, read by the sender
    Line* const lines_;
    std::byte* data_;
    LineVector<std::uint64_t> slot_messages_;  // the sender's: number of the last message in each slot

    // The sender's own; on lines that the receiver does not touch.
    alignas(128) std::uint64_t posted_ = 0;
    std::uint64_t credit_ = 0;
    std::size_t length_ = 0;
    std::uint32_t write_line_ = 0;
    std::uint32_t write_slot_ = 0;

    // The receiver's own.
    alignas(128) std::uint64_t received_ = 0;
    std::uint32_t read_line_ = 0;
    std::uint32_t read_slot_ = 0;
};

}  // namespace rondo::transport::memory
