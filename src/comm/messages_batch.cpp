#include "comm/messages_batch.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace rondo::comm {

namespace {

using Stage = MessageRequest::Stage;

std::string source_text(Rank source) { return source == kAnySource ? "any rank" : fmt::format("rank {}", source); }

std::string tag_text(std::int32_t tag) { return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag); }

Stage stage_of(const MessageRequest& request) noexcept { return request.stage.load(std::memory_order_acquire); }

/// 0: said first.
int order_of(const MessageRequest& request, Stage stage) noexcept {
    if (request.call.send) return stage == Stage::Written ? 1 : 0;
    return stage == Stage::Receiving ? 3 : 2;
}

}  // namespace

MessageBatch::MessageBatch(const std::vector<Message>& calls) : requests_(calls.size()), open_(calls.size()) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
        requests_[i].call = calls[i];
        requests_[i].batch = this;
    }
}

std::vector<Rank> MessageBatch::awaited(Rank self, Rank nranks) const {
    std::vector<Rank> ranks;
    for (const MessageRequest& request : requests_) {
        const Stage stage = stage_of(request);
        if (stage == Stage::Over) continue;
        if (stage == Stage::Receiving) {
            ranks.push_back(request.source);
        } else if (request.call.send || request.call.peer != kAnySource) {
            ranks.push_back(request.call.peer);
        } else {
            for (Rank rank = 0; rank < nranks; ++rank) {
                if (rank != self) ranks.push_back(rank);
            }
        }
    }
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

const MessageRequest* MessageBatch::first_open(std::size_t& open) const noexcept {
    const MessageRequest* first = nullptr;
    int order = 0;
    open = 0;
    for (const MessageRequest& request : requests_) {
        const Stage stage = stage_of(request);
        if (stage == Stage::Over) continue;
        ++open;
        if (first != nullptr && order <= order_of(request, stage)) continue;
        first = &request;
        order = order_of(request, stage);
    }
    return first;
}

std::string MessageBatch::current() const {
    std::size_t open = 0;
    const MessageRequest* const first = first_open(open);
    if (first == nullptr) return "tagged messages";
    const Message& call = first->call;
    const Stage stage = stage_of(*first);
    std::string text;
    if (call.send) {
        text = fmt::format("tagged send of {} bytes to rank {} ({}{})", call.bytes, call.peer, tag_text(call.tag),
                           stage == Stage::Announced ? "; no receive has matched it" : "");
    } else if (stage == Stage::Receiving) {
        text = fmt::format("tagged receive from rank {} (tag {}; {} of {} bytes are here)", first->source, first->tag,
                           first->bytes_moved(), first->length);
    } else {
        text = fmt::format("tagged receive of up to {} bytes from {} ({})", call.bytes, source_text(call.peer),
                           tag_text(call.tag));
    }
    return open > 1 ? fmt::format("{} and {} more", text, open - 1) : text;
}

std::string MessageBatch::operation() const {
    std::size_t open = 0;
    const MessageRequest* const first = first_open(open);
    return first != nullptr && first->call.send ? "send_tagged" : "recv_tagged";
}

}  // namespace rondo::comm
