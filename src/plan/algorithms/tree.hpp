#pragma once
// The two trees of the double binary tree.
//
// Positions 1..m form an in-order binary tree: position i has height h = number of trailing zero bits of i, children
// i - 2^(h-1) and i + 2^(h-1) (or, where that lies beyond m, the highest position below it that exists), and the root
// is the highest power of two up to m. Odd positions are leaves, even ones inner nodes. The second tree is the first
// with every member moved on by one position, cyclically: an even position becomes an odd one (or position 1), so a
// member is an inner node in at most one of the trees: with half of the data on each, no rank sends more than a tree of
// its own would make it send, and leaves of one tree work in the other.
//
// Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35 (2009).

#include <array>
#include <bit>

#include "plan/algorithms/common.hpp"

namespace rondo::plan {

inline constexpr Rank kNone = -1;

/// A member's neighbours in a tree; kNone where there is none.
struct TreeNode {
    Rank parent = kNone;
    std::array<Rank, 2> children{kNone, kNone};
};

/// Neighbours of position `i` in the in-order tree of positions 1..m, as positions.
inline TreeNode in_order_node(Rank m, Rank i) {
    const Rank bit = i & -i;
    TreeNode node;
    // Up: clear the lowest bit and set the next; beyond m that position does not exist, and its own parent adopts.
    for (Rank child = bit; node.parent == kNone && child < m; child *= 2) {
        const Rank candidate = (i & ~(2 * child - 1)) | (2 * child);
        if (candidate <= m) node.parent = candidate;
    }
    if (bit > 1) {
        node.children[0] = i - bit / 2;
        for (Rank step = bit / 2; step > 0 && node.children[1] == kNone; step /= 2) {
            if (i + step <= m) node.children[1] = i + step;
        }
    }
    return node;
}

/// Neighbours of member `member` (0..m-1) in tree `tree` (0 or 1) of m members, as members.
inline TreeNode double_tree_node(Rank m, Rank member, int tree) {
    TreeNode node = in_order_node(m, (member + tree) % m + 1);
    const auto member_at = [&](Rank position) { return position == kNone ? kNone : (position - 1 - tree + m) % m; };
    return {member_at(node.parent), {member_at(node.children[0]), member_at(node.children[1])}};
}

/// Every channel of the facts as two channels, one for each tree; `lanes_of(tree)` makes their lanes.
template <class LanesOf>
Plan with_trees(Plan plan, const Facts& facts, const LanesOf& lanes_of) {
    for (std::int32_t channel = 0; channel < facts.channels; ++channel) {
        for (const int tree : {0, 1}) plan.channels.push_back({lanes_of(tree)});
    }
    return plan;
}

/// The member at the root of tree `tree` of m members.
inline Rank double_tree_root(Rank m, int tree) { return ((Rank{1} << log2_floor(m)) - 1 - tree + m) % m; }

}  // namespace rondo::plan
