// Double binary tree all-reduce: sums go up two complementary trees, results come down again. Each tree is a channel of
// its own and carries half of the vector.
//
// Steps, for each tile, in each tree:
//   up lane:    send reduce(what the children sent, own contribution) to the parent
//   down lane:  write out what the parent sent and send it on to the children
//   root:       both in one step: the sum is written out and sent down
// Up and down are lanes of their own, so that a leaf sends its next tile while the sum of the last is on its way.
// Bytes: a rank with a parent and two children in one tree, and a leaf in the other, sends 2 times the vector.
// Cost: T = 2 floor(log2 n) alpha + 4 overhead + 2 bytes * beta (n >= 4); the trees of n < 4 ranks are smaller.
// In place: a tile comes down only after the own contribution to it went up. Messages go up or down a tree, never in
// a cycle, so any number of slots will do.
// Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35 (2009).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/tree.hpp"

namespace rondo::plan {

Plan build_tree_all_reduce(const Facts& facts, Rank rank) {
    const Rank n = facts.nranks;
    Plan plan = start_plan(Collective::AllReduce, Algorithm::Tree, facts, rank);
    if (n == 1) return alone(std::move(plan), facts);
    return with_trees(std::move(plan), facts, [&](int tree) -> std::vector<Lane> {
        const TreeNode node = double_tree_node(n, rank, tree);
        Step up;
        Step down{.dsts = {output()}};
        for (const Rank child : node.children) {
            if (child == kNone) continue;
            up.srcs.push_back(receive(fixed(child)));
            down.dsts.push_back(send(fixed(child)));
        }
        up.srcs.push_back(contribution());
        if (node.parent == kNone) {
            up.post = true;
            up.dsts = down.dsts;
            return {{{each_tile({up})}}};
        }
        up.dsts = {send(fixed(node.parent))};
        down.srcs = {receive(fixed(node.parent))};
        return {{{each_tile({up})}}, {{each_tile({down})}}};
    });
}

Cost cost_tree_all_reduce(const Facts& facts, double bytes) {
    if (facts.nranks == 1) return {};
    const double most = std::min(facts.nranks, Rank{4});
    return {.hops = 2.0 * log2_floor(facts.nranks), .bytes = most / 2 * bytes, .messages = most};
}

}  // namespace rondo::plan
