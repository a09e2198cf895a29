#pragma once
// FIFOs between ranks over TCP: the FIFOs of one rank whose other end is beyond a connection.
//
// A FIFO exists twice, once at each end, with the same geometry. What the sender's executor posts into its own copy is
// sent from where it lies and arrives in the receiver's copy at the same place; what the receiver releases comes back
// as a credit, and only then is the sender's place free. So a message is sent only where there is room for it, nothing
// that arrives ever has to wait, and no message blocks another.
//
// A Network has no thread: it moves when the thread that runs the rank's operation calls progress(). deliver() and
// wake() may be called from any thread at any time.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/process_descriptor.hpp"
#include "base/types.hpp"
#include "transport/doorbell.hpp"
#include "transport/fifos.hpp"
#include "transport/tcp/frame.hpp"

namespace rondo::transport::tcp {

/// Connections between one pair of ranks, at most.
inline constexpr int kMaxFlows = 16;

/// A peer that cannot be reached any more, and why.
struct Lost {
    Rank peer = -1;
    std::string text;  ///< both ends' addresses, what happened; for a bad frame the field, its limit and its number
};

/// Who makes connections when the Network asks for them. Called by the thread that binds plans.
class Dialer {
public:
    Dialer() = default;
    Dialer(const Dialer&) = delete;
    Dialer& operator=(const Dialer&) = delete;
    virtual ~Dialer() = default;

    /// Starts to make connection `flow` to `peer`; returns at once. The connected, authenticated socket comes back
    /// through Network::deliver() at either end. Failing to connect is for the implementation to report.
    virtual void dial(Rank peer, int flow) = 0;
};

class Link;
class Poller;

class Network final : public FifoSource {
public:
    /// `slots` (1 to 254) and `slot_bytes` (below 2^31) must be equal on all ranks. `flows`: connections per pair of
    /// ranks, 1 to kMaxFlows. `user_timeout`: how long sent data may stay unacknowledged before the system gives a
    /// connection up; 0: the system's default. Errors: SystemError.
    Network(Rank rank, Rank nranks, std::uint32_t slots, std::size_t slot_bytes, Doorbell& bell, Dialer& dialer,
            int flows, std::chrono::milliseconds user_timeout = std::chrono::milliseconds(0));
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;
    /// Closes all connections. Peers take that for this rank's death unless depart() came before.
    ~Network() override;

    /// One of the two ends must be this rank, the other a different one. At the first mention of a peer the lower rank
    /// asks the dialer for the connections; the higher one waits for them. By the driving thread. Errors: SystemError
    /// where memory is short.
    memory::Fifo& fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) override;
    [[nodiscard]] std::size_t slot_bytes() const noexcept override { return geometry_.slot_bytes; }

    // The driving thread. One at a time; whoever drives next must have seen what the one before did.

    /// Moves what can be moved without blocking. True if anything moved: a byte sent or received, a connection taken.
    /// Throws nothing; failures are in lost().
    bool progress() noexcept;

    /// True where every posted message and every credit that a peer may need is with the system. An operation is over
    /// for this rank only then: nobody moves anything between operations. (A few credits may stay owed; never so many
    /// that a peer would find less room than `slots`.)
    [[nodiscard]] bool flushed() const noexcept;

    /// Sleeps until a connection has become readable, or writable where output is stuck, until deliver() or wake() is
    /// called or was called since the last wait(), or until time is up. May return early.
    void wait(std::chrono::nanoseconds longest) noexcept;

    /// The first peer that was lost; stays. Connections to other peers go on.
    [[nodiscard]] const std::optional<Lost>& lost() const noexcept { return lost_; }

    /// Tells all peers that this rank will send and expect nothing more; connections that end after that are no loss to
    /// them. Then progress() until flushed() and delivered(), as long as patience lasts, and destroy.
    void depart() noexcept;
    /// True once the peers' systems have acknowledged every byte: closing can destroy none of it. A system call for
    /// each connection.
    [[nodiscard]] bool delivered() const noexcept;
    /// True where the peer said so by depart().
    [[nodiscard]] bool departed(Rank peer) const noexcept;

    // Any thread.

    /// Hands over connection `flow` to `peer`: a connected, authenticated stream socket. One that is not expected (no
    /// such flow, one that is there already) is closed.
    void deliver(Rank peer, int flow, ProcessDescriptor socket);

    /// Makes the wait() in progress, or else the next one, return at once.
    void wake() noexcept;

    /// What was moved, for statistics. The driving thread.
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

private:
    struct Delivery {
        Rank peer;
        int flow;
        ProcessDescriptor socket;
    };

    [[nodiscard]] Link* find(Rank peer) const noexcept { return links_[static_cast<std::size_t>(peer)].get(); }
    Link& make_link(Rank peer);
    bool take_deliveries() noexcept;
    bool take(Delivery& delivery);

    const Rank rank_;
    const Rank nranks_;
    const Geometry geometry_;
    const int flows_;
    const std::chrono::milliseconds user_timeout_;
    Doorbell& bell_;
    Dialer& dialer_;
    std::unique_ptr<Poller> poller_;
    std::vector<std::unique_ptr<Link>> links_;  // by rank; null before its first mention
    std::vector<Link*> active_;                 // those that exist, in the order in which they came to be
    std::optional<Lost> lost_;
    Counts counts_;
    bool departing_ = false;

    std::mutex deliveries_mutex_;
    std::vector<Delivery> deliveries_;
    std::atomic<bool> delivered_{false};  // deliveries_ may not be empty
    std::atomic<bool> woken_{false};      // by deliver() or wake() since the last wait()
};

}  // namespace rondo::transport::tcp
