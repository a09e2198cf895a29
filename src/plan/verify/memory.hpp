#pragma once
// One buffer during verification: its elements as intervals, each with what it holds and who touched it last.

#include <cstdint>
#include <map>
#include <vector>

#include "plan/plan.hpp"
#include "plan/range.hpp"
#include "plan/verify/clocks.hpp"
#include "plan/verify/expression.hpp"

namespace rondo::plan::detail {

/// What the elements of an interval hold: element x holds `expr`, written for element x + shift of the inputs.
struct Value {
    ExprId expr = kNothing;
    Element element = Element::Data;
    std::int64_t shift = 0;

    bool operator==(const Value&) const = default;
};

/// Part of a read or of a message. Positions are relative to its start, and so is value.shift.
struct Fragment {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Value value{};
};

/// Two accesses without an order, one of them a write.
struct Race {
    bool found = false;
    std::int64_t begin = 0;  ///< of the interval
    std::int64_t end = 0;
    Moment other{};
    bool other_writes = false;
};

/// Elements [0, size). Reads and writes outside are the caller's to refuse.
class Memory {
public:
    explicit Memory(std::int64_t size, ExprId content = kNothing) : size_(size) {
        if (size > 0) cells_.emplace(0, Cell{.end = size, .value = {.expr = content}});
    }

    [[nodiscard]] std::int64_t size() const { return size_; }

    /// Sets the content without an access.
    void fill(std::int64_t begin, std::int64_t end, Value value);

    /// Appends what [begin, end) holds, relative to `begin`.
    void read(std::int64_t begin, std::int64_t end, std::vector<Fragment>& into) const;
    /// Stores the fragments at `begin`. They cover [begin, end) without gaps.
    void write(std::int64_t begin, std::int64_t end, const std::vector<Fragment>& fragments);

    /// Records an access by `thread` to [begin, end), and returns the first access without an order with it.
    Race touch(std::int64_t begin, std::int64_t end, bool writes, std::uint32_t thread, const Clocks& clocks);

    /// Calls visit(begin, end, value) for each interval of [begin, end).
    template <class Visit>
    void visit(std::int64_t begin, std::int64_t end, Visit&& visit) const {
        if (begin >= end) return;
        for (auto cell = std::prev(cells_.upper_bound(begin)); cell != cells_.end() && cell->first < end; ++cell) {
            visit(std::max(begin, cell->first), std::min(end, cell->second.end), cell->second.value);
        }
    }

private:
    struct Cell {
        std::int64_t end = 0;
        Value value{};
        Moment writer{};
        std::vector<Moment> readers{};
    };
    using Cells = std::map<std::int64_t, Cell>;

    /// The cell that begins at `position`, made by cutting one if need be; end() at the end of the buffer.
    Cells::iterator cut(std::int64_t position);
    /// Joins unfollowed cells around [begin, end) that nobody watched has touched.
    void join_unfollowed(std::int64_t begin, std::int64_t end);

    std::int64_t size_;
    Cells cells_;
};

}  // namespace rondo::plan::detail
