#pragma once
// Where in a segment the FIFOs and windows of a domain lie. Whichever end mentions a FIFO first claims its entry and
// takes memory for it; the other end, perhaps in another process, finds it there. No lock: an end that dies leaves at
// worst one entry that nobody can use, and then its peers have failed with it anyway.
//
// Memory order. An entry's key is claimed by compare-and-swap and never changes. A place is claimed by a
// compare-and-swap from 0 to kClaimed, and published by a release store of the offset; whoever loads the offset
// (acquire) sees memory that is reserved.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/memory/fifo.hpp"
#include "transport/memory/segment.hpp"

namespace rondo::transport::memory {

class Directory {
public:
    /// Bytes of a segment for `members` ranks with FIFOs of this size and `window` bytes each, of which `before` bytes
    /// at its beginning serve something else. Most of them are never touched.
    static std::size_t segment_bytes(std::size_t before, std::size_t members, std::uint32_t slots,
                                     std::size_t slot_bytes, std::size_t window) noexcept;

    /// The directory that starts `before` bytes into the segment.
    Directory(const Segment& segment, std::size_t before, std::size_t members, std::uint32_t slots,
              std::size_t slot_bytes) noexcept;

    /// `bytes` of memory under a key that no FIFO has; every caller asks for as many. Errors: as find().
    std::byte* area(std::uint64_t key, std::size_t bytes);

    /// The memory of the FIFO `key`, its slots only if `long_messages`. Errors: SystemError where the segment or the
    /// system's memory is used up.
    FifoMemory find(std::uint64_t key, bool long_messages);

    /// Bytes taken so far, by all processes.
    [[nodiscard]] std::size_t bytes() const noexcept;

private:
    struct Entry {
        std::atomic<std::uint64_t> key;    // key + 1; 0: free
        std::atomic<std::uint64_t> lines;  // offset of the counter and the lines; 0: none yet
        std::atomic<std::uint64_t> slots;  // offset of the slots; 0: none yet
    };
    struct alignas(128) Head {
        std::atomic<std::uint64_t> taken;  // bytes of the area after the entries
    };

    Entry& entry_of(std::uint64_t key);
    std::byte* place_of(std::atomic<std::uint64_t>& place, std::size_t bytes);
    std::uint64_t provide(std::atomic<std::uint64_t>& place, std::size_t bytes);
    std::uint64_t take(std::size_t bytes);

    const Segment& segment_;
    const std::size_t capacity_;  // entries, a power of two
    const std::size_t line_bytes_;
    const std::size_t all_slots_bytes_;
    Head* const head_;
    Entry* const entries_;
    const std::size_t area_;  // offset of the area that FIFOs are taken from
};

}  // namespace rondo::transport::memory
