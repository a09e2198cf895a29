// A group of sends and receives, as the user listed them.
//
// Steps, for each tile, on rank r, in two lanes:
//   sends:     in the order of the distance (peer - r) mod n, those to one peer in the order of the list
//   receives:  in the order of the distance (r - peer) mod n, those from one peer in the order of the list
// The k-th send to oneself is copied to the k-th receive from oneself.
// Bytes: those of the sends. Cost: T = messages alpha + bytes * beta.
// No deadlock with any number of slots, provided that every send has its receive, of the same extent: give both the key
// (tile, distance, k), the same at both ends, where k counts the operations of the pair. Each lane runs in the order of
// its keys. Suppose that lanes wait for ever, and take the smallest key at which one waits. If it is a receive, its
// message is not there: the sender's lane waits at this key or a smaller one. By choice it is this key, so the send
// waits for a slot, which the receive of an earlier message of this FIFO frees, whose key is smaller; the receiver has
// passed it, since its lane stands at this key. If it is a send, the receive of an earlier message of the FIFO has not
// run, so the receiver's lane waits at a smaller key. Both contradict the choice. The tile loop is outermost at both
// ends, so that a long message does not hold up the others. Source: the ordering by distance is that of pairwise
// exchange, Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
// (2005).

#include <algorithm>
#include <string>

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

/// Indices of the sends (or receives) to other ranks, by distance and then by their place in the list.
std::vector<std::int32_t> by_distance(Rank nranks, Rank rank, std::span<const GroupOp> ops, bool sends) {
    std::vector<std::int32_t> chosen;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].send == sends && ops[i].peer != rank) chosen.push_back(static_cast<std::int32_t>(i));
    }
    const auto distance = [&](std::int32_t i) {
        const Rank forward = (ops[static_cast<std::size_t>(i)].peer - rank + nranks) % nranks;
        return sends ? forward : nranks - forward;
    };
    std::ranges::stable_sort(chosen, {}, distance);
    return chosen;
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
    std::vector<Step> sends;
    for (const std::int32_t i : by_distance(nranks, rank, ops, true)) {
        const Rank peer = ops[static_cast<std::size_t>(i)].peer;
        sends.push_back({.dsts = {send(fixed(peer))}, .srcs = {input(fixed(i))}});
    }
    std::vector<Step> receives = self_copies(rank, ops);
    for (const std::int32_t i : by_distance(nranks, rank, ops, false)) {
        const Rank peer = ops[static_cast<std::size_t>(i)].peer;
        receives.push_back({.dsts = {output(fixed(i))}, .srcs = {receive(fixed(peer))}});
    }
    const Facts facts{.nranks = nranks};
    return with_lanes(start_plan(Collective::SendRecv, Algorithm::Group, facts, rank), facts,
                      {{{each_tile(std::move(sends))}}, {{each_tile(std::move(receives))}}});
}

}  // namespace rondo::plan
