#pragma once
// How one rank reaches the others: through shared memory or over the network, as the placement says.

#include <chrono>
#include <memory>

#include "comm/options.hpp"
#include "comm/team.hpp"
#include "transport/fifos.hpp"
#include "transport/tcp/network.hpp"

namespace rondo::comm {

class Routes final : public transport::FifoSource, public transport::tcp::Dialer {
public:
    /// The team must be ready. Errors: SystemError.
    Routes(Team& team, Rank rank, const Options& options);
    /// Tells the peers on the network that this rank leaves, and waits until their systems have all it sent; not for
    /// long, and not at all after a failure.
    ~Routes() override;

    transport::memory::Fifo& fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) override;
    [[nodiscard]] std::size_t slot_bytes() const noexcept override { return team_.domain().slot_bytes(); }
    std::byte* window(Rank rank) override;
    [[nodiscard]] std::size_t window_bytes() const noexcept override { return team_.domain().window_bytes(); }

    /// Moves what the network can move without blocking. True if anything moved.
    bool progress() noexcept { return network_ && network_->progress(); }
    /// True where everything that was sent has left this process.
    [[nodiscard]] bool flushed() const noexcept { return !network_ || network_->flushed(); }
    /// The peer that the network lost, if any.
    [[nodiscard]] const transport::tcp::Lost* lost() const noexcept {
        return network_ && network_->lost() ? &*network_->lost() : nullptr;
    }
    /// Ends this rank's sleep, or else the next one. From any thread.
    void wake() noexcept;
    /// A peer that has left, and all of whose messages have come.
    [[nodiscard]] bool departed(Rank peer) const noexcept;

    /// Sleeps on the bell, or on the network, or on both.
    void sleep(transport::Doorbell& bell, std::uint32_t word, std::chrono::nanoseconds waited,
               std::chrono::nanoseconds longest) noexcept;

    void dial(Rank peer, int flow) override { team_.dial(rank_, peer, flow); }

private:
    Team& team_;
    const Rank rank_;
    bool memory_peers_ = false;
    std::unique_ptr<transport::tcp::Network> network_;  // null where all ranks share memory
};

}  // namespace rondo::comm
