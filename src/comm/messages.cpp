#include "comm/messages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/routes.hpp"
#include "rondo/rondo.h"
#include "transport/tcp/frame.hpp"

namespace rondo::comm {

namespace {

// FIFOs that no plan has: the last tag of the last channel.
constexpr int kChannel = transport::memory::kMaxChannels - 1;
constexpr int kFifoTag = static_cast<int>(transport::tcp::kTags) - 1;
constexpr std::uint64_t kSignature = 0x7461'6767'6564'0000U;
// With up to so many ranks each is open to all from its first message on: a peer with a higher number, which cannot
// call this rank over the network, then never waits for it to look its way.
constexpr Rank kOpenAtOnce = 128;
constexpr int kMostTaken = 64;  // messages of one peer in one round
constexpr std::int64_t kMostEager = Messages::kWindow / 4 - Messages::kOverhead;
constexpr std::int64_t kTellAt = Messages::kWindow / 4;

std::int64_t cost_of(std::int64_t length) noexcept { return length + Messages::kOverhead; }

bool tags_match(std::int32_t wanted, std::int32_t tag) noexcept { return wanted == kAnyTag || wanted == tag; }

bool accepts(const MessageRequest& request, Rank source, std::int32_t tag) noexcept {
    return (request.call.peer == kAnySource || request.call.peer == source) && tags_match(request.call.tag, tag);
}

void remove(std::vector<MessageRequest*>& list, const MessageRequest* request) noexcept {
    list.erase(std::remove(list.begin(), list.end(), request), list.end());
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) noexcept {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void report(const MessageRequest& request, Rank source, std::int32_t tag, std::int64_t length) noexcept {
    rondoMessage_t* const found = request.call.report;
    if (found == nullptr) return;
    found->source = source;
    found->tag = tag;
    found->bytes = static_cast<std::size_t>(length);
    found->count = static_cast<std::size_t>(length) / request.call.element_bytes;
}

}  // namespace

Messages::Messages(Routes& routes, Rank rank, Rank nranks)
    : routes_(routes),
      rank_(rank),
      nranks_(nranks),
      chunk_(static_cast<std::int64_t>(routes.slot_bytes()) - static_cast<std::int64_t>(sizeof(Header))),
      eager_limit_(std::min(chunk_, kMostEager)),
      peers_(static_cast<std::size_t>(nranks)) {
    if (nranks <= kOpenAtOnce) open_all();
}

Messages::~Messages() = default;

void Messages::open(Rank rank) {
    Peer& peer = peer_at(rank);
    if (rank == rank_ || peer.in != nullptr) return;
    open_.reserve(static_cast<std::size_t>(nranks_));
    peer.out = &routes_.fifo(kChannel, rank_, rank, kFifoTag, true);
    peer.in = &routes_.fifo(kChannel, rank, rank_, kFifoTag, true);
    open_.push_back(rank);
}

void Messages::open_all() {
    for (Rank rank = 0; rank < nranks_; ++rank) open(rank);
}

void Messages::post(MessageBatch& batch) {
    const std::size_t count = batch.requests_.size();
    for (auto* list : {&receives_, &receiving_, &sends_, &written_}) {
        list->reserve(receives_.size() + receiving_.size() + sends_.size() + written_.size() + count);
    }
    for (const MessageRequest& request : batch.requests_) {
        if (request.call.peer == kAnySource) {
            open_all();
        } else {
            open(request.call.peer);
        }
    }
    for (MessageRequest& request : batch.requests_) {
        request.id = ++ids_;
        if (request.call.send) {
            sends_.push_back(&request);
        } else if (!match_unexpected(request)) {
            receives_.push_back(&request);
        }
    }
}

void Messages::drop(MessageBatch& batch) noexcept {
    const auto dropped = [&](const MessageRequest* request) { return request->batch == &batch; };
    for (auto* list : {&receives_, &receiving_, &sends_, &written_}) std::erase_if(*list, dropped);
    std::erase_if(peer_at(rank_).unexpected,
                  [&](const Unexpected& message) { return message.own != nullptr && dropped(message.own); });
}

bool Messages::progress() noexcept {
    bool moved = false;
    try {
        for (const Rank source : open_) moved = take_all(source) || moved;
        const bool sent = send_all();
        if (sent) routes_.progress();
        moved = sent || moved;
    } catch (...) {
        // No memory for what came: it stays where it is, for another round.
    }
    return finish_written() || moved;
}

bool Messages::take_news() noexcept { return std::exchange(news_, false); }

// --- Receiving -------------------------------------------------------------------------------------------------------

bool Messages::take_all(Rank source) {
    Peer& peer = peer_at(source);
    int taken = 0;
    while (taken < kMostTaken && fault_.empty() && peer.in->readable() && take(source, peer)) ++taken;
    return taken > 0;
}

/// One message. False where it cannot be right.
bool Messages::take(Rank source, Peer& peer) {
    transport::memory::Fifo& fifo = *peer.in;
    const bool inlined = !fifo.peek(fifo.released() + 1, 0).in_slot;
    const std::byte* const place = fifo.read_place(inlined);
    const auto bytes = static_cast<std::int64_t>(fifo.read_length()) - static_cast<std::int64_t>(sizeof(Header));
    Header header;
    if (bytes >= 0) std::memcpy(&header, place, sizeof(header));
    const std::byte* const payload = place + sizeof(Header);
    // A peer's word about its length is not taken for the room that the message has.
    const std::size_t room = inlined ? transport::memory::kInline : fifo.slot_bytes();
    bool right = bytes >= 0 && fifo.read_length() <= room && header.length >= 0;
    if (right) {
        peer.matched = std::max(peer.matched, std::min(header.returned, peer.sent));
        switch (header.kind) {
            case Kind::Eager:
                right = header.length == bytes;
                if (right) take_announcement(source, peer, header, payload);
                break;
            case Kind::Request: take_announcement(source, peer, header, nullptr); break;
            case Kind::Clear: right = take_clearance(source, header); break;
            case Kind::Data: right = take_data(source, header, payload, bytes); break;
            case Kind::Credit: break;
            default: right = false;
        }
    }
    if (!right) {
        fault_ = fmt::format("a tagged message came from rank {} that cannot be right: kind {}, length {}, {} bytes",
                             source, static_cast<std::uint32_t>(header.kind), header.length, bytes);
    }
    fifo.release(inlined);
    return right;
}

/// An eager message with its payload, or (null) a request.
void Messages::take_announcement(Rank source, Peer& peer, const Header& header, const std::byte* payload) {
    if (MessageRequest* const request = match_receive(source, header.tag, header.length)) {
        request->source = source;
        request->tag = header.tag;
        request->length = header.length;
        if (payload == nullptr) {
            start_receiving(*request, source, header.id);
            return;
        }
        copy_bytes(request->call.data, payload, header.length);
        peer.returned += cost_of(header.length);
        finish(*request);
        return;
    }
    Unexpected message{.tag = header.tag,
                       .length = header.length,
                       .arrival = ++arrivals_,
                       .id = header.id,
                       .eager = payload != nullptr};
    if (payload != nullptr) message.payload.assign(payload, payload + header.length);
    peer.unexpected.push_back(std::move(message));
    held_ += payload != nullptr ? cost_of(header.length) : kOverhead;
}

/// The first receive that takes such a message, out of its list. One that has no room for it is refused and the message
/// is offered to the next.
MessageRequest* Messages::match_receive(Rank source, std::int32_t tag, std::int64_t length) {
    while (true) {
        const auto found =
            std::ranges::find_if(receives_, [&](const MessageRequest* r) { return accepts(*r, source, tag); });
        if (found == receives_.end()) return nullptr;
        MessageRequest* const request = *found;
        if (length <= request->call.bytes) {
            receives_.erase(found);
            return request;
        }
        refuse(*request, source, tag, length);
    }
}

Messages::Unexpected* Messages::find_unexpected(const MessageRequest& request, Rank& source) {
    Unexpected* first = nullptr;
    const auto look = [&](Rank rank) {
        std::deque<Unexpected>& queue = peer_at(rank).unexpected;
        const auto found =
            std::ranges::find_if(queue, [&](const Unexpected& m) { return tags_match(request.call.tag, m.tag); });
        if (found == queue.end() || (first != nullptr && first->arrival < found->arrival)) return;
        first = &*found;
        source = rank;
    };
    if (request.call.peer != kAnySource) {
        look(request.call.peer);
    } else {
        for (Rank rank = 0; rank < nranks_; ++rank) look(rank);
    }
    return first;
}

/// True where the receive has met a message that came before it.
bool Messages::match_unexpected(MessageRequest& request) {
    Rank source = 0;
    Unexpected* const message = find_unexpected(request, source);
    if (message == nullptr) return false;
    if (message->length > request.call.bytes) {
        refuse(request, source, message->tag, message->length);
        return true;
    }
    request.source = source;
    request.tag = message->tag;
    request.length = message->length;
    if (message->eager) {
        copy_bytes(request.call.data, message->payload.data(), message->length);
        return_eager(peer_at(source), message->length);
        finish(request);
    } else {
        held_ -= kOverhead;
        if (message->own != nullptr) {
            copy_bytes(request.call.data, message->own->call.data, message->length);
            remove(sends_, message->own);
            finish(*message->own);
            finish(request);
        } else {
            start_receiving(request, source, message->id);
        }
    }
    std::deque<Unexpected>& queue = peer_at(source).unexpected;
    queue.erase(queue.begin() + (std::ranges::find(queue, message->arrival, &Unexpected::arrival) - queue.begin()));
    return true;
}

void Messages::return_eager(Peer& peer, std::int64_t length) noexcept {
    held_ -= cost_of(length);
    peer.returned += cost_of(length);
}

void Messages::start_receiving(MessageRequest& request, Rank source, std::uint64_t send_id) {
    peer_at(source).clearances.push_back({send_id, request.id});
    request.enter(Stage::Receiving);
    if (request.length == 0) {
        finish(request);
    } else {
        receiving_.push_back(&request);
    }
}

bool Messages::take_data(Rank source, const Header& header, const std::byte* payload, std::int64_t bytes) {
    const auto found = std::ranges::find(receiving_, header.id, &MessageRequest::id);
    if (found == receiving_.end()) return true;  // dropped: the communicator has failed
    MessageRequest& request = **found;
    if (request.source != source || bytes > request.length - request.bytes_moved()) return false;
    copy_bytes(request.call.data + request.bytes_moved(), payload, bytes);
    request.move(bytes);
    if (request.bytes_moved() < request.length) return true;
    receiving_.erase(found);
    finish(request);
    return true;
}

/// False for a send that this peer has no announcement of.
bool Messages::take_clearance(Rank source, const Header& header) {
    const auto found = std::ranges::find(sends_, header.id, &MessageRequest::id);
    if (found == sends_.end()) return true;  // dropped: the communicator has failed
    MessageRequest& request = **found;
    if (request.call.peer != source || !request.at(Stage::Announced)) return false;
    request.enter(Stage::Cleared);
    request.peer_id = static_cast<std::uint64_t>(header.length);
    return true;
}

void Messages::refuse(MessageRequest& request, Rank source, std::int32_t tag, std::int64_t length) {
    if (request.batch->failure_.code == Code::Success) {
        request.batch->failure_ = {
            Code::InvalidArgument,
            fmt::format("rondoRecvTagged: rank {} has room for {} bytes, and the message from rank {} with tag {} has "
                        "{}; the message is still there: receive it into a buffer of that size",
                        rank_, request.call.bytes, source, tag, length)};
    }
    request.source = source;
    request.tag = tag;
    request.length = length;
    remove(receives_, &request);
    finish(request);
}

// --- Sending ---------------------------------------------------------------------------------------------------------

bool Messages::send_all() {
    ++round_;
    bool moved = false;
    for (const Rank rank : open_) moved = send_clearances(peer_at(rank)) || moved;
    for (std::size_t i = 0; i < sends_.size();) {
        MessageRequest* const request = sends_[i];
        moved = advance(*request) || moved;
        // One that is done has left the list.
        if (i < sends_.size() && sends_[i] == request) ++i;
    }
    for (const Rank rank : open_) moved = send_credit(rank, peer_at(rank)) || moved;
    return moved;
}

bool Messages::send_clearances(Peer& peer) {
    bool moved = false;
    while (!peer.clearances.empty()) {
        const Clearance& clear = peer.clearances.front();
        const Header header{
            .kind = Kind::Clear, .length = static_cast<std::int64_t>(clear.receive_id), .id = clear.send_id};
        if (!write(peer, header, nullptr, 0)) break;
        peer.clearances.pop_front();
        moved = true;
    }
    return moved;
}

bool Messages::send_credit(Rank rank, Peer& peer) {
    return peer.returned - peer.told >= kTellAt && !routes_.departed(rank) &&
           write(peer, {.kind = Kind::Credit}, nullptr, 0);
}

/// True if anything of the send moved.
bool Messages::advance(MessageRequest& request) {
    if (request.at(Stage::Announced)) return false;
    if (request.call.peer == rank_) return send_to_self(request);
    Peer& peer = peer_at(request.call.peer);
    if (peer.full == round_) return false;  // nor may it overtake an earlier one
    return request.at(Stage::Cleared) ? send_data(request, peer) : begin_send(request, peer);
}

bool Messages::begin_send(MessageRequest& request, Peer& peer) {
    const std::int64_t length = request.call.bytes;
    const bool eager = length <= eager_limit_ && peer.sent - peer.matched + cost_of(length) <= kWindow;
    const Header header{
        .kind = eager ? Kind::Eager : Kind::Request, .tag = request.call.tag, .length = length, .id = request.id};
    if (!write(peer, header, request.call.data, eager ? length : 0)) return false;
    if (eager) {
        peer.sent += cost_of(length);
        request.enter(Stage::Written);
        remove(sends_, &request);
        written_.push_back(&request);
    } else {
        request.enter(Stage::Announced);
    }
    return true;
}

bool Messages::send_data(MessageRequest& request, Peer& peer) {
    bool moved = false;
    while (request.bytes_moved() < request.call.bytes) {
        const std::int64_t bytes = std::min(chunk_, request.call.bytes - request.bytes_moved());
        if (!write(peer, {.kind = Kind::Data, .id = request.peer_id}, request.call.data + request.bytes_moved(),
                   bytes)) {
            return moved;
        }
        request.move(bytes);
        moved = true;
    }
    request.enter(Stage::Written);
    remove(sends_, &request);
    written_.push_back(&request);
    return true;
}

/// By the rules for any other rank, but for the FIFO.
bool Messages::send_to_self(MessageRequest& request) {
    Peer& self = peer_at(rank_);
    const std::int64_t length = request.call.bytes;
    if (MessageRequest* const receive = match_receive(rank_, request.call.tag, length)) {
        copy_bytes(receive->call.data, request.call.data, length);
        receive->source = rank_;
        receive->tag = request.call.tag;
        receive->length = length;
        finish(*receive);
    } else {
        Unexpected message{.tag = request.call.tag, .length = length, .arrival = ++arrivals_};
        message.eager = length <= eager_limit_ && self.sent - self.returned + cost_of(length) <= kWindow;
        if (message.eager) {
            if (length > 0) message.payload.assign(request.call.data, request.call.data + length);
            self.sent += cost_of(length);
        } else {
            message.own = &request;
        }
        const bool eager = message.eager;
        self.unexpected.push_back(std::move(message));
        held_ += eager ? cost_of(length) : kOverhead;
        if (!eager) {
            request.enter(Stage::Announced);
            return true;
        }
    }
    remove(sends_, &request);
    finish(request);
    return true;
}

/// False where the FIFO is full; until the next round then nothing else is written to it.
bool Messages::write(Peer& peer, Header header, const std::byte* payload, std::int64_t bytes) {
    const std::size_t length = sizeof(Header) + static_cast<std::size_t>(bytes);
    const bool inlined = length <= transport::memory::kInline;
    if (peer.full == round_ || !peer.out->writable(inlined)) {
        peer.full = round_;
        return false;
    }
    header.returned = peer.told = peer.returned;
    std::byte* const place = peer.out->write_place(inlined);
    std::memcpy(place, &header, sizeof(header));
    copy_bytes(place + sizeof(header), payload, bytes);
    peer.out->extend(length);
    peer.out->post(inlined, kSignature);
    return true;
}

// --- Ends ------------------------------------------------------------------------------------------------------------

/// The caller has taken it out of its list. Nothing of it may be touched afterwards: its batch may be gone.
void Messages::finish(MessageRequest& request) noexcept {
    if (!request.call.send) report(request, request.source, request.tag, request.length);
    news_ = true;
    request.enter(Stage::Over);
    request.batch->open_.fetch_sub(1, std::memory_order_acq_rel);
}

/// Between calls nobody moves what the network has not taken.
bool Messages::finish_written() noexcept {
    if (written_.empty() || !routes_.flushed()) return false;
    for (MessageRequest* const request : written_) finish(*request);
    written_.clear();
    return true;
}

}  // namespace rondo::comm
