#pragma once
// A small concrete interpreter of plans: all ranks of one operation on 64-bit integers, one step at a time. It says
// what plans mean in the fewest words, in the order in which plan.hpp says it, and throws where they mean nothing.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "plan/plan.hpp"
#include "plan/range.hpp"

namespace rondo::plan::reference {

using Word = std::uint64_t;
inline constexpr Word kPre = 3;   ///< the premultiplier
inline constexpr Word kPost = 5;  ///< the final factor

/// Blocks of a buffer in the v-forms: lengths and offsets in elements.
struct Extents {
    std::vector<std::int64_t> length;
    std::vector<std::int64_t> offset;
};

/// One rank's memory. The spans may overlap (in place) or be empty (no access allowed).
struct Buffers {
    std::span<Word> input;
    std::span<Word> output;
    Extents input_extents{};  ///< empty: uniform blocks of `count`
    Extents output_extents{};
};

struct Launch {
    std::int64_t count = 1;
    std::int64_t chunk = 1;
    std::int32_t align = 1;
    std::size_t slots = 1;
    bool mix = false;  ///< reduce by a function that neither commutes nor associates: equal results, equal expressions
};

enum class Order : std::uint8_t { RoundRobin, FirstLanes, LastLanes, Random };

class Machine {
public:
    Machine(std::span<const Plan> plans, std::vector<Buffers> buffers, const Launch& launch)
        : plans_(plans),
          buffers_(std::move(buffers)),
          launch_(launch),
          sent(plans.size()),
          messages(plans.size()),
          moved(plans.size()),
          egress(plans.size()),
          ingress(plans.size()),
          started_(plans.size()),
          open_(plans.size()) {
        for (const Plan& plan : plans_) {
            for (std::size_t c = 0; c < plan.channels.size(); ++c) {
                require(plan.channels[c].lanes.size() <= kMaxLanes, "too many lanes");
                for (const Lane& lane : plan.channels[c].lanes) {
                    lanes_.push_back({.rank = plan.rank, .channel = static_cast<std::int32_t>(c), .lane = &lane});
                    ++open_[at(plan.rank)];
                }
                const std::int64_t words = plan.scratch_blocks * launch_.chunk * plan.parts;
                scratch_[{plan.rank, static_cast<std::int32_t>(c)}].assign(at(words), 0xdeadbeef);
            }
        }
        for (Cursor& lane : lanes_) settle(lane);
    }

    void run(Order order, unsigned seed) {
        std::mt19937 random(seed);
        if (order == Order::LastLanes) std::ranges::reverse(lanes_);
        for (bool progress = true; progress;) {
            progress = false;
            if (order == Order::Random) std::ranges::shuffle(lanes_, random);
            const bool greedy = order == Order::FirstLanes || order == Order::LastLanes;
            for (Cursor& lane : lanes_) {
                while (advance(lane)) {
                    progress = true;
                    if (!greedy) break;
                }
            }
        }
        for (const Cursor& lane : lanes_) require(lane.phase == 3, "deadlock: rank " + std::to_string(lane.rank));
        for (const auto& [id, fifo] : fifos_) require(fifo.messages.empty(), "a message is left over");
        for (const auto& [id, counter] : counters_) {
            for (std::size_t k = 0; k < counter.named.size(); ++k) {
                for (const Rank waiter : counter.named[k]) {
                    const auto done = counter.waits.find(waiter);
                    require(done != counter.waits.end() && done->second > k, "a post is not awaited");
                }
            }
        }
    }

private:
    struct Cursor {
        Rank rank = 0;
        std::int32_t channel = 0;
        const Lane* lane = nullptr;
        int phase = 0;
        std::int32_t loop = 0;
        std::int64_t tile = 0;
        std::size_t block = 0;
        std::int32_t s = 0;
        std::size_t step = 0;
        int depth = 0;  ///< hops behind what the lane has done
    };
    struct Message {
        std::vector<Word> words;
        bool posted = false;
        int depth = 0;
    };
    struct Fifo {
        std::deque<Message> messages;
        bool held = false;  ///< the consumer has the first one
    };
    struct Counter {
        std::vector<std::set<Rank>> named;  ///< by post
        std::vector<int> depth;
        std::map<Rank, std::size_t> waits;
    };

    static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
    static void require(bool holds, const std::string& what) {
        if (!holds) throw std::runtime_error(what);
    }

