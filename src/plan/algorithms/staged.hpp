#pragma once
// Words of the shapes that stage: ranks whose buffers are their own but whose scratch all can address (a window in
// shared memory). Each rank puts what others need into its window and takes what it needs from theirs.
//
// A window is written anew for every tile, and by the next operation, so no rank may be behind: the ranks meet after
// they have filled their windows and again after they have read those of others. A step that writes its window after
// such a meeting, or that was after it on every reader, races with nobody.

#include "plan/algorithms/direct.hpp"

namespace rondo::plan {

/// Block `block` of another rank's window.
inline Operand peer_scratch(Index peer, Index block = fixed(0)) {
    return {.place = Place::Peer, .buffer = Buffer::Scratch, .peer = peer, .block = block};
}

/// Appends the meeting of all to steps of a tile.
inline void meet_in_tile(std::vector<Step>& steps, Rank rank, Rank n) {
    steps.push_back(post_to(others(rank, n), n - 1));
    steps.push_back(wait_for(others(rank, n), n - 1));
}

/// Everyone's contribution in rank order: the own input, and block `block` of the others' windows.
inline std::vector<Operand> staged_in_rank_order(Rank rank, Rank n, Index own_block, Index block) {
    const auto staged = [&](Rank first, Rank count) {
        Operand operand = fan(count, peer_scratch({.base = first, .cf = 1}, block));
        operand.pre = true;
        return operand;
    };
    std::vector<Operand> operands;
    if (rank > 0) operands.push_back(staged(0, rank));
    operands.push_back(contribution(own_block));
    if (rank < n - 1) operands.push_back(staged(rank + 1, n - 1 - rank));
    return operands;
}

/// The steps that copy all parts of a tile but the own from the input to the window.
inline std::vector<Step> stage_all_but(Rank rank, Rank n) {
    std::vector<Step> steps;
    if (rank > 0) steps.push_back({.width = rank, .part = fixed(0), .dsts = {scratch()}, .srcs = {input()}});
    if (rank < n - 1) {
        steps.push_back({.width = n - 1 - rank, .part = fixed(rank + 1), .dsts = {scratch()}, .srcs = {input()}});
    }
    return steps;
}

}  // namespace rondo::plan
