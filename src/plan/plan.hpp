#pragma once
// The plan: what one rank does for one collective. docs/plan-ir.md states each decision and why.
//
// A plan is structural: it knows ranks, roots, channels, parts and messages, and no count, address, element type or
// reduction. Those are bound at launch, so one plan serves every size of its cache key.
//
//   plan = channels; channel = up to kMaxLanes lanes; lane = blocks of steps, executed in order:
//     every block with when == Before, once, s = 0..repeat-1
//     for loop = 0, 1, ...: for tile = 0..T-1: every block with when == EachTile of this loop, s = 0..repeat-1
//     every block with when == After, once, s = 0..repeat-1
//
// Lanes have no order between them except through FIFOs and counters.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace rondo::plan {

enum class Collective : std::uint8_t {
    AllReduce,
    Reduce,
    Broadcast,
    AllGather,
    ReduceScatter,
    AllToAll,
    AllToAllV,
    SendRecv,  ///< a group of sends and receives; every operation has its own buffer and extent
    Barrier,
};

enum class Algorithm : std::uint8_t {
    Ring,
    Tree,             ///< double binary tree
    OneShot,          ///< everyone sends everything to everyone
    TwoShot,          ///< reduce-scatter and all-gather, both in one hop
    HalvingDoubling,  ///< recursive halving, then recursive doubling
    Bruck,
    Pairwise,
    Pat,            ///< parallel aggregated trees
    Hierarchical,   ///< inside each host, then between hosts by rails
    Nvls,           ///< NVSwitch multicast
    Direct,         ///< loads and stores on the peers' own buffers
    Group,          ///< sends and receives as the user grouped them
    Dissemination,  ///< barrier in ceil(log2 n) rounds
    Staged,         ///< through windows that all ranks can address, meeting before and after
};

/// Protocol of a class of edges. Auto lets the transport choose by message length.
enum class Protocol : std::uint8_t { Auto, Simple, LL, LL128 };

/// base + scale * ((c0 + cs*s + cj*j + cf*f) mod `mod`), the remainder never negative; mod == 0: no remainder taken.
/// s counts the repeats of the block, j the rows of the step, f the fan of the operand.
struct Index {
    std::int32_t base = 0;
    std::int32_t scale = 1;
    std::int32_t c0 = 0;
    std::int32_t cs = 0;
    std::int32_t cj = 0;
    std::int32_t cf = 0;
    std::int32_t mod = 0;

    [[nodiscard]] constexpr std::int64_t at(std::int64_t s, std::int64_t j, std::int64_t f) const noexcept {
        std::int64_t value = c0 + cs * s + cj * j + cf * f;
        if (mod != 0 && (value < 0 || value >= mod)) {
            value %= mod;
            if (value < 0) value += mod;
        }
        return base + scale * value;
    }
    /// True where the value depends on none of s, j, f.
    [[nodiscard]] constexpr bool constant() const noexcept { return cs == 0 && cj == 0 && cf == 0; }
    constexpr bool operator==(const Index&) const = default;
};

/// The index that is always `value`.
constexpr Index fixed(std::int64_t value) noexcept { return {.base = static_cast<std::int32_t>(value)}; }

/// Where an operand lives.
enum class Place : std::uint8_t {
    Local,      ///< this rank's buffer
    Inbox,      ///< the current message of the FIFO from `peer` to this rank
    Outbox,     ///< the message being written of the FIFO from this rank to `peer`
    Peer,       ///< the buffer of rank `peer`, addressed directly
    Multicast,  ///< the buffer of all ranks at once: a load reduces over all of them, a store reaches all of them
    Counter,    ///< the counter of rank `peer` (Wait), or this rank's counter that the ranks `peer` await (Post)
};

enum class Buffer : std::uint8_t { Input, Output, Scratch };

/// Element type of an operand: the user's, or the accumulator's (float32 for 16- and 8-bit floats).
enum class Element : std::uint8_t { Data, Accumulator };

inline constexpr int kMaxLanes = 4;
inline constexpr int kMaxTags = 4;

/// One source or destination of a step.
///
/// Position in a local, peer or multicast buffer: block `block` starts at block * extent (Input and Output with uniform
/// extents), at the displacement that the launch's table gives (v-forms and groups), or at block * tile elements of the
/// channel's scratch (Scratch, which is addressed within the tile). The step's range is added.
/// Position in a message: piece * (length of the step's range for part 0, the longest part of the tile).
struct Operand {
    Place place = Place::Local;
    Buffer buffer = Buffer::Input;
    Element element = Element::Data;
    std::uint8_t tag = 0;  ///< of the FIFO or counter; also its class of edges
    bool acquire = false;  ///< Inbox: wait for the next message. Outbox: wait for a free slot. Before the first row
    bool publish = false;  ///< Inbox: give the slot back. Outbox: post the message. After the last row
    bool pre = false;      ///< a source: apply the reduction's premultiplier, at the first read of an input
    std::int32_t fan = 1;  ///< stands for `fan` operands, f = 0..fan-1, in that order
    Index peer{};
    Index block{};
    Index piece{};

