// What a watch over waits asks of tagged messages: who is waited for.

#include <algorithm>

#include "comm/messages.hpp"

namespace rondo::comm {

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

const MessageBatch* Messages::batch_that_needs(Rank peer) const {
    for (const MessageRequest* request : receiving_) {
        if (request->source == peer) return request->batch;
    }
    for (const auto* list : {&receives_, &sends_, &written_}) {
        for (const MessageRequest* request : *list) {
            if (request->call.peer == peer || request->call.peer == kAnySource) return request->batch;
        }
    }
    return nullptr;
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

}  // namespace rondo::comm
