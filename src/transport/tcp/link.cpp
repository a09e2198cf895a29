#include "transport/tcp/link.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace rondo::transport::tcp {

Link::~Link() {
    for (auto& flow : flows_) close(flow);
}

Outlet& Link::outlet(std::uint32_t channel, std::uint32_t tag) {
    std::unique_ptr<Outlet>& found = outlet_at_[index_of(channel, tag)];
    if (!found) {
        outlets_.reserve(outlets_.size() + 1);
        found = std::make_unique<Outlet>(geometry_, bell_, static_cast<std::uint16_t>(channel),
                                         static_cast<std::uint8_t>(tag));
        outlets_.push_back(found.get());
    }
    return *found;
}

Inlet& Link::inlet(std::uint32_t channel, std::uint32_t tag) {
    std::unique_ptr<Inlet>& found = inlet_at_[index_of(channel, tag)];
    if (!found) {
        inlets_.reserve(inlets_.size() + 1);
        found = std::make_unique<Inlet>(geometry_, bell_, static_cast<std::uint16_t>(channel),
                                        static_cast<std::uint8_t>(tag));
        inlets_.push_back(found.get());
    }
    return *found;
}

bool Link::take_over(int flow, ProcessDescriptor socket, std::chrono::milliseconds user_timeout) {
    const auto number = static_cast<std::size_t>(flow);
    if (flows_[number] || departed_ || !loss_.empty()) return false;
    auto made = std::make_unique<Flow>(std::move(socket), user_timeout, flows_.size() > 1 ? kUnsentBytes : 0, counts_);
    poller_.add(*made);
    flows_[number] = std::move(made);
    return true;
}

// --- Output ----------------------------------------------------------------------------------------------------------

bool Link::has_output() const noexcept {
    return std::ranges::any_of(outlets_, [](const Outlet* outlet) { return !outlet->empty(); }) ||
           std::ranges::any_of(inlets_, [](const Inlet* inlet) { return inlet->owes(); });
}

bool Link::send(bool departing) noexcept {
    if (departed_ && loss_.empty() && std::ranges::any_of(outlets_, [](const auto* o) { return !o->empty(); })) {
        lose(fmt::format("rank {} has left the communicator, and this rank still has messages for it", peer_));
    }
    bool moved = false;
    // A batch for each connection that is free, in rounds: what one has taken is gone when the next one looks.
    for (bool again = true; again;) {
        again = false;
        const std::size_t start = first_;
        for (std::size_t i = 0; i < flows_.size(); ++i) {
            const std::unique_ptr<Flow>& flow = flows_[(start + i) % flows_.size()];
            if (flow && send(*flow, departing)) again = moved = true;
        }
    }
    return moved;
}

bool Link::send(Flow& flow, bool departing) noexcept {
    if (flow.idle() && flow.open() && !fill(flow) && departing && !flow.said_farewell) {
        flow.said_farewell = true;
        flow.append({.mark = mark_of(FrameKind::Farewell)}, nullptr);
    }
    return !flow.idle() && flow.send();
}

/// Puts credits and pieces into the flow's batch. True if there were any.
bool Link::fill(Flow& flow) noexcept {
    if (flow.said_farewell) return false;
    for (Inlet* inlet : inlets_) {
        if (inlet->owes() && flow.takes_more(batch())) flow.append(inlet->credit(), nullptr);
    }
    while (flow.takes_more(batch()) && add_pieces(flow)) {}
    return !flow.idle();
}

/// One piece of each outlet in turn. False when all are empty.
bool Link::add_pieces(Flow& flow) noexcept {
    bool any = false;
    for (std::size_t i = 0; i < outlets_.size() && flow.takes_more(batch()); ++i) {
        Outlet& outlet = *outlets_[turn_ % outlets_.size()];
        ++turn_;
        if (outlet.empty()) continue;
        const Piece piece = outlet.next();
        flow.append(piece.frame, piece.payload);
        // Long pieces go round the connections; short ones stay where the caches are warm.
        if (piece.frame.length >= kLongBytes) ++first_;
        any = true;
    }
    return any;
}

bool Link::flushed(bool departing) const noexcept {
    if (!loss_.empty()) return true;
    if (departed_) return std::ranges::all_of(outlets_, [](const Outlet* outlet) { return outlet->empty(); });
    return !has_output() && std::ranges::all_of(flows_, [&](const auto& flow) {
        return !flow || !flow->open() || (flow->idle() && (!departing || flow->said_farewell));
    });
}

bool Link::delivered() const noexcept {
    return std::ranges::all_of(flows_, [](const auto& flow) { return !flow || flow->delivered(); });
}

// --- Input -----------------------------------------------------------------------------------------------------------

bool Link::ready() const noexcept {
    return std::ranges::any_of(
        flows_, [](const auto& flow) { return flow && (flow->readable || (flow->writable && !flow->idle())); });
}

bool Link::stuck() const noexcept {
    return std::ranges::any_of(flows_, [](const auto& flow) { return flow && !flow->writable; });
}

bool Link::receive(bool ask_all) noexcept {
    bool moved = false;
    for (auto& flow : flows_) {
        if (!flow) continue;
        flow->readable = flow->readable || ask_all;
        if (!flow->readable) continue;
        try {
            switch (flow->receive(*this)) {
                case Flow::Input::Nothing: break;
                case Flow::Input::Moved: moved = true; break;
                case Flow::Input::Ended:
                    moved = true;
                    close(flow);
                    break;
                case Flow::Input::Broken:
                    lose(fmt::format("lost the connection to rank {} ({}): {}", peer_, flow->addresses(),
                                     flow->failure()));
                    return true;
            }
        } catch (...) {
            lose(fmt::format("cannot receive from rank {}: {}", peer_, current_failure().text));
            return true;
        }
    }
    if (moved) note_departure();
    return moved;
}

std::variant<Arrival, Fault> Link::begin(const Frame& frame) {
    if (const auto fault = check(frame, geometry_)) return *fault;
    switch (frame.kind()) {
        case FrameKind::Data: return inlet(frame.channel, frame.tag).admit(frame);
        case FrameKind::Credit: {
            Outlet* const found = outlet_at_[index_of(frame.channel, frame.tag)].get();
            if (found == nullptr) return Fault{"count of released messages", frame.sequence};
            if (const auto fault = found->take_credit(frame)) return *fault;
            break;
        }
        case FrameKind::Farewell: break;
    }
    return Arrival{};
}

std::optional<Fault> Link::end(const Frame& frame, const Arrival& arrival) {
    return inlet_at_[index_of(frame.channel, frame.tag)]->complete(frame, arrival);
}

void Link::note_departure() noexcept {
    if (departed_) return;
    departed_ = std::ranges::all_of(flows_, [](const auto& flow) { return !flow || flow->farewell(); });
}

void Link::close(std::unique_ptr<Flow>& flow) noexcept {
    if (!flow) return;
    poller_.remove(*flow);
    flow.reset();
}

void Link::lose(std::string text) noexcept {
    loss_ = std::move(text);
    for (auto& flow : flows_) close(flow);
}

}  // namespace rondo::transport::tcp
