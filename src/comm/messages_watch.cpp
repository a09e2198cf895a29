// What a watch over waits asks of tagged messages: who is waited for, and how to say it.

#include <fmt/core.h>

#include <algorithm>

#include "comm/messages.hpp"

namespace rondo::comm {

namespace {

std::string source_text(Rank source) { return source == kAnySource ? "any rank" : fmt::format("rank {}", source); }

std::string tag_text(std::int32_t tag) { return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag); }

}  // namespace

std::vector<Rank> Messages::awaited() const {
    std::vector<Rank> ranks;
    for (const MessageRequest* request : receives_) {
        if (request->call.peer != kAnySource) {
            ranks.push_back(request->call.peer);
            continue;
        }
        for (Rank rank = 0; rank < nranks_; ++rank) {
            if (rank != rank_) ranks.push_back(rank);
        }
    }
    for (const MessageRequest* request : receiving_) ranks.push_back(request->source);
    for (const MessageRequest* request : sends_) ranks.push_back(request->call.peer);
    for (const MessageRequest* request : written_) ranks.push_back(request->call.peer);
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

std::optional<Rank> Messages::hopeless(const std::vector<Rank>& gone) const {
    const auto silent = [&](Rank rank) {
        const Peer& peer = peer_at(rank);
        return std::ranges::find(gone, rank) != gone.end() && (peer.in == nullptr || !peer.in->readable());
    };
    for (const MessageRequest* request : receives_) {
        if (request->call.peer != kAnySource) {
            if (silent(request->call.peer)) return request->call.peer;
            continue;
        }
        bool all = true;
        for (Rank rank = 0; rank < nranks_; ++rank) all = all && (rank == rank_ || silent(rank));
        if (all) return gone.front();
    }
    for (const MessageRequest* request : receiving_) {
        if (silent(request->source)) return request->source;
    }
    for (const MessageRequest* request : sends_) {
        if (silent(request->call.peer)) return request->call.peer;
    }
    return std::nullopt;
}

std::string Messages::current() const {
    const std::size_t count = receives_.size() + receiving_.size() + sends_.size() + written_.size();
    std::string text;
    const std::vector<MessageRequest*>& outgoing = sends_.empty() ? written_ : sends_;
    if (!outgoing.empty()) {
        const MessageRequest& request = *outgoing.front();
        text = fmt::format("tagged send of {} bytes to rank {} ({}{})", request.call.bytes, request.call.peer,
                           tag_text(request.call.tag),
                           request.stage == Stage::Announced ? "; no receive has matched it" : "");
    } else if (!receives_.empty()) {
        const Message& call = receives_.front()->call;
        text = fmt::format("tagged receive of up to {} bytes from {} ({})", call.bytes, source_text(call.peer),
                           tag_text(call.tag));
    } else if (!receiving_.empty()) {
        const MessageRequest& request = *receiving_.front();
        text = fmt::format("tagged receive from rank {} (tag {}; {} of {} bytes are here)", request.source, request.tag,
                           request.moved, request.length);
    } else {
        text = "tagged messages";
    }
    return count > 1 ? fmt::format("{} and {} more", text, count - 1) : text;
}

std::string Messages::operation() const { return sends_.empty() && written_.empty() ? "recv_tagged" : "send_tagged"; }

}  // namespace rondo::comm
