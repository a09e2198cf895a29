#include "plan/verify/expression.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace rondo::plan::detail {

namespace {

bool is_sum(const Expr& node) { return node.kind == ExprKind::Reduce || node.kind == ExprKind::MulticastReduce; }

}  // namespace

Expressions::Expressions(Rank nranks) : words_((static_cast<std::size_t>(nranks) + 63) / 64), nodes_(2), set_index_(2) {
    nodes_[kUnfollowed].kind = ExprKind::Unfollowed;
}

ExprId Expressions::intern(const Expr& node, std::span<const ExprId> operands) {
    const auto same = [&](std::uint32_t id) {
        const Expr& other = nodes_[id];
        return other.kind == node.kind && other.operation == node.operation && other.rank == node.rank &&
               std::ranges::equal(children(id), operands);
    };
    const auto fresh = [&] {
        Expr made = node;
        made.first = static_cast<std::uint32_t>(pool_.size());
        made.count = static_cast<std::uint32_t>(operands.size());
        pool_.insert(pool_.end(), operands.begin(), operands.end());
        nodes_.push_back(made);
        set_index_.push_back(0);
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    };
    return index_.find_or_add(node.hash, same, fresh);
}

ExprId Expressions::leaf(std::int32_t operation, Rank rank) {
    Expr node{.kind = ExprKind::Leaf, .operation = operation, .rank = rank, .leaves = 1};
    node.hash = mix(mix(1, static_cast<std::uint64_t>(operation)), static_cast<std::uint64_t>(rank));
    return intern(node, {});
}

ExprId Expressions::wide(ExprId operand) {
    const Expr& inner = nodes_[operand];
    if (!is_sum(inner)) return operand;  // inputs are exact as accumulators, the rest is refused where it is used
    Expr node = inner;
    node.kind = ExprKind::Wide;
    node.hash = mix(4, inner.hash);
    const std::size_t before = nodes_.size();
    const ExprId id = intern(node, std::span(&operand, 1));
    if (nodes_.size() != before) set_index_[id] = set_index_[operand];
    return id;
}

Expressions::Made Expressions::pre(ExprId operand) {
    const Expr& inner = nodes_[operand];
    if (inner.kind != ExprKind::Leaf) {
        return {kNothing, "applies the premultiplier to " + text(operand) + ", which is no rank's own input"};
    }
    Expr node{.kind = ExprKind::Pre, .operation = inner.operation, .rank = inner.rank, .leaves = 1};
    node.hash = mix(2, inner.hash);
    return {intern(node, std::span(&operand, 1)), {}};
}

Expressions::Made Expressions::post(ExprId operand) {
    const Expr& inner = nodes_[operand];
    if (!is_sum(inner)) return {kNothing, "applies the final factor to " + text(operand)};
    Expr node{.kind = ExprKind::Post,
              .operation = inner.operation,
              .rank = inner.rank,
              .nodes = inner.nodes,
              .adds = inner.adds,
              .leaves = inner.leaves};
    node.hash = mix(3, inner.hash);
    return {intern(node, std::span(&operand, 1)), {}};
}

Expressions::Made Expressions::reduce(std::span<const ExprId> operands) { return sum(ExprKind::Reduce, 0, operands); }

Expressions::Made Expressions::multicast_reduce(Rank loader, std::span<const ExprId> operands) {
    return sum(ExprKind::MulticastReduce, loader, operands);
}

