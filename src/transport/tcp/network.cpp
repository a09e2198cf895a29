#include "transport/tcp/network.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "transport/tcp/link.hpp"
#include "transport/tcp/poller.hpp"

namespace rondo::transport::tcp {

Network::Network(Rank rank, Rank nranks, std::uint32_t slots, std::size_t slot_bytes, Doorbell& bell, Dialer& dialer,
                 int flows, std::chrono::milliseconds user_timeout)
    : rank_(rank),
      nranks_(nranks),
      geometry_{slots, slot_bytes},
      flows_(std::clamp(flows, 1, kMaxFlows)),
      user_timeout_(user_timeout),
      bell_(bell),
      dialer_(dialer),
      poller_(std::make_unique<Poller>()),
      links_(static_cast<std::size_t>(nranks)) {
    if (slots < 1 || slots >= kInLine || slot_bytes >= (std::size_t{1} << 31U)) {
        throw make_error(Code::InternalError, "no FIFO over a connection has {} slots of {} bytes", slots, slot_bytes);
    }
}

Network::~Network() = default;

memory::Fifo& Network::fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) {
    const bool sends = source == rank_;
    const Rank peer = sends ? destination : source;
    if (sends == (destination == rank_) || peer < 0 || peer >= nranks_ || channel < 0 || tag < 0 ||
        channel >= static_cast<int>(kChannels) || tag >= static_cast<int>(kTags)) {
        throw make_error(Code::InternalError, "rank {} has no FIFO over a connection for channel {}, tag {}, {} to {}",
                         rank_, channel, tag, source, destination);
    }
    Link* link = find(peer);
    if (link == nullptr) {
        link = &make_link(peer);
        for (int flow = 0; rank_ < peer && flow < flows_; ++flow) dialer_.dial(peer, flow);
    }
    const auto c = static_cast<std::uint32_t>(channel);
    const auto t = static_cast<std::uint32_t>(tag);
    OwnFifo& own = sends ? link->outlet(c, t).own() : link->inlet(c, t).own();
    if (long_messages) own.provide_slots();
    return own.fifo();
}

Link& Network::make_link(Rank peer) {
    active_.reserve(active_.size() + 1);
    std::unique_ptr<Link>& place = links_[static_cast<std::size_t>(peer)];
    place = std::make_unique<Link>(peer, geometry_, flows_, bell_, *poller_, counts_);
    active_.push_back(place.get());
    return *place;
}

bool Network::progress() noexcept {
    bool moved = delivered_.load(std::memory_order_acquire) && take_deliveries();
    // First what the executor has just posted; asking for news takes a system call.
    for (Link* link : active_) {
        moved = link->send(departing_) || moved;
        if (!lost_ && !link->loss().empty()) lost_ = Lost{link->peer(), link->loss()};
    }
    // One connection is asked itself. Of more, the poller asks at once; and it alone knows when stuck output can go on.
    const bool ask_all = poller_->flows() == 1 && std::ranges::none_of(active_, &Link::stuck);
    if (!ask_all) poller_->poll();
    for (Link* link : active_) {
        moved = link->receive(ask_all) || moved;
        if (!lost_ && !link->loss().empty()) lost_ = Lost{link->peer(), link->loss()};
    }
    return moved;
}

bool Network::flushed() const noexcept {
    return std::ranges::all_of(active_, [this](const Link* link) { return link->flushed(departing_); });
}

bool Network::delivered() const noexcept {
    return std::ranges::all_of(active_, [](const Link* link) { return link->delivered(); });
}

bool Network::departed(Rank peer) const noexcept {
    const Link* link = find(peer);
    return link != nullptr && link->departed();
}

void Network::depart() noexcept { departing_ = true; }

void Network::wait(std::chrono::nanoseconds longest) noexcept {
    // Before woken_ is set the news is there, and after it the bell rings: whoever comes between finds one of the two.
    if (woken_.exchange(false, std::memory_order_acq_rel)) {
        poller_->wait(std::chrono::nanoseconds(0));  // takes the bell's event, so that it ends no other wait
        return;
    }
    if (std::ranges::any_of(active_, [](const Link* link) { return link->ready(); })) return;
    poller_->wait(longest);
    woken_.exchange(false, std::memory_order_acq_rel);
}

void Network::wake() noexcept {
    woken_.store(true, std::memory_order_release);
    poller_->wake();
}

void Network::deliver(Rank peer, int flow, ProcessDescriptor socket) {
    {
        const std::lock_guard lock(deliveries_mutex_);
        deliveries_.push_back({peer, flow, std::move(socket)});
        delivered_.store(true, std::memory_order_release);
    }
    bell_.ring();
    wake();
}

bool Network::take_deliveries() noexcept {
    std::vector<Delivery> taken;
    {
        const std::lock_guard lock(deliveries_mutex_);
        taken.swap(deliveries_);
        delivered_.store(false, std::memory_order_relaxed);
    }
    bool any = false;
    for (Delivery& delivery : taken) {
        try {
            any = take(delivery) || any;
        } catch (...) {
            if (lost_) continue;
            lost_ = Lost{delivery.peer, fmt::format("cannot use the connection to rank {}: {}", delivery.peer,
                                                    current_failure().text)};
        }
    }
    return any;
}

bool Network::take(Delivery& delivery) {
    const auto [peer, flow] = std::pair(delivery.peer, delivery.flow);
    if (peer < 0 || peer >= nranks_ || peer == rank_ || flow < 0 || flow >= flows_ || !delivery.socket) return false;
    Link* link = find(peer);
    if (link == nullptr) {
        if (rank_ < peer) return false;  // this rank has not asked for it
        link = &make_link(peer);
    }
    return link->take_over(flow, std::move(delivery.socket), user_timeout_);
}

}  // namespace rondo::transport::tcp
