#pragma once
// Everything between this rank and one peer: the ends of their FIFOs and the connections that serve them.
//
// No connection has FIFOs of its own. Whichever has sent its batch takes the next pieces, so a slow one carries less.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "transport/doorbell.hpp"
#include "transport/tcp/ends.hpp"
#include "transport/tcp/flow.hpp"
#include "transport/tcp/poller.hpp"

namespace rondo::transport::tcp {

class Link final : private FrameSink {
public:
    /// `flows`: how many connections there are to be.
    Link(Rank peer, const Geometry& geometry, int flows, Doorbell& bell, Poller& poller, Counts& counts)
        : peer_(peer),
          geometry_(geometry),
          bell_(bell),
          poller_(poller),
          counts_(counts),
          flows_(static_cast<std::size_t>(flows)) {}
    ~Link() override;

    [[nodiscard]] Rank peer() const noexcept { return peer_; }

    /// The end of a FIFO, made at its first mention. Errors: SystemError.
    Outlet& outlet(std::uint32_t channel, std::uint32_t tag);
    Inlet& inlet(std::uint32_t channel, std::uint32_t tag);

    /// Takes connection `flow` over, one of those that are to be. False where there is one already. Errors:
    /// SystemError.
    bool take_over(int flow, ProcessDescriptor socket, std::chrono::milliseconds user_timeout);

    /// Sends what is posted and owed, as far as the connections take it. True if anything was sent.
    bool send(bool departing) noexcept;
    /// Receives what the poller found, or what there is if `ask_all`. True if anything arrived.
    bool receive(bool ask_all) noexcept;
    /// True where the system has taken less than a connection has to send.
    [[nodiscard]] bool stuck() const noexcept;
    /// True where the poller found something that receive() has not read yet, or room for output that waits.
    [[nodiscard]] bool ready() const noexcept;
    /// True where nothing is left to send().
    [[nodiscard]] bool flushed(bool departing) const noexcept;
    [[nodiscard]] bool delivered() const noexcept;
    /// True once the peer has said farewell on every connection.
    [[nodiscard]] bool departed() const noexcept { return departed_; }

    /// Why the peer is lost; "" while it is not. A lost link moves nothing.
    [[nodiscard]] const std::string& loss() const noexcept { return loss_; }

private:
    std::variant<Arrival, Fault> begin(const Frame& frame) override;
    std::optional<Fault> end(const Frame& frame, const Arrival& arrival) override;

    [[nodiscard]] bool has_output() const noexcept;
    bool send(Flow& flow, bool departing) noexcept;
    bool fill(Flow& flow) noexcept;
    bool add_pieces(Flow& flow) noexcept;
    [[nodiscard]] std::size_t batch() const noexcept { return flows_.size() == 1 ? kBatchBytes : kPieceBytes; }
    void note_departure() noexcept;
    void lose(std::string text) noexcept;
    void close(std::unique_ptr<Flow>& flow) noexcept;

    // A connection alone takes much at a time. Several take a piece each, and the next when they are free.
    static constexpr std::size_t kBatchBytes = 256U << 10U;
    static constexpr std::size_t kUnsentBytes = 2 * kPieceBytes;
    static constexpr std::size_t kLongBytes = 4096;

    static std::size_t index_of(std::uint32_t channel, std::uint32_t tag) noexcept { return channel * kTags + tag; }

    const Rank peer_;
    const Geometry geometry_;
    Doorbell& bell_;
    Poller& poller_;
    Counts& counts_;
    std::vector<std::unique_ptr<Flow>> flows_;  // by number; null: not there yet, or ended
    std::size_t first_ = 0;                     // the connection that is asked first
    bool departed_ = false;
    std::string loss_;

    std::array<std::unique_ptr<Outlet>, kChannels * kTags> outlet_at_;  // by channel and tag
    std::array<std::unique_ptr<Inlet>, kChannels * kTags> inlet_at_;
    std::vector<Outlet*> outlets_;  // those that exist
    std::vector<Inlet*> inlets_;
    std::size_t turn_ = 0;  // of the outlets
};

}  // namespace rondo::transport::tcp
