#include "plan/traffic.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rondo::plan {

namespace {

bool in_user_buffer(const Operand& operand) {
    return (operand.place == Place::Local || operand.place == Place::Peer) && operand.buffer != Buffer::Scratch;
}

class Walker {
public:
    Walker(const Plan& plan, const Sizes& sizes) : plan_(plan), sizes_(sizes) {
        const auto n = static_cast<std::size_t>(plan.nranks);
        traffic_ = {std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n)};
    }

    PlannedTraffic walk() {
        for (std::size_t channel = 0; channel < plan_.channels.size(); ++channel) {
            channel_ = static_cast<std::int32_t>(channel);
            for (const Lane& lane : plan_.channels[channel].lanes) walk(lane);
        }
        return std::move(traffic_);
    }

private:
    void walk(const Lane& lane) {
        const auto run = [&](When when, std::int32_t loop, std::int64_t tile) {
            for (const Block& block : lane.blocks) {
                if (block.when == when && block.loop == loop) walk(block, tile);
            }
        };
        run(When::Before, 0, 0);
        for (std::int32_t loop = 0; loop < lane.loops(); ++loop) {
            for (std::int64_t tile = 0; tile < tiles(); ++tile) run(When::EachTile, loop, tile);
        }
        run(When::After, 0, std::max<std::int64_t>(tiles(), 1) - 1);
    }

    void walk(const Block& block, std::int64_t tile) {
        for (std::int64_t s = 0; s < block.repeat; ++s) {
            for (const Step& step : block.steps) {
                if (step.kind == Kind::Move) walk(step, tile, s);
            }
        }
    }

    void walk(const Step& step, std::int64_t tile, std::int64_t s) {
        bool any = false;
        for (std::int64_t row = 0; row < step.rows; ++row) any = walk_row(step, tile, s, row) || any;
        if (!any) return;
        for (const Operand& operand : step.dsts) {
            if (operand.place != Place::Outbox || !operand.publish) continue;
            for (std::int64_t f = 0; f < operand.fan; ++f) count_message(operand.tag, operand.peer.at(s, 0, f));
        }
    }

    /// True where the row covers elements.
    bool walk_row(const Step& step, std::int64_t tile, std::int64_t s, std::int64_t row) {
        const std::int64_t extent = extent_of(step, s, row);
        const std::int64_t part = step.part.at(s, row, 0);
        const std::int64_t length = range(extent, sizes_.cut, channel_, tile, part, step.width).size();
        if (length <= 0) return false;
        const std::int64_t span = range(extent, sizes_.cut, channel_, tile, 0, step.width).size();
        for (const std::vector<Operand>* side : {&step.dsts, &step.srcs}) {
            for (const Operand& operand : *side) {
                for (std::int64_t f = 0; f < operand.fan; ++f) {
                    note(operand, operand.peer.at(s, row, f), length, operand.piece.at(s, row, f) * span);
                }
            }
        }
        return true;
    }

    /// `length` elements of an operand; in a message they begin at element `offset`.
    void note(const Operand& operand, std::int64_t peer, std::int64_t length, std::int64_t offset) {
        if (operand.place == Place::Peer && peer != plan_.rank) {
            traffic_.direct_bytes[static_cast<std::size_t>(peer)] +=
                static_cast<std::uint64_t>(length * sizes_.element_bytes);
        }
        if (operand.place == Place::Outbox) {
            std::int64_t& end = open_[{operand.tag, peer}];
            end = std::max(end, (offset + length) * sizes_.element_bytes);
        }
    }

    void count_message(int tag, std::int64_t peer) {
        const auto sent = open_.extract({tag, peer});
        traffic_.sent_bytes[static_cast<std::size_t>(peer)] += static_cast<std::uint64_t>(sent.mapped());
        ++traffic_.sent_messages[static_cast<std::size_t>(peer)];
    }

    std::int64_t extent_of(const Step& step, std::int64_t s, std::int64_t row) const {
        for (const std::vector<Operand>* side : {&step.dsts, &step.srcs}) {
            const auto found = std::ranges::find_if(*side, in_user_buffer);
            if (found == side->end()) continue;
            const auto extents = found->buffer == Buffer::Input ? sizes_.input_extents : sizes_.output_extents;
            return extents.empty() ? sizes_.count : extents[static_cast<std::size_t>(found->block.at(s, row, 0))];
        }
        return sizes_.count;
    }

    std::int64_t tiles() const {
        std::int64_t extent = sizes_.count;
        for (const auto extents : {sizes_.input_extents, sizes_.output_extents}) {
            for (const std::int64_t each : extents) extent = std::max(extent, each);
        }
        return tile_count(extent, sizes_.cut, channel_);
    }

    const Plan& plan_;
    const Sizes& sizes_;
    std::int32_t channel_ = 0;
    PlannedTraffic traffic_;
    std::map<std::pair<int, std::int64_t>, std::int64_t> open_;  // bytes of messages under way, by tag and peer
};

}  // namespace

PlannedTraffic traffic_of(const Plan& plan, const Sizes& sizes) { return Walker(plan, sizes).walk(); }

}  // namespace rondo::plan