Expressions::Made Expressions::sum(ExprKind kind, Rank loader, std::span<const ExprId> operands) {
    Expr node{.kind = kind, .operation = nodes_[operands[0]].operation, .rank = loader};
    scratch_.assign(words_, 0);
    for (const ExprId& operand : operands) {
        const Expr& inner = nodes_[operand];
        if (inner.kind == ExprKind::Leaf) {
            return {kNothing, "reduces " + text(operand) + " without its premultiplier"};
        }
        if (inner.kind != ExprKind::Pre && inner.kind != ExprKind::Wide && !is_sum(inner)) {
            return {kNothing, "reduces " + text(operand)};
        }
        if (inner.operation != node.operation) {
            return {kNothing, fmt::format("reduces {} with {} of another operation", text(operands[0]), text(operand))};
        }
        if (inner.kind == ExprKind::Pre) {
            std::uint64_t& word = scratch_[static_cast<std::size_t>(inner.rank) / 64];
            const std::uint64_t bit = std::uint64_t{1} << (static_cast<std::uint32_t>(inner.rank) % 64U);
            if ((word & bit) != 0) return {kNothing, fmt::format("adds rank {}'s contribution twice", inner.rank)};
            word |= bit;
        } else {
            const auto set = set_of(operand);
            for (std::size_t w = 0; w < words_; ++w) {
                if ((scratch_[w] & set[w]) != 0) {
                    const auto twice = static_cast<Rank>(w * 64) + std::countr_zero(scratch_[w] & set[w]);
                    return {kNothing, fmt::format("adds rank {}'s contribution twice", twice)};
                }
                scratch_[w] |= set[w];
            }
        }
        const auto position = static_cast<std::int32_t>(&operand - operands.data());
        const auto others = static_cast<std::int32_t>(operands.size()) -
                            (kind == ExprKind::MulticastReduce ? 1 : std::max(position, 1));
        node.leaves += inner.leaves;
        node.nodes = std::max(node.nodes, inner.nodes + 1);
        node.adds = std::max(node.adds, inner.adds + (operands.size() == 1 ? 0 : others));
    }
    ordered_.assign(operands.begin(), operands.end());
    const std::size_t unordered =
        kind == ExprKind::MulticastReduce ? ordered_.size() : std::min<std::size_t>(2, ordered_.size());
    std::sort(ordered_.begin(), ordered_.begin() + static_cast<std::ptrdiff_t>(unordered),
              [&](ExprId a, ExprId b) { return nodes_[a].hash < nodes_[b].hash; });
    node.hash = mix(static_cast<std::uint64_t>(kind) + 16, static_cast<std::uint64_t>(loader));
    for (const ExprId operand : ordered_) node.hash = mix(node.hash, nodes_[operand].hash);

    const std::size_t before = nodes_.size();
    const ExprId id = intern(node, ordered_);
    if (nodes_.size() != before) {
        set_index_[id] = static_cast<std::uint32_t>(sets_.size() / words_);
        sets_.insert(sets_.end(), scratch_.begin(), scratch_.end());
    }
    return {id, {}};
}

std::span<const std::uint64_t> Expressions::set_of(ExprId id) const {
    return std::span(sets_).subspan(set_index_[id] * words_, words_);
}

std::vector<Rank> Expressions::contributors(ExprId id) const {
    const Expr& node = nodes_[id];
    switch (node.kind) {
        case ExprKind::Nothing:
        case ExprKind::Unfollowed: return {};
        case ExprKind::Leaf:
        case ExprKind::Pre: return {node.rank};
        case ExprKind::Post:
        case ExprKind::Wide: return contributors(pool_[node.first]);
        case ExprKind::Reduce:
        case ExprKind::MulticastReduce: break;
    }
    std::vector<Rank> ranks;
    const auto set = set_of(id);
    for (std::size_t rank = 0; rank < words_ * 64; ++rank) {
        if ((set[rank / 64] >> (rank % 64) & 1U) != 0) ranks.push_back(static_cast<Rank>(rank));
    }
    return ranks;
}

std::string Expressions::text(ExprId id) const {
    const Expr& node = nodes_[id];
    switch (node.kind) {
        case ExprKind::Nothing: return "nothing";
        case ExprKind::Unfollowed: return "an input that is not followed";
        case ExprKind::Leaf: return fmt::format("rank {}'s input", node.rank);
        case ExprKind::Pre: return fmt::format("rank {}'s contribution", node.rank);
        case ExprKind::Post: return text(pool_[node.first]) + " with the final factor";
        case ExprKind::Wide: return text(pool_[node.first]) + " as accumulators";
        case ExprKind::Reduce:
        case ExprKind::MulticastReduce: break;
    }
    std::vector<Rank> ranks = contributors(id);
    const std::size_t shown = std::min<std::size_t>(ranks.size(), 16);
    return fmt::format("the sum of {} contributions ({}{})", ranks.size(),
                       fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(shown), " "),
                       shown < ranks.size() ? " ..." : "");
}

}  // namespace rondo::plan::detail
