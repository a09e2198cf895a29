#pragma once
// Expressions that elements hold during verification: hash-consed, so that equal expressions have equal ids and 64
// tiles cost as much as one. An expression is written for one element; a Value says which element by its shift.
//
//   Leaf(operation, rank)           the rank's input
//   Pre(leaf)                       with the premultiplier applied, not rounded yet: lives inside a step
//   Reduce(e0, e1, ..., ek)         what one step computes, from left to right, rounded once; e0 and e1 commute.
//                                   Of one operand where a step applies a factor to one source
//   MulticastReduce(loader, e...)   one switch's load over all ranks, order unspecified, so equal to no other load
//   Post(e)                         with the final factor applied, in the step that computed e
//   Wide(e)                         e as an accumulator, not rounded to the element type
// Equal expressions mean equal bits.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "plan/verify/flat_index.hpp"

namespace rondo::plan::detail {

using ExprId = std::uint32_t;
inline constexpr ExprId kNothing = 0;     ///< what an element holds that nothing has written
inline constexpr ExprId kUnfollowed = 1;  ///< some input that is not followed

enum class ExprKind : std::uint8_t { Nothing, Unfollowed, Leaf, Pre, Reduce, MulticastReduce, Post, Wide };

struct Expr {
    ExprKind kind = ExprKind::Nothing;
    std::int32_t operation = 0;  ///< of the leaves
    Rank rank = 0;               ///< Leaf, Pre: whose; MulticastReduce: the loader
    std::uint32_t first = 0;     ///< children, in the pool
    std::uint32_t count = 0;
    std::int32_t nodes = 0;  ///< roundings on the longest path
    std::int32_t adds = 0;   ///< additions on that path
    std::int32_t leaves = 0;
    std::uint64_t hash = 0;  ///< of the structure: the same in every run
};

class Expressions {
public:
    explicit Expressions(Rank nranks);

    [[nodiscard]] const Expr& operator[](ExprId id) const { return nodes_[id]; }
    [[nodiscard]] std::span<const ExprId> children(ExprId id) const {
        return std::span(pool_).subspan(nodes_[id].first, nodes_[id].count);
    }

    ExprId leaf(std::int32_t operation, Rank rank);

    /// Result of an operation: an id, or kNothing with the reason in `why`.
    struct Made {
        ExprId id = kNothing;
        std::string why{};
    };
    ExprId wide(ExprId operand);
    Made pre(ExprId operand);
    Made post(ExprId operand);
    /// Operands must be contributions with the premultiplier, or sums of such, of one operation and disjoint.
    Made reduce(std::span<const ExprId> operands);
    Made multicast_reduce(Rank loader, std::span<const ExprId> operands);

    /// "rank 3's input", "the sum of 5 contributions (0 1 2 5 6)", ...
    [[nodiscard]] std::string text(ExprId id) const;
    /// Ranks whose contributions the expression holds, ascending.
    [[nodiscard]] std::vector<Rank> contributors(ExprId id) const;

private:
    ExprId intern(const Expr& node, std::span<const ExprId> operands);
    Made sum(ExprKind kind, Rank loader, std::span<const ExprId> operands);
    [[nodiscard]] std::span<const std::uint64_t> set_of(ExprId id) const;

    std::size_t words_;
    std::vector<Expr> nodes_;
    std::vector<ExprId> pool_;
    std::vector<std::uint64_t> sets_;       ///< of sums: words_ words for each
    std::vector<std::uint32_t> set_index_;  ///< by id: which set, for sums
    std::vector<std::uint64_t> scratch_;
    std::vector<ExprId> ordered_;
    FlatIndex index_;
};

/// 64-bit mixing function (the finalizer of SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

/// `hash` with `value` appended.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept { return mix(hash ^ mix(value)) + hash; }

}  // namespace rondo::plan::detail
