#include "transport/tcp/frame.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace rondo::transport::tcp {

namespace {

template <class Word>
void put(std::byte*& at, Word word) noexcept {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
        at[i] = static_cast<std::byte>(static_cast<std::uint64_t>(word) >> (8 * i));
    }
    at += sizeof(Word);
}

template <class Word>
void get(const std::byte*& at, Word& word) noexcept {
    std::uint64_t wide = 0;
    for (std::size_t i = 0; i < sizeof(Word); ++i) wide |= static_cast<std::uint64_t>(at[i]) << (8 * i);
    word = static_cast<Word>(wide);
    at += sizeof(Word);
}

std::optional<Fault> outside(const char* field, std::uint64_t found, std::uint64_t least, std::uint64_t most) noexcept {
    if (found >= least && found <= most) return std::nullopt;
    return Fault{field, found, least, most};
}

std::optional<Fault> check_data(const Frame& frame, const Geometry& geometry) noexcept {
    if (frame.in_slot()) {
        if (auto fault = outside("slot", frame.slot, 0, geometry.slots - 1)) return fault;
    }
    const std::size_t most = frame.in_slot() ? geometry.slot_bytes : memory::kInline;
    if (auto fault = outside("message length", frame.total, 0, most)) return fault;
    // The last piece begins before the end; a message of no bytes has one piece.
    const std::uint64_t last = frame.total == 0 ? 0 : (frame.total - 1) / kPieceBytes * kPieceBytes;
    if (auto fault = outside("offset", frame.offset, 0, last)) return fault;
    if (frame.offset % kPieceBytes != 0) {
        const std::uint64_t begin = frame.offset / kPieceBytes * kPieceBytes;
        return Fault{"offset", frame.offset, begin, begin};
    }
    const std::uint64_t length = std::min<std::uint64_t>(kPieceBytes, frame.total - frame.offset);
    return outside("payload length", frame.length, length, length);
}

}  // namespace

void encode(const Frame& frame, std::byte* header) noexcept {
    put(header, frame.mark);
    put(header, frame.length);
    put(header, frame.channel);
    put(header, frame.tag);
    put(header, frame.slot);
    put(header, frame.sequence);
    put(header, frame.signature);
    put(header, frame.total);
    put(header, frame.offset);
}

Frame decode(const std::byte* header) noexcept {
    Frame frame;
    get(header, frame.mark);
    get(header, frame.length);
    get(header, frame.channel);
    get(header, frame.tag);
    get(header, frame.slot);
    get(header, frame.sequence);
    get(header, frame.signature);
    get(header, frame.total);
    get(header, frame.offset);
    return frame;
}

std::string text_of(const Fault& fault) {
    if (fault.least == fault.most) {
        return fmt::format("its {} is {}, it must be {}", fault.field, fault.found, fault.least);
    }
    return fmt::format("its {} is {}, allowed are {} to {}", fault.field, fault.found, fault.least, fault.most);
}

std::optional<Fault> check(const Frame& frame, const Geometry& geometry) noexcept {
    constexpr std::uint32_t kMark = 0xffffff00U;
    if (auto fault = outside("mark", frame.mark & kMark, kFrameMark, kFrameMark)) return fault;
    const auto kind = static_cast<std::uint64_t>(frame.kind());
    if (auto fault = outside("kind", kind, static_cast<std::uint64_t>(FrameKind::Data),
                             static_cast<std::uint64_t>(FrameKind::Farewell))) {
        return fault;
    }
    if (auto fault = outside("channel", frame.channel, 0, kChannels - 1)) return fault;
    if (auto fault = outside("tag", frame.tag, 0, kTags - 1)) return fault;
    if (frame.kind() == FrameKind::Data) return check_data(frame, geometry);
    if (auto fault = outside("slot", frame.slot, kInLine, kInLine)) return fault;
    if (auto fault = outside("message length", frame.total, 0, 0)) return fault;
    if (auto fault = outside("offset", frame.offset, 0, 0)) return fault;
    return outside("payload length", frame.length, 0, 0);
}

}  // namespace rondo::transport::tcp
