#pragma once
// The verifier: proves of a set of plans, one per rank, that they compute their collective, or says where they do not.
//
// It runs the plans symbolically. The state of a buffer is a list of intervals, each with the expression that its
// elements hold (expression.hpp); a step moves and combines expressions. It checks
//   - structure: indices, places, budgets, acquire and publish in pairs, each end of a FIFO in one lane;
//   - progress: every lane of every rank finishes;
//   - meaning: every output element holds every contribution exactly once, at the right position, with the
//     premultiplier and the final factor applied once, and the same expression on every rank (so the same bits);
//   - memory: no read before a write, nothing outside a buffer, nothing written that the collective does not own;
//   - messages: both ends agree on every length, no message and no post is left over;
//   - races: by vector clocks, including the rule that no rank touches another's user buffers before that rank has
//     entered the operation or after it has left it.
//
// Why one execution is enough for all schedules: lanes are sequential programs that meet only in FIFOs, each end of
// which belongs to one lane and which they can only wait on (no peeking, no choice between FIFOs), and in counters,
// which one lane advances and others can only wait on. That is a Kahn process network: the sequence of messages in
// every FIFO, and whether each lane finishes, do not depend on the order in which the lanes run. A bounded FIFO of S
// slots is two such streams, one of messages and one of free slots. Data in memory that several lanes address
// (Local across lanes, Peer, Multicast) is outside the network; it is as deterministic if there is no race, and that
// is what the vector clocks prove. (G. Kahn, "The semantics of a simple language for parallel programming", IFIP 1974.)
//
// Several operations, given in order, run one after another on each rank without a barrier between them: a rank starts
// the next one as soon as its own lanes have finished. FIFOs, counters and scratch persist; user buffers are fresh.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "plan/range.hpp"
#include "plan/shapes.hpp"

namespace rondo::plan {

/// Extents and positions of the blocks of one user buffer, in elements (v-forms and groups).
struct ExtentTable {
    std::vector<std::int64_t> length;
    std::vector<std::int64_t> offset;  ///< of the block's first element in the buffer
};

/// The tables of one rank. all_to_all_v: entry p is the block to or from rank p. send_recv: entry i is that of ops[i],
/// in the input's table for a send and in the output's for a receive; the other table's entry has length 0.
struct RankTables {
    ExtentTable input;
    ExtentTable output;
    std::vector<GroupOp> ops{};  ///< send_recv only
};

/// What is bound when an operation starts.
struct Launch {
    std::int64_t count = 1;  ///< elements of a block, as the collective's caller counts them
    std::int64_t chunk = 1;  ///< elements of a part of a full tile; a multiple of align
    std::int32_t align = 1;
    bool in_place = false;  ///< the buffers overlap as the collective's in-place rule says; ignored where it has none
    std::vector<RankTables> tables{};  ///< by rank; all_to_all_v and send_recv only
};

/// One operation: the plans of all ranks, in rank order, and its launch. The plans must outlive the call.
struct Operation {
    std::span<const Plan> plans;
    Launch launch;
};

struct VerifyOptions {
    std::int32_t slots = 2;  ///< of every FIFO
    /// Elements of each block whose data is followed; empty: all. Control flow, lengths and counters are executed in
    /// full all the same. For rank counts where following every element would not fit in memory.
    std::vector<Range> window{};
    /// Ranks whose data is followed; empty: all. In a collective that only copies: the data that comes from these
    /// ranks; in reduce_scatter: the data that is for them. Anything else, unwritten elements included, is one unnamed
    /// value, so that a buffer of 8,192 blocks is a few intervals. Not for all_reduce and reduce, where a window does
    /// as much.
    std::vector<Rank> followed{};
    /// Ranks whose accesses are checked for races; empty: all. A race is found if both accesses are by watched ranks.
    std::vector<Rank> watched{};
    bool fingerprints = false;  ///< fill Report::fingerprints
    /// Refuse to execute more than this many operands (steps x rows x fans), all ranks together; 0: no limit.
    std::int64_t max_operands = 0;
};

inline constexpr Rank kMaxEdgeRanks = 1024;

/// Traffic from one rank to another.
struct EdgeTraffic {
    std::int64_t messages = 0;
    std::int64_t elements = 0;
};

/// Hashes of what an execution did, to compare two executions of the same operations on the same launches.
struct Fingerprints {
    std::uint64_t trace = 0;     ///< each lane's steps with every address, message and flag, in order
    std::uint64_t syncs = 0;     ///< each lane's acquires, publishes, posts and waits, in order of steps
    std::uint64_t lengths = 0;   ///< each FIFO's messages in order: lengths
    std::uint64_t messages = 0;  ///< each FIFO's messages in order: lengths and expressions
    std::uint64_t counters = 0;  ///< how often each counter was posted, and for whom
    std::uint64_t outputs = 0;   ///< the expressions in every output
};

/// Where in the plans a violation is; -1 where a level does not apply.
struct PlanLocation {
    std::int32_t operation = -1;
    Rank rank = -1;
    std::int32_t channel = -1;
    std::int32_t lane = -1;
    std::int32_t block = -1;
    std::int32_t step = -1;
    std::int64_t tile = -1;
    std::int32_t repeat = -1;
};

struct Report {
    bool ok = false;
    std::string violation;    ///< the first one found; empty where ok
    PlanLocation location{};  ///< of the violation

    std::int64_t steps = 0;           ///< executed, all ranks together
    std::int64_t messages = 0;        ///< between different ranks
    std::int64_t elements = 0;        ///< carried by those messages
    std::int64_t max_sent = 0;        ///< most elements that one rank sends in messages
    std::int64_t peer_elements = 0;   ///< loaded from or stored to other ranks' buffers
    std::int64_t max_peer = 0;        ///< most of those by one rank
    std::int32_t hops = 0;            ///< messages and posts between ranks on the critical path
    std::int32_t rounding_nodes = 0;  ///< roundings on the longest path from an input to an output: one per reduce step
    std::int32_t rounding_adds = 0;   ///< additions on that path, counting each operand of a step
    /// By (source, destination), self edges left out. Filled up to kMaxEdgeRanks ranks.
    std::map<std::pair<Rank, Rank>, EdgeTraffic> edges{};
    Fingerprints fingerprints{};
};

/// Runs the operations and reports. Never throws for what a plan says; a launch that makes no sense (chunk no multiple
/// of align, plans not one per rank, tables of the wrong length) is a violation too.
/// Time and memory: proportional to the steps executed, and with shared memory or several lanes also to the lanes.
[[nodiscard]] Report verify(std::span<const Operation> operations, const VerifyOptions& options);

/// Throws Error(InvalidUsage) with the violation's text where verify() refuses.
void check(std::span<const Operation> operations, const VerifyOptions& options);

/// Elements of the user's input and output buffer of one rank, zero where the collective does not use it.
[[nodiscard]] std::int64_t input_size(const Plan& plan, const Launch& launch);
[[nodiscard]] std::int64_t output_size(const Plan& plan, const Launch& launch);

}  // namespace rondo::plan
