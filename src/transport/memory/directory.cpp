#include "transport/memory/directory.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>

#include "base/deadline.hpp"
#include "base/error.hpp"

namespace rondo::transport::memory {

namespace {

constexpr std::uint64_t kClaimed = 1;
constexpr std::size_t kAlign = 128;
constexpr std::size_t kMostBytes = std::size_t{1} << 40U;
constexpr std::size_t kLeastArea = std::size_t{64} << 20U;
constexpr double kClaimSeconds = 2;

constexpr std::size_t round_up(std::size_t bytes) noexcept { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Several entries for each ordered pair: channels and tags.
std::size_t capacity_for(std::size_t members) noexcept {
    return std::bit_ceil(std::max<std::size_t>(1024, 8 * members * members));
}

std::size_t line_bytes_for(std::uint32_t slots) noexcept { return sizeof(Consumed) + line_count(slots) * sizeof(Line); }

}  // namespace

std::size_t Directory::segment_bytes(std::size_t before, std::size_t members, std::uint32_t slots,
                                     std::size_t slot_bytes, std::size_t window) noexcept {
    const std::size_t fifo = line_bytes_for(slots) + round_up(slots * slot_bytes);
    const std::size_t pairs = std::max<std::size_t>(members * members, 1);
    const std::size_t fifos = pairs > kMostBytes / (4 * fifo) ? kMostBytes : kLeastArea + 4 * pairs * fifo;
    const std::size_t area = fifos + members * round_up(window);
    return round_up(before) + sizeof(Head) + round_up(capacity_for(members) * sizeof(Entry)) + area;
}

Directory::Directory(const Segment& segment, std::size_t before, std::size_t members, std::uint32_t slots,
                     std::size_t slot_bytes) noexcept
    : segment_(segment),
      capacity_(capacity_for(members)),
      line_bytes_(line_bytes_for(slots)),
      all_slots_bytes_(round_up(slots * slot_bytes)),
      head_(reinterpret_cast<Head*>(segment.base() + round_up(before))),
      entries_(reinterpret_cast<Entry*>(segment.base() + round_up(before) + sizeof(Head))),
      area_(round_up(before) + sizeof(Head) + round_up(capacity_ * sizeof(Entry))) {}

FifoMemory Directory::find(std::uint64_t key, bool long_messages) {
    Entry& entry = entry_of(key);
    std::byte* lines = place_of(entry.lines, line_bytes_);
    FifoMemory memory{.consumed = reinterpret_cast<Consumed*>(lines),
                      .lines = reinterpret_cast<Line*>(lines + sizeof(Consumed))};
    if (long_messages) memory.slots = place_of(entry.slots, all_slots_bytes_);
    return memory;
}

std::byte* Directory::area(std::uint64_t key, std::size_t bytes) {
    return place_of(entry_of(key).slots, round_up(bytes));
}

/// Another process may have written the offset: it is not followed out of the segment.
std::byte* Directory::place_of(std::atomic<std::uint64_t>& place, std::size_t bytes) {
    const std::uint64_t offset = provide(place, bytes);
    if (offset < area_ || offset > segment_.size() || bytes > segment_.size() - offset || offset % kAlign != 0) {
        throw make_error(Code::InternalError,
                         "a peer has put a FIFO or window of {} bytes at byte {} of {} of shared memory", bytes, offset,
                         segment_.size());
    }
    return segment_.base() + offset;
}

std::size_t Directory::bytes() const noexcept { return head_->taken.load(std::memory_order_relaxed); }

Directory::Entry& Directory::entry_of(std::uint64_t key) {
    const std::uint64_t wanted = key + 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15U) >> 32U;
    for (std::size_t i = 0; i < capacity_; ++i, ++at) {
        Entry& entry = entries_[at & (capacity_ - 1)];
        std::uint64_t found = entry.key.load(std::memory_order_acquire);
        if (found == 0 && entry.key.compare_exchange_strong(found, wanted, std::memory_order_acq_rel)) return entry;
        if (found == wanted) return entry;
    }
    throw make_error(Code::SystemError, "all {} entries for FIFOs are in use; lower RONDO_NCHANNELS", capacity_);
}

std::uint64_t Directory::provide(std::atomic<std::uint64_t>& place, std::size_t bytes) {
    std::uint64_t found = 0;
    if (place.compare_exchange_strong(found, kClaimed, std::memory_order_acq_rel)) {
        try {
            found = take(bytes);
        } catch (...) {
            place.store(0, std::memory_order_release);
            throw;
        }
        place.store(found, std::memory_order_release);
        return found;
    }
    const Deadline deadline = Deadline::after(kClaimSeconds);
    while ((found = place.load(std::memory_order_acquire)) <= kClaimed) {
        if (found == 0) return provide(place, bytes);  // the other end could not; perhaps this one can
        if (deadline.expired()) {
            throw make_error(Code::RemoteError, "a peer has been taking memory for a FIFO for {} s; it may have ended",
                             kClaimSeconds);
        }
        ::sched_yield();
    }
    return found;
}

std::uint64_t Directory::take(std::size_t bytes) {
    const std::uint64_t offset = area_ + head_->taken.fetch_add(bytes, std::memory_order_relaxed);
    if (offset + bytes > segment_.size()) {
        throw make_error(
            Code::SystemError,
            "the memory for FIFOs and windows is used up: {} bytes are not enough for {} more; lower RONDO_BUFFSIZE or "
            "RONDO_NCHANNELS",
            segment_.size(), bytes);
    }
    segment_.reserve(offset, bytes);
    return offset;
}

}  // namespace rondo::transport::memory
