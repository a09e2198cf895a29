#include "transport/memory/domain.hpp"

#include <algorithm>
#include <utility>

namespace rondo::transport::memory {

namespace {

std::uint64_t key_of(int channel, Rank source, Rank destination, int tag) {
    return static_cast<std::uint64_t>(channel) << 58U | static_cast<std::uint64_t>(tag) << 52U |
           static_cast<std::uint64_t>(source) << 26U | static_cast<std::uint64_t>(destination);
}

}  // namespace

Domain::Domain(Rank nranks, std::uint32_t slots, std::size_t slot_bytes)
    : nranks_(nranks), slots_(slots), slot_bytes_(slot_bytes) {
    shared_.reserve(static_cast<std::size_t>(nranks));
    for (Rank rank = 0; rank < nranks; ++rank) shared_.push_back(std::make_unique<Shared>());
}

Fifo& Domain::fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) {
    const std::lock_guard lock(fifos_mutex_);
    std::unique_ptr<Fifo>& found = fifos_[key_of(channel, source, destination, tag)];
    if (!found) found = std::make_unique<Fifo>(slots_, slot_bytes_, bell(source), bell(destination));
    if (long_messages && found->provide_slots()) ++long_fifos_;
    return *found;
}

std::size_t Domain::bytes() const {
    const std::lock_guard lock(fifos_mutex_);
    return shared_.size() * (sizeof(Shared) + kMaxChannels * kMaxCounterTags * sizeof(Counter)) +
           fifos_.size() * (sizeof(Fifo) + std::max(slots_, kLines) * sizeof(Line)) +
           long_fifos_ * slots_ * slot_bytes_;
}

bool Domain::fail(Cause cause) {
    {
        const std::lock_guard lock(cause_mutex_);
        if (cause_.code != Code::Success) return false;
        cause_ = std::move(cause);
        failed_.store(true, std::memory_order_seq_cst);
    }
    ring_all();
    return true;
}

Cause Domain::cause() const {
    const std::lock_guard lock(cause_mutex_);
    return cause_;
}

void Domain::depart(Rank rank) noexcept {
    shared(rank).departed.store(true, std::memory_order_seq_cst);
    ring_all();
}

void Domain::ring_all() noexcept {
    for (Rank rank = 0; rank < nranks_; ++rank) bell(rank).ring();
}

}  // namespace rondo::transport::memory