    [[nodiscard]] const Plan& plan(const Cursor& lane) const { return plans_[at(lane.rank)]; }
    [[nodiscard]] Cut cut(const Cursor& lane) const {
        return {launch_.chunk, plan(lane).parts, static_cast<std::int32_t>(plan(lane).channels.size()), launch_.align};
    }
    [[nodiscard]] std::int64_t tiles(const Cursor& lane) const {
        const Buffers& own = buffers_[at(lane.rank)];
        std::int64_t most = own.input_extents.length.empty() && own.output_extents.length.empty()
                                ? tile_count(launch_.count, cut(lane), lane.channel)
                                : 0;
        for (const Extents* table : {&own.input_extents, &own.output_extents}) {
            for (const std::int64_t extent : table->length) {
                most = std::max(most, tile_count(extent, cut(lane), lane.channel));
            }
        }
        return most;
    }

    /// Runs the lane's next step if it need not wait. False where it must, or has ended.
    bool advance(Cursor& lane) {
        if (lane.phase == 3) return false;
        const Step& step = lane.lane->blocks[lane.block].steps[lane.step];
        const bool done = step.kind == Kind::Move   ? move(lane, step)
                          : step.kind == Kind::Post ? post(lane, step)
                                                    : wait(lane, step);
        if (!done) return false;
        started_[at(lane.rank)] = true;
        ++lane.step;
        settle(lane);
        if (lane.phase == 3) {
            hops = std::max(hops, lane.depth);
            require(
                plan(lane).collective != Collective::Barrier || std::ranges::find(started_, false) == started_.end(),
                "left a barrier before all had entered");
        }
        return true;
    }

    /// Moves the cursor over ends of blocks, tiles and phases.
    void settle(Cursor& lane) {
        const std::vector<Block>& blocks = lane.lane->blocks;
        while (lane.phase < 3) {
            if (lane.block >= blocks.size() || (lane.phase == 1 && lane.tile >= tiles(lane))) {
                lane.block = 0;
                if (lane.phase != 1) {
                    ++lane.phase;
                } else if (++lane.tile >= tiles(lane)) {
                    const bool again = tiles(lane) > 0 && ++lane.loop < lane.lane->loops();
                    lane.tile = again ? 0 : lane.tile;
                    if (!again) ++lane.phase;
                }
            } else if (static_cast<int>(blocks[lane.block].when) != lane.phase ||
                       (lane.phase == 1 && blocks[lane.block].loop != lane.loop) ||
                       lane.s >= blocks[lane.block].repeat) {
                ++lane.block;
                lane.s = 0;
            } else if (lane.step >= blocks[lane.block].steps.size()) {
                lane.step = 0;
                ++lane.s;
            } else {
                return;
            }
        }
        --open_[at(lane.rank)];
    }

    bool post(Cursor& lane, const Step& step) {
        for (const Operand& dst : step.dsts) {
            Counter& counter = counters_[{lane.channel, lane.rank, dst.tag}];
            counter.named.emplace_back();
            counter.depth.push_back(lane.depth + 1);
            for (int f = 0; f < dst.fan; ++f) {
                counter.named.back().insert(static_cast<Rank>(dst.peer.at(lane.s, 0, f)));
            }
        }
        return true;
    }

    bool wait(Cursor& lane, const Step& step) {
        for (const bool take : {false, true}) {
            for (const Operand& src : step.srcs) {
                for (int f = 0; f < src.fan; ++f) {
                    const auto owner = static_cast<Rank>(src.peer.at(lane.s, 0, f));
                    Counter& counter = counters_[{lane.channel, owner, src.tag}];
                    const std::size_t k = counter.waits[lane.rank];
                    if (counter.named.size() <= k) return false;
                    if (!take) continue;
                    require(counter.named[k].contains(lane.rank), "awaits a post for others");
                    lane.depth = std::max(lane.depth, counter.depth[k]);
                    ++counter.waits[lane.rank];
                    ++messages[at(lane.rank)];
                }
            }
        }
        return true;
    }

    bool move(Cursor& lane, const Step& step);
    bool ready(const Cursor& lane, const Step& step);
    void acquire(Cursor& lane, const Step& step);
    void publish(const Cursor& lane, const Step& step);
    void move_row(const Cursor& lane, const Step& step, std::int64_t j, Range range, std::int64_t longest);
    template <class Act>
    void each_message(const Cursor& lane, const Step& step, const Act& act);
    template <class Act>
    void each_place(const Cursor& lane, const Operand& op, bool source, std::int64_t j, Range range,
                    std::int64_t longest, const Act& act);
    std::span<Word> place(const Cursor& lane, const Operand& op, Rank who, std::int64_t j, std::int64_t f, Range range,
                          std::int64_t piece_length);
    [[nodiscard]] std::int64_t extent_of(const Cursor& lane, const Step& step) const;
    [[nodiscard]] static bool is_fifo(const Operand& op) {
        return op.place == Place::Inbox || op.place == Place::Outbox;
    }
    Fifo& fifo(const Cursor& lane, const Operand& op, std::int64_t f) {
        const auto peer = static_cast<Rank>(op.peer.at(lane.s, 0, f));
        require(peer >= 0 && peer < plan(lane).nranks, "no such rank");
        return op.place == Place::Inbox ? fifos_[{lane.channel, peer, lane.rank, op.tag}]
                                        : fifos_[{lane.channel, lane.rank, peer, op.tag}];
    }
    [[nodiscard]] Word reduce(Word a, Word b) const {
        return launch_.mix ? (a * 0x9e3779b97f4a7c15U) ^ std::rotl(b * 0xbf58476d1ce4e5b9U, 29) : a + b;
    }

