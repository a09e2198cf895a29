#pragma once
// Tagged messages of one rank: matching by source and tag, in order for each pair of them.
//
// Between two ranks there is one FIFO in each direction that no plan uses; both ends keep these rules:
//  - A short message goes at once (Eager) while no more than kWindow bytes of such messages lie unmatched at the
//    receiver. What is unmatched is copied to the heap there, so that the FIFO never blocks on it.
//  - Any other message is announced (Request); its data goes when a receive has matched it (Clear, Data).
//  - Every message reports how many bytes of eager ones its sender has matched so far, which opens the other's window.
// So whatever arrives can be taken at once, memory stays bounded (kWindow for each peer, and one entry for each send
// that waits there), and no message keeps one of another tag from being matched.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "comm/messages_batch.hpp"
#include "transport/memory/fifo.hpp"

namespace rondo::comm {

class Routes;

/// Used by one thread at a time: the one in the seat.
class Messages {
public:
    /// Bytes of eager messages from one rank that may wait for receives, each counted with kOverhead.
    static constexpr std::int64_t kWindow = std::int64_t{1} << 20U;
    static constexpr std::int64_t kOverhead = 128;

    /// Errors: SystemError where memory for FIFOs is short.
    Messages(Routes& routes, Rank rank, Rank nranks);
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;
    ~Messages();

    /// Begins all of the batch, which must live until it is over or dropped. Errors: SystemError, std::bad_alloc;
    /// nothing has begun then.
    void post(MessageBatch& batch);
    /// Forgets what is not over of the batch: for failed communicators, whose peers will hear no more.
    void drop(MessageBatch& batch) noexcept;

    /// Moves what can be moved. True if anything moved.
    bool progress() noexcept;
    /// True if a batch was over since the last call.
    bool take_news() noexcept;
    /// What a peer sent that cannot be right; "" where nothing was.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

    /// Unmatched bytes from all ranks, overhead included.
    [[nodiscard]] std::int64_t held_bytes() const noexcept { return held_; }

    // For the watch over waits.

    /// Ranks that the open sends and receives wait for; for a receive from any source all others.
    [[nodiscard]] std::vector<Rank> awaited() const;
    /// A rank of those that are gone without which some send or receive can never end.
    [[nodiscard]] std::optional<Rank> hopeless(const std::vector<Rank>& gone) const;
    /// Null where none does.
    [[nodiscard]] const MessageBatch* batch_that_needs(Rank peer) const;

private:
    using Stage = MessageRequest::Stage;

    enum class Kind : std::uint32_t { Eager = 1, Request = 2, Clear = 3, Data = 4, Credit = 5 };

    /// Before the payload of every message in a FIFO.
    struct Header {
        Kind kind = Kind::Credit;
        std::int32_t tag = 0;
        std::int64_t length = 0;    ///< Eager, Request: of the user's message; Clear: the receive's id
        std::uint64_t id = 0;       ///< Request, Clear: the send's; Data: the receive's
        std::int64_t returned = 0;  ///< eager bytes of the destination that the source has matched so far
    };
    static_assert(sizeof(Header) == 32);

    /// A message that came before its receive.
    struct Unexpected {
        std::int32_t tag = 0;
        std::int64_t length = 0;
        std::uint64_t arrival = 0;         ///< order over all sources
        std::uint64_t id = 0;              ///< of a Request
        bool eager = false;                ///< its data is here
        MessageRequest* own = nullptr;     ///< this rank's own send, where it waits for its receive
        std::vector<std::byte> payload{};  ///< of an eager one
    };

    struct Clearance {
        std::uint64_t send_id = 0;
        std::uint64_t receive_id = 0;
    };

    struct Peer {
        transport::memory::Fifo* in = nullptr;  // both null: not open, or this rank itself
        transport::memory::Fifo* out = nullptr;
        std::int64_t sent = 0;      // eager bytes to it
        std::int64_t matched = 0;   // of which it has matched so many
        std::int64_t returned = 0;  // eager bytes from it that were matched here
        std::int64_t told = 0;      // of which it knows
        std::uint64_t full = 0;     // number of the round in which its FIFO was found full
        std::deque<Clearance> clearances;
        std::deque<Unexpected> unexpected;
    };

    [[nodiscard]] Peer& peer_at(Rank rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] const Peer& peer_at(Rank rank) const noexcept { return peers_[static_cast<std::size_t>(rank)]; }
    void open(Rank rank);
    void open_all();

    // Receiving.
    bool take_all(Rank source);
    bool take(Rank source, Peer& peer);
    void take_announcement(Rank source, Peer& peer, const Header& header, const std::byte* payload);
    bool take_data(Rank source, const Header& header, const std::byte* payload, std::int64_t bytes);
    bool take_clearance(Rank source, const Header& header);
    MessageRequest* match_receive(Rank source, std::int32_t tag, std::int64_t length);
    bool match_unexpected(MessageRequest& request);
    Unexpected* find_unexpected(const MessageRequest& request, Rank& source);
    void start_receiving(MessageRequest& request, Rank source, std::uint64_t send_id);
    void return_eager(Peer& peer, std::int64_t length) noexcept;

    // Sending.
    bool send_all();
    bool send_clearances(Peer& peer);
    bool send_credit(Rank rank, Peer& peer);
    bool advance(MessageRequest& request);
    bool begin_send(MessageRequest& request, Peer& peer);
    bool send_data(MessageRequest& request, Peer& peer);
    bool send_to_self(MessageRequest& request);
    bool write(Peer& peer, Header header, const std::byte* payload, std::int64_t bytes);

    void refuse(MessageRequest& request, Rank source, std::int32_t tag, std::int64_t length);
    void finish(MessageRequest& request) noexcept;
    bool finish_written() noexcept;

    Routes& routes_;
    const Rank rank_;
    const Rank nranks_;
    const std::int64_t chunk_;                // data in one message of a FIFO
    const std::int64_t eager_limit_;          // of the user's bytes
    std::vector<Peer> peers_;                 // by rank
    std::vector<Rank> open_;                  // those with FIFOs
    std::vector<MessageRequest*> receives_;   // without a match, in the order of their calls
    std::vector<MessageRequest*> receiving_;  // with one
    std::vector<MessageRequest*> sends_;      // in the order of their calls
    std::vector<MessageRequest*> written_;
    std::uint64_t ids_ = 0;
    std::uint64_t arrivals_ = 0;
    std::uint64_t round_ = 1;
    std::int64_t held_ = 0;
    bool news_ = false;
    std::string fault_;
};

}  // namespace rondo::comm
