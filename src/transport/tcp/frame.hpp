#pragma once
// What travels between two ranks: a stream of frames, each a header of 32 bytes, little endian, and its payload.
//
//   bytes  0- 3  kFrameMark with the kind in the lowest byte
//          4- 7  bytes of payload in this frame
//          8- 9  channel  }
//         10     tag      } of the FIFO
//         11     slot that holds the message; kInLine: its line holds it
//         12-15  data: number of the message; credit: messages released; the lowest 32 bits
//         16-23  signature of the message
//         24-27  bytes of the whole message
//         28-31  offset of the payload in it
//
// A message longer than kPieceBytes is cut into pieces of that length and a rest. Pieces and messages may come in any
// order, for they may come over several connections.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/types.hpp"
#include "transport/memory/fifo.hpp"

namespace rondo::transport::tcp {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kPieceBytes = 64U << 10U;
inline constexpr std::uint32_t kFrameMark = 0x6f446e00U;
inline constexpr std::uint8_t kInLine = 0xff;

/// FIFOs from one rank to another: channels and tags, at most.
inline constexpr std::uint32_t kChannels = 32;
inline constexpr std::uint32_t kTags = 8;

enum class FrameKind : std::uint8_t {
    Data = 1,
    Credit = 2,
    Farewell = 3,  ///< the last frame of a connection: this rank leaves and expects nothing more
};

struct Frame {
    std::uint32_t mark = kFrameMark | static_cast<std::uint32_t>(FrameKind::Data);
    std::uint32_t length = 0;
    std::uint16_t channel = 0;
    std::uint8_t tag = 0;
    std::uint8_t slot = kInLine;
    std::uint32_t sequence = 0;
    std::uint64_t signature = 0;
    std::uint32_t total = 0;
    std::uint32_t offset = 0;

    [[nodiscard]] FrameKind kind() const noexcept { return static_cast<FrameKind>(mark & 0xffU); }
    [[nodiscard]] bool in_slot() const noexcept { return slot != kInLine; }
    bool operator==(const Frame&) const = default;
};

constexpr std::uint32_t mark_of(FrameKind kind) noexcept { return kFrameMark | static_cast<std::uint32_t>(kind); }

/// Writes kHeaderBytes.
void encode(const Frame& frame, std::byte* header) noexcept;
/// Reads kHeaderBytes; any bytes give a frame, which check() then judges.
Frame decode(const std::byte* header) noexcept;

/// What every FIFO has.
struct Geometry {
    std::uint32_t slots = 1;
    std::size_t slot_bytes = 0;
};

/// A field outside its limits.
struct Fault {
    const char* field = "";
    std::uint64_t found = 0;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
};
/// "its slot is 77, allowed are 0 to 3"
std::string text_of(const Fault& fault);

/// Everything about a frame that can be judged without knowing its FIFO. Nothing of a frame is used before.
std::optional<Fault> check(const Frame& frame, const Geometry& geometry) noexcept;

/// What a rank has moved over its connections.
struct Counts {
    std::uint64_t bytes_sent = 0;      ///< headers included
    std::uint64_t bytes_received = 0;  ///< likewise
    std::uint64_t sends = 0;           ///< system calls that sent
    std::uint64_t receives = 0;        ///< system calls that received
};

}  // namespace rondo::transport::tcp
