// Double binary tree broadcast and reduce: the other n-1 ranks form two complementary trees, each a channel of its own
// with half of the vector; the root is above both.
//
// Steps, for each tile, in each tree:
//   broadcast:  the root writes out and sends its input to the tree's first rank; every rank writes out what its
//               parent sent and sends it on to its children
//   reduce:     every rank sends reduce(what its children sent, own contribution) to its parent; the root writes out
//               the sum of what the tree's first rank sent and its own contribution
// Bytes: broadcast: the root and every inner rank send the vector once; reduce: every rank but the root does.
// Cost: T = (1 + floor(log2(n-1))) alpha + 2 overhead + bytes * beta.
// Messages go one way through a tree: any number of slots will do.
// Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35 (2009).

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/tree.hpp"

namespace rondo::plan {

namespace {

/// Neighbours in tree `tree`, as ranks, with the root above the tree of the others.
TreeNode rooted_node(const Facts& facts, Rank rank, int tree) {
    const Rank n = facts.nranks;
    const auto rank_of = [&](Rank member) { return member == kNone ? kNone : (facts.root + 1 + member) % n; };
    if (rank == facts.root) return {kNone, {rank_of(double_tree_root(n - 1, tree)), kNone}};
    const TreeNode node = double_tree_node(n - 1, (rank - facts.root - 1 + n) % n, tree);
    const Rank parent = node.parent == kNone ? facts.root : rank_of(node.parent);
    return {parent, {rank_of(node.children[0]), rank_of(node.children[1])}};
}

}  // namespace

Plan build_tree_broadcast(const Facts& facts, Rank rank) {
    Plan plan = start_plan(Collective::Broadcast, Algorithm::Tree, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    return with_trees(std::move(plan), facts, [&](int tree) -> std::vector<Lane> {
        const TreeNode node = rooted_node(facts, rank, tree);
        Step step{.dsts = {output()}, .srcs = {node.parent == kNone ? input() : receive(fixed(node.parent))}};
        for (const Rank child : node.children) {
            if (child != kNone) step.dsts.push_back(send(fixed(child)));
        }
        return {{{each_tile({step})}}};
    });
}

Plan build_tree_reduce(const Facts& facts, Rank rank) {
    Plan plan = start_plan(Collective::Reduce, Algorithm::Tree, facts, rank);
    if (facts.nranks == 1) return alone(std::move(plan), facts);
    return with_trees(std::move(plan), facts, [&](int tree) -> std::vector<Lane> {
        const TreeNode node = rooted_node(facts, rank, tree);
        const bool root = node.parent == kNone;
        Step step{.post = root, .dsts = {root ? output() : send(fixed(node.parent))}};
        for (const Rank child : node.children) {
            if (child != kNone) step.srcs.push_back(receive(fixed(child)));
        }
        step.srcs.push_back(contribution());
        return {{{each_tile({step})}}};
    });
}

Cost cost_tree_rooted(const Facts& facts, double bytes) {
    if (facts.nranks == 1) return {};
    return {.hops = 1.0 + log2_floor(facts.nranks - 1), .bytes = bytes, .messages = 2};
}

}  // namespace rondo::plan