    std::span<const Plan> plans_;
    std::vector<Buffers> buffers_;
    Launch launch_;

public:
    std::vector<std::int64_t> sent;      ///< by rank: elements in messages to others
    std::vector<std::int64_t> messages;  ///< by rank: messages to others, and counters awaited
    std::vector<std::int64_t> moved;     ///< by rank: elements that it loads from and stores to others' buffers
    std::vector<std::int64_t> egress;    ///< by rank: elements that leave it through the multicast switch
    std::vector<std::int64_t> ingress;
    int hops = 0;  ///< messages and posts on the critical path

private:
    std::vector<bool> started_;
    std::vector<int> open_;  ///< by rank: lanes that have not ended
    std::vector<Cursor> lanes_;
    std::map<std::tuple<std::int32_t, Rank, Rank, int>, Fifo> fifos_;
    std::map<std::tuple<std::int32_t, Rank, int>, Counter> counters_;
    std::map<std::pair<Rank, std::int32_t>, std::vector<Word>> scratch_;
};

inline std::int64_t Machine::extent_of(const Cursor& lane, const Step& step) const {
    for (const std::vector<Operand>* side : {&step.dsts, &step.srcs}) {
        for (const Operand& op : *side) {
            if ((op.place != Place::Local && op.place != Place::Peer) || op.buffer == Buffer::Scratch) continue;
            const Rank who = op.place == Place::Local ? lane.rank : static_cast<Rank>(op.peer.at(lane.s, 0, 0));
            const Buffers& owner = buffers_[at(who)];
            const Extents& table = op.buffer == Buffer::Input ? owner.input_extents : owner.output_extents;
            return table.length.empty() ? launch_.count : table.length.at(at(op.block.at(lane.s, 0, 0)));
        }
    }
    return launch_.count;
}

/// Where the operand's elements are, row j, copy f; `who` owns the buffer.
inline std::span<Word> Machine::place(const Cursor& lane, const Operand& op, Rank who, std::int64_t j, std::int64_t f,
                                      Range range, std::int64_t piece_length) {
    const auto length = at(range.size());
    if (is_fifo(op)) {
        Fifo& stream = fifo(lane, op, f);
        Message& message = op.place == Place::Inbox ? stream.messages.front() : stream.messages.back();
        require(op.place == Place::Inbox ? stream.held : !message.posted, "no message is open");
        const auto offset = at(op.piece.at(lane.s, j, f) * piece_length);
        if (op.place == Place::Outbox) message.words.resize(std::max(message.words.size(), offset + length));
        require(message.words.size() <= at(plan(lane).message_parts * launch_.chunk), "message too long");
        require(offset + length <= message.words.size(), "reads beyond a message");
        return std::span(message.words).subspan(offset, length);
    }
    const std::int64_t block = op.block.at(lane.s, j, f);
    std::span<Word> whole;
    std::int64_t offset = 0;
    if (op.buffer == Buffer::Scratch) {
        require(block < plans_[at(who)].scratch_blocks, "no such scratch");
        whole = scratch_.at({who, lane.channel});
        offset = block * launch_.chunk * plan(lane).parts + range.begin -
                 plan::range(launch_.count, cut(lane), lane.channel, lane.tile, 0, 0).begin;
    } else {
        const Buffers& owner = buffers_[at(who)];
        const Extents& table = op.buffer == Buffer::Input ? owner.input_extents : owner.output_extents;
        whole = op.buffer == Buffer::Input ? owner.input : owner.output;
        offset = (table.offset.empty() ? block * launch_.count : table.offset.at(at(block))) + range.begin;
    }
    require(block >= 0 && offset >= 0 && at(offset) + length <= whole.size(), "outside a buffer");
    if (who != lane.rank && op.buffer != Buffer::Scratch) {
        require(started_[at(who)], "touches a rank that has not entered");
        require(open_[at(who)] > 0, "touches a rank that has left");
    }
    return whole.subspan(at(offset), length);
}

inline bool Machine::move(Cursor& lane, const Step& step) {
    const std::int64_t extent = extent_of(lane, step);
    std::vector<Range> rows;
    for (int j = 0; j < step.rows; ++j) {
        const std::int64_t part = step.part.at(lane.s, j, 0);
        rows.push_back(plan::range(extent, cut(lane), lane.channel, lane.tile, part, step.width));
    }
    if (std::ranges::all_of(rows, [](const Range& row) { return row.empty(); })) return true;
    if (!ready(lane, step)) return false;
    acquire(lane, step);
    const std::int64_t longest = plan::range(extent, cut(lane), lane.channel, lane.tile, 0, step.width).size();
    for (std::size_t j = 0; j < rows.size(); ++j) {
        if (!rows[j].empty()) move_row(lane, step, static_cast<std::int64_t>(j), rows[j], longest);
    }
    publish(lane, step);
    return true;
}

/// Calls act(operand, copy f, its FIFO) for all operands of the step that are messages.
template <class Act>
void Machine::each_message(const Cursor& lane, const Step& step, const Act& act) {
    for (const std::vector<Operand>* side : {&step.dsts, &step.srcs}) {
        for (const Operand& op : *side) {
            require(op.place != (side == &step.dsts ? Place::Inbox : Place::Outbox), "a message on the wrong side");
            for (int f = 0; f < op.fan && is_fifo(op); ++f) act(op, f, fifo(lane, op, f));
        }
    }
}

inline bool Machine::ready(const Cursor& lane, const Step& step) {
    bool all = true;
    each_message(lane, step, [&](const Operand& op, int, const Fifo& stream) {
        if (!op.acquire) return;
        const bool there = !stream.messages.empty() && stream.messages.front().posted;
        all = all && (op.place == Place::Inbox ? there : stream.messages.size() < launch_.slots);
    });
    return all;
}

inline void Machine::acquire(Cursor& lane, const Step& step) {
    each_message(lane, step, [&](const Operand& op, int, Fifo& stream) {
        if (!op.acquire) return;
        if (op.place == Place::Inbox) {
            require(!stream.held, "acquired twice");
            stream.held = true;
            lane.depth = std::max(lane.depth, stream.messages.front().depth);
        } else {
            require(stream.messages.empty() || stream.messages.back().posted, "acquired twice");
            stream.messages.emplace_back();
        }
    });
}

inline void Machine::publish(const Cursor& lane, const Step& step) {
    each_message(lane, step, [&](const Operand& op, int f, Fifo& stream) {
        if (!op.publish) return;
        if (op.place == Place::Inbox) {
            require(stream.held, "gives back what it does not hold");
            stream.messages.pop_front();
            stream.held = false;
            return;
        }
        const bool away = op.peer.at(lane.s, 0, f) != lane.rank;
        Message& message = stream.messages.back();
        require(!message.posted, "posts what it has not acquired");
        message.posted = true;
        message.depth = lane.depth + (away ? 1 : 0);
        if (!away) return;
        sent[at(lane.rank)] += static_cast<std::int64_t>(message.words.size());
        ++messages[at(lane.rank)];
    });
}

/// Calls act(words) for everything that the operand stands for in row j, and counts what crosses between ranks.
template <class Act>
void Machine::each_place(const Cursor& lane, const Operand& op, bool source, std::int64_t j, Range range,
                         std::int64_t longest, const Act& act) {
    for (int f = 0; f < op.fan; ++f) {
        if (op.place == Place::Multicast) {
            for (const Plan& other : plans_) {
                act(place(lane, op, other.rank, j, f, range, longest));
                (source ? egress : ingress)[at(other.rank)] += range.size();
            }
            (source ? ingress : egress)[at(lane.rank)] += range.size();
            continue;
        }
        const Rank owner = op.place == Place::Peer ? static_cast<Rank>(op.peer.at(lane.s, j, f)) : lane.rank;
        act(place(lane, op, owner, j, f, range, longest));
        if (owner != lane.rank) moved[at(lane.rank)] += range.size();
    }
}

inline void Machine::move_row(const Cursor& lane, const Step& step, std::int64_t j, Range range, std::int64_t longest) {
    std::vector<Word> result;
    for (const Operand& op : step.srcs) {
        each_place(lane, op, true, j, range, longest, [&](std::span<const Word> words) {
            const bool first = result.empty();
            result.resize(words.size());
            for (std::size_t i = 0; i < words.size(); ++i) {
                const Word value = op.pre ? words[i] * kPre : words[i];
                result[i] = first ? value : reduce(result[i], value);
            }
        });
    }
    if (step.post) std::ranges::transform(result, result.begin(), [](Word value) { return value * kPost; });
    for (const Operand& op : step.dsts) {
        each_place(lane, op, false, j, range, longest,
                   [&](std::span<Word> words) { std::ranges::copy(result, words.begin()); });
    }
}

}  // namespace rondo::plan::reference
