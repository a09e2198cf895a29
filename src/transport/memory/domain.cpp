#include "transport/memory/domain.hpp"

#include <numeric>
#include <utility>

namespace rondo::transport::memory {

namespace {

std::uint64_t key_of(int channel, Rank source, Rank destination, int tag) {
    return static_cast<std::uint64_t>(channel) << 58U | static_cast<std::uint64_t>(tag) << 52U |
           static_cast<std::uint64_t>(source) << 26U | static_cast<std::uint64_t>(destination);
}

// Above all keys of FIFOs, whose channels and tags are few.
constexpr std::uint64_t kWindowKey = std::uint64_t{1} << 63U;
static_assert(kMaxChannels <= 32);

/// The first bytes of a segment.
struct alignas(128) SegmentHead {
    std::atomic<std::uint64_t> mark;  // of the geometry that the segment was made for
};

std::size_t area_of_members(const Geometry& geometry, std::size_t each) {
    return sizeof(SegmentHead) + geometry.members.size() * each;
}

std::size_t segment_bytes(const Geometry& geometry, std::size_t each) {
    return Directory::segment_bytes(area_of_members(geometry, each), geometry.members.size(), geometry.slots,
                                    geometry.slot_bytes, window_bytes(geometry.slots, geometry.slot_bytes));
}

std::uint64_t mark_of(const Geometry& geometry, std::size_t each) {
    std::uint64_t mark = 0x726f6e646f;  // "rondo"
    const auto mix = [&](std::uint64_t word) { mark = (mark ^ word) * 0x9e3779b97f4a7c15U + (mark >> 29U); };
    mix(each);
    mix(static_cast<std::uint64_t>(geometry.nranks));
    mix(geometry.slots);
    mix(geometry.slot_bytes);
    for (const Rank rank : geometry.members) mix(static_cast<std::uint64_t>(rank));
    return mark | 1;
}

std::vector<Rank> all_ranks(Rank nranks) {
    std::vector<Rank> ranks(static_cast<std::size_t>(nranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

}  // namespace

Domain::Domain(Rank nranks, std::uint32_t slots, std::size_t slot_bytes)
    : Domain({.nranks = nranks, .members = all_ranks(nranks), .slots = slots, .slot_bytes = slot_bytes},
             std::make_shared<FirstCause>(), false) {}

Domain::Domain(const Geometry& geometry, std::shared_ptr<FirstCause> cause, bool shared)
    : Domain(geometry, std::move(cause),
             shared ? Segment::create(segment_bytes(geometry, sizeof(Shared)))
                    : Segment::anonymous(segment_bytes(geometry, sizeof(Shared))),
             true) {}

Domain::Domain(const Geometry& geometry, std::shared_ptr<FirstCause> cause, Descriptor segment)
    : Domain(geometry, std::move(cause), Segment::attach(std::move(segment)), false) {}

Domain::Domain(const Geometry& geometry, std::shared_ptr<FirstCause> cause, Segment segment, bool made_here)
    : nranks_(geometry.nranks),
      members_(geometry.members),
      slots_(geometry.slots),
      slot_bytes_(geometry.slot_bytes),
      segment_(std::move(segment)),
      shared_(static_cast<std::size_t>(geometry.nranks), nullptr),
      directory_(segment_, area_of_members(geometry, sizeof(Shared)), members_.size(), slots_, slot_bytes_),
      cause_(std::move(cause)) {
    auto& head = *reinterpret_cast<SegmentHead*>(segment_.base());
    const std::uint64_t mark = mark_of(geometry, sizeof(Shared));
    const std::size_t needed = segment_bytes(geometry, sizeof(Shared));
    if (segment_.size() != needed || (!made_here && head.mark.load(std::memory_order_acquire) != mark)) {
        throw make_error(Code::InternalError,
                         "the shared memory of {} bytes that a peer made is not the one of {} bytes for {} ranks that "
                         "this communicator needs",
                         segment_.size(), needed, members_.size());
    }
    const bool between_processes = segment_.descriptor() >= 0;
    if (between_processes && made_here) segment_.reserve(0, area_of_members(geometry, sizeof(Shared)));
    // The kernel hands out zeros, and zero is the first value of everything here.
    auto* members = reinterpret_cast<Shared*>(segment_.base() + sizeof(SegmentHead));
    for (std::size_t i = 0; i < members_.size(); ++i) {
        shared_[static_cast<std::size_t>(members_[i])] = members + i;
        if (between_processes) members[i].bell.admit();
    }
    if (made_here) head.mark.store(mark, std::memory_order_release);
}

Fifo& Domain::fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) {
    const std::lock_guard lock(fifos_mutex_);
    const std::uint64_t key = key_of(channel, source, destination, tag);
    std::unique_ptr<Fifo>& found = fifos_[key];
    if (found && (!long_messages || found->has_slots())) return *found;
    const FifoMemory memory = directory_.find(key, long_messages);
    if (!found) {
        found = std::make_unique<Fifo>(slots_, slot_bytes_, memory, bell(source), bell(destination));
    } else {
        found->provide_slots(memory.slots);
    }
    return *found;
}

std::byte* Domain::window(Rank rank) {
    const std::lock_guard lock(fifos_mutex_);
    return directory_.area(kWindowKey | static_cast<std::uint64_t>(rank), window_bytes());
}

std::size_t Domain::bytes() const { return members_.size() * sizeof(Shared) + directory_.bytes(); }

void Domain::depart(Rank rank) noexcept {
    shared(rank).departed.store(1, std::memory_order_seq_cst);
    ring_all();
}

void Domain::ring_all() noexcept {
    for (const Rank rank : members_) bell(rank).ring();
}

}  // namespace rondo::transport::memory
