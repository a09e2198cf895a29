#include "plan/verify/memory.hpp"

#include <algorithm>

namespace rondo::plan::detail {

Memory::Cells::iterator Memory::cut(std::int64_t position) {
    if (position >= size_) return cells_.end();
    const auto cell = std::prev(cells_.upper_bound(position));
    if (cell->first == position) return cell;
    Cell second = cell->second;
    cell->second.end = position;
    return cells_.emplace_hint(std::next(cell), position, std::move(second));
}

void Memory::fill(std::int64_t begin, std::int64_t end, Value value) {
    if (begin >= end) return;
    const auto last = cut(end);
    for (auto cell = cut(begin); cell != last; ++cell) cell->second.value = value;
}

void Memory::read(std::int64_t begin, std::int64_t end, std::vector<Fragment>& into) const {
    visit(begin, end, [&](std::int64_t from, std::int64_t to, Value value) {
        value.shift += begin;
        into.push_back({from - begin, to - begin, value});
    });
}

void Memory::write(std::int64_t begin, std::int64_t end, const std::vector<Fragment>& fragments) {
    if (begin >= end) return;
    const Cell& old = std::prev(cells_.upper_bound(begin))->second;
    if (fragments.size() == 1 && fragments[0].value.expr == kUnfollowed && old.value.expr == kUnfollowed &&
        old.end >= end) {
        return;
    }
    cut(end);
    for (const Fragment& fragment : fragments) {
        auto cell = cut(begin + fragment.begin);
        Value value = fragment.value;
        value.shift = value.expr == kUnfollowed ? 0 : value.shift - begin;
        cell->second.value = value;
        // One fragment makes one cell, unless the cells differ in who touched them.
        const std::int64_t stop = begin + fragment.end;
        while (cell->second.end < stop) {
            ++cell;
            if (cell->second.end > stop) cut(stop);
            cell->second.value = value;
        }
        if (cell->second.end > stop) cut(stop);
    }
    if (!fragments.empty() && fragments.back().value.expr == kUnfollowed) join_unfollowed(begin, end);
}

void Memory::join_unfollowed(std::int64_t begin, std::int64_t end) {
    const auto plain = [](const Cell& cell) {
        return cell.value.expr == kUnfollowed && cell.writer.entry == kUnwatched && cell.readers.empty();
    };
    auto cell = std::prev(cells_.upper_bound(std::max<std::int64_t>(begin - 1, 0)));
    while (cell != cells_.end() && cell->first <= end) {
        const auto next = std::next(cell);
        if (next != cells_.end() && plain(cell->second) && plain(next->second) &&
            cell->second.value == next->second.value) {
            cell->second.end = next->second.end;
            cells_.erase(next);
        } else {
            cell = next;
        }
    }
}

Race Memory::touch(std::int64_t begin, std::int64_t end, bool writes, std::uint32_t thread, const Clocks& clocks) {
    if (begin >= end) return {};
    const Moment now = clocks.now(thread);
    const bool watched = clocks.watches(thread);
    // An unwatched thread leaves no trace, so it need not cut the cells.
    const auto last = watched ? cut(end) : cells_.lower_bound(end);
    for (auto cell = watched ? cut(begin) : std::prev(cells_.upper_bound(begin)); cell != last; ++cell) {
        Cell& state = cell->second;
        if (!clocks.ordered(state.writer, thread)) return {true, cell->first, state.end, state.writer, true};
        if (writes) {
            for (const Moment& reader : state.readers) {
                if (!clocks.ordered(reader, thread)) return {true, cell->first, state.end, reader, false};
            }
        }
        if (!watched) continue;
        if (writes) {
            state.writer = now;
            state.readers.clear();
            continue;
        }
        const auto same =
            std::ranges::find_if(state.readers, [&](const Moment& reader) { return reader.entry == now.entry; });
        if (same == state.readers.end()) {
            state.readers.push_back(now);
        } else {
            *same = now;
        }
    }
    return {};
}

}  // namespace rondo::plan::detail
