// A group of sends and receives, as the user listed them.
//
// Steps on rank r, in two lanes; k counts the operations of a pair, in the order of the list:
//   sends:     for k = 0, 1, ...: for each tile: the k-th send to each peer, in the order of the distance (peer - r)
//   mod n receives:  for k = 0, 1, ...: for each tile: the k-th receive from each peer, in the order of (r - peer) mod
//   n
// The k-th send to oneself is copied to the k-th receive from oneself.
// Bytes: those of the sends. Cost: T = messages alpha + bytes * beta.
// So the messages of a pair come in the order of its operations, one operation after the other, and it does not matter
// how the two ranks have grouped them; and the tiles of different peers take turns, so that a long message holds up
// none of the others. No deadlock with any number of slots, where both ranks of each pair have the same operations in
// their groups: give both ends the key (k, tile, distance). Each lane runs in the order of its keys. Suppose that lanes
// wait for ever, and take the smallest key at which one waits. If it is a receive, its message is not there: the
// sender's lane waits at this key or a smaller one. By choice it is this key, so the send waits for a slot, which the
// receive of an earlier message of this FIFO frees, whose key is smaller; the receiver has passed it, since its lane
// stands at this key. If it is a send, the receive of an earlier message of the FIFO has not run, so the receiver's
// lane waits at a smaller key. Both contradict the choice. Source: the ordering by distance is that of pairwise
// exchange, Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
// (2005).

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

namespace {

void require_peers(Rank nranks, std::span<const GroupOp> ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].peer >= 0 && ops[i].peer < nranks) continue;
        throw Error(Code::InvalidArgument, std::string(ops[i].send ? "send" : "receive") + " number " +
                                               std::to_string(i) + " of the group names rank " +
                                               std::to_string(ops[i].peer) + "; ranks are 0 to " +
                                               std::to_string(nranks - 1));
    }
}

/// A send or receive: its index in the list, and its number among those of the same pair and direction.
struct Numbered {
    std::int32_t index = 0;
    std::int32_t k = 0;
    Rank distance = 0;
};

/// The sends (or receives) to other ranks, by number and then by distance.
std::vector<Numbered> in_turn(Rank nranks, Rank rank, std::span<const GroupOp> ops, bool sends) {
    std::vector<Numbered> chosen;
    std::map<Rank, std::int32_t> seen;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].send != sends || ops[i].peer == rank) continue;
        const Rank forward = (ops[i].peer - rank + nranks) % nranks;
        chosen.push_back({.index = static_cast<std::int32_t>(i),
                          .k = seen[ops[i].peer]++,
                          .distance = sends ? forward : nranks - forward});
    }
    std::ranges::sort(chosen, {}, [](const Numbered& op) { return std::pair(op.k, op.distance); });
    return chosen;
}

/// One block for each number, in a tile loop of its own.
void add_loops(Lane& lane, const std::vector<Numbered>& ops, const std::function<Step(std::int32_t)>& step_of) {
    for (const Numbered& op : ops) {
        if (lane.blocks.empty() || lane.blocks.back().loop != op.k) {
            lane.blocks.push_back({.when = When::EachTile, .loop = op.k});
        }
        lane.blocks.back().steps.push_back(step_of(op.index));
    }
}

/// The copies of the sends to oneself to the receives from oneself.
std::vector<Step> self_copies(Rank rank, std::span<const GroupOp> ops) {
    std::vector<std::int32_t> sent;
    std::vector<std::int32_t> received;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].peer == rank) (ops[i].send ? sent : received).push_back(static_cast<std::int32_t>(i));
    }
    if (sent.size() != received.size()) {
        const bool send = sent.size() > received.size();
        const std::int32_t index = (send ? sent : received)[std::min(sent.size(), received.size())];
        throw Error(Code::InvalidUsage, "rank " + std::to_string(rank) + " has " + std::to_string(sent.size()) +
                                            " sends to and " + std::to_string(received.size()) +
                                            " receives from itself in one group: " + (send ? "send" : "receive") +
                                            " number " + std::to_string(index) +
                                            " has no partner; put both into the same group");
    }
    std::vector<Step> steps;
    for (std::size_t k = 0; k < sent.size(); ++k) {
        steps.push_back({.dsts = {output(fixed(received[k]))}, .srcs = {input(fixed(sent[k]))}});
    }
    return steps;
}

}  // namespace

Plan build_group(Rank nranks, Rank rank, std::span<const GroupOp> ops) {
    require_peers(nranks, ops);
    const auto peer_of = [&](std::int32_t i) { return fixed(ops[static_cast<std::size_t>(i)].peer); };
    Lane sends;
    add_loops(sends, in_turn(nranks, rank, ops, true),
              [&](std::int32_t i) -> Step { return {.dsts = {send(peer_of(i))}, .srcs = {input(fixed(i))}}; });
    Lane receives;
    if (std::vector<Step> copies = self_copies(rank, ops); !copies.empty()) {
        receives.blocks.push_back(each_tile(std::move(copies)));
    }
    add_loops(receives, in_turn(nranks, rank, ops, false),
              [&](std::int32_t i) -> Step { return {.dsts = {output(fixed(i))}, .srcs = {receive(peer_of(i))}}; });
    const Facts facts{.nranks = nranks};
    return with_lanes(start_plan(Collective::SendRecv, Algorithm::Group, facts, rank), facts,
                      {std::move(sends), std::move(receives)});
}

}  // namespace rondo::plan
