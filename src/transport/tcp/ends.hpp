#pragma once
// The two ends of a FIFO that goes over connections: at the sender an Outlet, which cuts posted messages into pieces;
// at the receiver an Inlet, which puts pieces in their places, announces messages in order and owes credits.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "transport/doorbell.hpp"
#include "transport/memory/fifo.hpp"
#include "transport/memory/segment.hpp"
#include "transport/tcp/frame.hpp"

namespace rondo::transport::tcp {

/// A FIFO in memory of this rank alone.
class OwnFifo {
public:
    OwnFifo(const Geometry& geometry, Doorbell& bell);

    [[nodiscard]] memory::Fifo& fifo() noexcept { return fifo_; }
    [[nodiscard]] const memory::Fifo& fifo() const noexcept { return fifo_; }
    /// Memory that nothing has been written to yet takes none. Errors: SystemError.
    void provide_slots();

private:
    const Geometry geometry_;
    std::unique_ptr<memory::Consumed> consumed_;
    std::unique_ptr<memory::Line[]> lines_;
    std::optional<memory::Segment> slots_;
    memory::Fifo fifo_;
};

/// A frame to send, and its payload.
struct Piece {
    Frame frame;
    const std::byte* payload = nullptr;
};

class Outlet {
public:
    Outlet(const Geometry& geometry, Doorbell& bell, std::uint16_t channel, std::uint8_t tag)
        : channel_(channel), tag_(tag), own_(geometry, bell) {}

    [[nodiscard]] OwnFifo& own() noexcept { return own_; }

    /// True where nothing is posted that has not been handed out whole.
    [[nodiscard]] bool empty() const noexcept { return own_.fifo().posted() == sent_; }
    /// The next piece. Only when not empty().
    Piece next() noexcept;
    /// A credit from the receiver. A late one, overtaken on other connections, changes nothing.
    std::optional<Fault> take_credit(const Frame& frame) noexcept;

private:
    const std::uint16_t channel_;
    const std::uint8_t tag_;
    OwnFifo own_;
    std::uint64_t sent_ = 0;      // messages handed out whole
    std::uint64_t credited_ = 0;  // messages that the receiver has released
    memory::Fifo::Posted message_{};
    std::size_t offset_ = 0;  // of the next piece in message_
    std::uint32_t slot_ = 0;  // of the next message in a slot
};

/// Where a piece goes.
struct Arrival {
    std::byte* place = nullptr;
    std::uint64_t sequence = 0;
};

class Inlet {
public:
    Inlet(const Geometry& geometry, Doorbell& bell, std::uint16_t channel, std::uint8_t tag);

    [[nodiscard]] OwnFifo& own() noexcept { return own_; }

    /// Admits a data frame that check() has passed. Errors (thrown): SystemError where memory for slots is short.
    std::variant<Arrival, Fault> admit(const Frame& frame);
    /// The piece has arrived whole: announces what is complete.
    std::optional<Fault> complete(const Frame& frame, const Arrival& arrival) noexcept;

    /// True where a credit should go out now: a slot has come free, or so many lines that fewer than the slots might
    /// otherwise be left.
    [[nodiscard]] bool owes() const noexcept {
        const std::uint64_t released = own_.fifo().released();
        if (released == credited_) return false;
        const std::uint64_t holder = holders_[credit_slot_];
        return released - credited_ >= most_owed_ || (holder > credited_ && holder <= released);
    }
    /// The credit for everything released so far.
    Frame credit() noexcept;

private:
    /// A message of which something has arrived. By line.
    struct Message {
        bool begun = false;
        std::uint8_t slot = kInLine;
        std::uint32_t total = 0;
        std::uint32_t arrived = 0;
        std::uint64_t signature = 0;
    };

    [[nodiscard]] std::size_t line_of(std::uint64_t sequence) const noexcept {
        return static_cast<std::size_t>((sequence - 1) % own_.fifo().line_count());
    }
    std::optional<Fault> begin(const Frame& frame, std::uint64_t sequence);
    [[nodiscard]] std::optional<Fault> compare(const Frame& frame, const Message& message) const noexcept;
    std::optional<Fault> announce() noexcept;

    const std::uint16_t channel_;
    const std::uint8_t tag_;
    OwnFifo own_;
    const std::uint64_t most_owed_;
    const std::size_t words_;  // of marks_ for a line
    std::vector<Message> messages_;
    std::vector<std::uint64_t> marks_;    // a bit for each piece that is here or under way; words_ for each line
    std::vector<std::uint64_t> holders_;  // by slot: the last message in it
    std::uint64_t announced_ = 0;         // messages
    std::uint64_t credited_ = 0;
    std::uint32_t slot_ = 0;         // of the next message in a slot to be announced
    std::uint32_t credit_slot_ = 0;  // of the next message in a slot to be credited
};

}  // namespace rondo::transport::tcp
