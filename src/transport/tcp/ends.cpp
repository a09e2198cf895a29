#include "transport/tcp/ends.hpp"

#include <algorithm>

namespace rondo::transport::tcp {

namespace {

/// Credits for messages in lines are sent in bunches. While fewer than this many are owed, the sender has still as much
/// room as it has slots, which is what plans are proved with.
std::uint64_t most_owed(std::uint32_t slots) noexcept {
    const std::uint32_t lines = memory::line_count(slots);
    return std::min(lines / 2, lines - slots + 1);
}

std::size_t mark_words(std::size_t slot_bytes) noexcept {
    return (std::max<std::size_t>(slot_bytes, 1) - 1) / (kPieceBytes * 64) + 1;
}

}  // namespace

OwnFifo::OwnFifo(const Geometry& geometry, Doorbell& bell)
    : geometry_(geometry),
      consumed_(std::make_unique<memory::Consumed>()),
      lines_(std::make_unique<memory::Line[]>(memory::line_count(geometry.slots))),
      fifo_(geometry.slots, geometry.slot_bytes, {.consumed = consumed_.get(), .lines = lines_.get()}, bell, bell) {}

void OwnFifo::provide_slots() {
    if (fifo_.has_slots()) return;
    slots_.emplace(memory::Segment::anonymous(std::max<std::size_t>(geometry_.slots * geometry_.slot_bytes, 1)));
    fifo_.provide_slots(slots_->base());
}

Piece Outlet::next() noexcept {
    if (offset_ == 0) message_ = own_.fifo().peek(sent_ + 1, slot_);
    const std::size_t length = std::min(kPieceBytes, message_.length - offset_);
    const Piece piece{.frame = {.length = static_cast<std::uint32_t>(length),
                                .channel = channel_,
                                .tag = tag_,
                                .slot = message_.in_slot ? static_cast<std::uint8_t>(slot_) : kInLine,
                                .sequence = static_cast<std::uint32_t>(sent_ + 1),
                                .signature = message_.signature,
                                .total = static_cast<std::uint32_t>(message_.length),
                                .offset = static_cast<std::uint32_t>(offset_)},
                      .payload = message_.payload + offset_};
    offset_ += length;
    if (offset_ == message_.length) {
        ++sent_;
        offset_ = 0;
        if (message_.in_slot) slot_ = own_.fifo().slot_after(slot_);
    }
    return piece;
}

std::optional<Fault> Outlet::take_credit(const Frame& frame) noexcept {
    const auto ahead = static_cast<std::int32_t>(frame.sequence - static_cast<std::uint32_t>(credited_));
    if (ahead > 0 && static_cast<std::uint64_t>(ahead) > sent_ - credited_) {
        return Fault{"count of released messages", credited_ + static_cast<std::uint64_t>(ahead), 0, sent_};
    }
    if (ahead <= 0) return std::nullopt;
    credited_ += static_cast<std::uint64_t>(ahead);
    own_.fifo().credit(credited_);
    return std::nullopt;
}

Inlet::Inlet(const Geometry& geometry, Doorbell& bell, std::uint16_t channel, std::uint8_t tag)
    : channel_(channel),
      tag_(tag),
      own_(geometry, bell),
      most_owed_(most_owed(geometry.slots)),
      words_(mark_words(geometry.slot_bytes)),
      messages_(own_.fifo().line_count()),
      marks_(own_.fifo().line_count() * words_),
      holders_(geometry.slots) {}

std::variant<Arrival, Fault> Inlet::admit(const Frame& frame) {
    const std::uint32_t ahead = frame.sequence - static_cast<std::uint32_t>(announced_);
    const std::uint64_t room = own_.fifo().released() + own_.fifo().line_count() - announced_;
    if (ahead == 0 || ahead > room) {
        return Fault{"message number", announced_ + ahead, announced_ + 1, announced_ + room};
    }
    const std::uint64_t sequence = announced_ + ahead;
    const std::size_t line = line_of(sequence);
    if (const auto fault = messages_[line].begun ? compare(frame, messages_[line]) : begin(frame, sequence)) {
        return *fault;
    }
    const std::size_t piece = frame.offset / kPieceBytes;
    std::uint64_t& marks = marks_[line * words_ + piece / 64];
    const std::uint64_t mark = std::uint64_t{1} << (piece % 64);
    if ((marks & mark) != 0) return Fault{"number of pieces at one offset", 2, 1, 1};
    marks |= mark;
    std::byte* base = frame.in_slot() ? own_.fifo().slot_place(frame.slot) : own_.fifo().line_place(sequence);
    return Arrival{base + frame.offset, sequence};
}

std::optional<Fault> Inlet::begin(const Frame& frame, std::uint64_t sequence) {
    if (frame.in_slot()) {
        own_.provide_slots();
        std::uint64_t& holder = holders_[frame.slot];
        if (holder > own_.fifo().released()) return Fault{"number of messages in one slot", 2, 1, 1};
        holder = sequence;
    }
    const std::size_t line = line_of(sequence);
    messages_[line] = {
        .begun = true, .slot = frame.slot, .total = frame.total, .arrived = 0, .signature = frame.signature};
    std::fill_n(marks_.begin() + static_cast<std::ptrdiff_t>(line * words_), words_, 0);
    return std::nullopt;
}

/// All pieces of a message say the same of it.
std::optional<Fault> Inlet::compare(const Frame& frame, const Message& message) const noexcept {
    if (frame.slot != message.slot) return Fault{"slot", frame.slot, message.slot, message.slot};
    if (frame.total != message.total) return Fault{"message length", frame.total, message.total, message.total};
    if (frame.signature != message.signature) {
        return Fault{"signature", frame.signature, message.signature, message.signature};
    }
    return std::nullopt;
}

std::optional<Fault> Inlet::complete(const Frame& frame, const Arrival& arrival) noexcept {
    messages_[line_of(arrival.sequence)].arrived += frame.length;
    return arrival.sequence == announced_ + 1 ? announce() : std::nullopt;
}

std::optional<Fault> Inlet::announce() noexcept {
    while (true) {
        Message& message = messages_[line_of(announced_ + 1)];
        if (!message.begun || message.arrived != message.total) return std::nullopt;
        const bool in_slot = message.slot != kInLine;
        if (in_slot) {
            if (message.slot != slot_) return Fault{"slot", message.slot, slot_, slot_};
            slot_ = own_.fifo().slot_after(slot_);
        }
        ++announced_;
        message.begun = false;
        own_.fifo().announce(announced_, message.total, in_slot, message.signature);
    }
}

Frame Inlet::credit() noexcept {
    const std::uint64_t released = own_.fifo().released();
    for (std::size_t i = 0; i < holders_.size(); ++i) {
        if (holders_[credit_slot_] <= credited_ || holders_[credit_slot_] > released) break;
        credit_slot_ = own_.fifo().slot_after(credit_slot_);
    }
    credited_ = released;
    return {.mark = mark_of(FrameKind::Credit),
            .channel = channel_,
            .tag = tag_,
            .sequence = static_cast<std::uint32_t>(released)};
}

}  // namespace rondo::transport::tcp