    bool operator==(const Operand&) const = default;
};

enum class Kind : std::uint8_t {
    Move,  ///< every dst = reduce(srcs), evaluated from left to right
    Post,  ///< dsts: counters to advance by one, after everything that this lane did before
    Wait,  ///< srcs: counters to await; everything the poster did before its post is then visible
};

/// One reduce-copy over the elements of range(extent, cut, channel, tile, part, width), once for each row j.
///
/// The extent is that of the step's first Local or Peer operand with a user buffer, destinations first (they differ
/// between blocks in v-forms only); a step without one uses the launch's count. A step whose range is empty in every
/// row does nothing: its messages do not exist, at either end. Every operand has the step's length.
struct Step {
    Kind kind = Kind::Move;
    bool post = false;  ///< apply the reduction's final factor (average) to the result, once, at the final write
    std::int32_t rows = 1;
    std::int32_t width = 1;  ///< neighbouring parts covered
    Index part{};
    std::vector<Operand> dsts{};
    std::vector<Operand> srcs{};

    bool operator==(const Step&) const = default;
};

enum class When : std::uint8_t { Before, EachTile, After };

struct Block {
    When when = When::EachTile;
    /// EachTile: the tile loop that the block belongs to. A lane runs its loops one after another, each over all tiles:
    /// in a group, the k-th messages of all pairs before the (k+1)-th, whatever their lengths.
    std::int32_t loop = 0;
    std::int32_t repeat = 1;
    std::vector<Step> steps{};

    bool operator==(const Block&) const = default;
};

struct Lane {
    std::vector<Block> blocks{};

    /// Tile loops of the lane: one more than the largest Block::loop.
    [[nodiscard]] std::int32_t loops() const noexcept {
        std::int32_t last = 0;
        for (const Block& block : blocks) last = block.loop > last ? block.loop : last;
        return last + 1;
    }

    bool operator==(const Lane&) const = default;
};

struct Channel {
    std::vector<Lane> lanes{};

    bool operator==(const Channel&) const = default;
};

struct Plan {
    Collective collective = Collective::AllReduce;
    Algorithm algorithm = Algorithm::Ring;
    Rank nranks = 1;
    Rank rank = 0;
    Rank root = 0;                              ///< Reduce and Broadcast; 0 elsewhere
    std::int32_t parts = 1;                     ///< parts of a tile
    std::int32_t message_parts = 1;             ///< most parts (width x rows) that one message holds; >= 1
    std::int32_t scratch_blocks = 0;            ///< blocks of scratch that each channel needs, each one tile long
    bool window = false;                        ///< scratch is memory that all ranks can address
    std::array<Protocol, kMaxTags> protocol{};  ///< by class of edges
    std::vector<Channel> channels{};

    bool operator==(const Plan&) const = default;
};

/// What every rank knows and agrees on before a plan is built.
struct Facts {
    Rank nranks = 1;
    Rank root = 0;
    std::int32_t channels = 1;
    /// Ranks of each host, in local order; every rank exactly once. Empty: one host with all ranks in order.
    std::vector<std::vector<Rank>> hosts{};
    /// Slots that every FIFO has at least. A plan built for fewer runs with more, at the price of a copy: with one slot
    /// a ring puts down what it relays, because all slots of the ring are full when every rank has sent.
    std::int32_t slots = 1;
};

/// Price of a shape, for T = hops * latency + messages * overhead + bytes / bandwidth of one tile (the parameters L, o
/// and G of LogGP; Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995).
struct Cost {
    double hops = 0;      ///< messages and counter posts on the critical path
    double bytes = 0;     ///< that the busiest rank sends, or loads from and stores to peers' buffers
    double messages = 0;  ///< that the busiest rank sends, and counters that it awaits
};

/// "all_reduce", "reduce_scatter", ...: as in the names of the perf-tests.
std::string_view name_of(Collective collective) noexcept;
/// "ring", "tree", "one_shot", ...: as accepted by RONDO_ALGO.
std::string_view name_of(Algorithm algorithm) noexcept;

/// True where the collective reduces, so that a ReduceOp matters.
constexpr bool reduces(Collective collective) noexcept {
    return collective == Collective::AllReduce || collective == Collective::Reduce ||
           collective == Collective::ReduceScatter;
}

/// True where the collective has a root.
constexpr bool rooted(Collective collective) noexcept {
    return collective == Collective::Reduce || collective == Collective::Broadcast;
}

/// Hash of everything in the plan: equal plans have equal hashes on every machine (FNV-1a over the fields in order).
std::uint64_t hash_of(const Plan& plan) noexcept;

}  // namespace rondo::plan
