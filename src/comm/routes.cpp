#include "comm/routes.hpp"

#include <algorithm>

#include "base/deadline.hpp"

namespace rondo::comm {

namespace {

constexpr double kLeaveSeconds = 1;
constexpr std::chrono::milliseconds kLeaveLook{1};
constexpr std::chrono::microseconds kShortestSleep{50};
constexpr std::chrono::milliseconds kLongestSleep{10};

/// How long the system may try to bring data to a peer before it calls the connection broken: as long as a call may
/// wait, within what a connection can be told.
std::chrono::milliseconds user_timeout(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::clamp(seconds, 1.0, 1e6) * 1000));
}

}  // namespace

Routes::Routes(Team& team, Rank rank, const Options& options) : team_(team), rank_(rank) {
    const Placement& placement = team.placement();
    memory_peers_ = placement.group(rank).size() > 1;
    if (placement.one_memory()) return;
    network_ = std::make_unique<transport::tcp::Network>(rank, team.nranks(), options.slots, options.slot_bytes,
                                                         team.domain().bell(rank), *this, options.flows,
                                                         user_timeout(options.timeout));
    team_.attach(rank, *network_);
}

Routes::~Routes() {
    if (!network_) return;
    team_.detach(rank_);
    network_->depart();
    const Deadline patience = Deadline::after(kLeaveSeconds);
    while (!team_.failed() && !network_->lost() && !patience.expired()) {
        network_->progress();
        if (network_->flushed() && network_->delivered()) break;
        network_->wait(kLeaveLook);
    }
}

transport::memory::Fifo& Routes::fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) {
    if (team_.placement().share_memory(source, destination)) {
        return team_.domain().fifo(channel, source, destination, tag, long_messages);
    }
    return network_->fifo(channel, source, destination, tag, long_messages);
}

std::byte* Routes::window(Rank rank) {
    return team_.placement().share_memory(rank_, rank) ? team_.domain().window(rank) : nullptr;
}

void Routes::wake() noexcept {
    team_.domain().bell(rank_).ring();
    if (network_) network_->wake();
}

bool Routes::departed(Rank peer) const noexcept {
    if (team_.placement().share_memory(rank_, peer)) return team_.domain().departed(peer);
    return network_->departed(peer);
}

/// One thread can sleep on a bell or on sockets. With peers on both sides it sleeps on the sockets for a fraction of
/// the time that it has waited already: it notices a bell late by that fraction at most, and wakes up rarely in a long
/// wait.
void Routes::sleep(transport::Doorbell& bell, std::uint32_t word, std::chrono::nanoseconds waited,
                   std::chrono::nanoseconds longest) noexcept {
    if (!network_) {
        bell.sleep(word, longest.count());
    } else if (!memory_peers_) {
        network_->wait(longest);
    } else {
        network_->wait(std::clamp<std::chrono::nanoseconds>(waited / 8, kShortestSleep, kLongestSleep));
    }
}

}  // namespace rondo::comm
