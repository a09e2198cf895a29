// Data of the verifying machine: loads, reductions and stores of expressions.

#include <fmt/format.h>
#include <algorithm>

#include "plan/verify/machine.hpp"

namespace rondo::plan::detail {

namespace {

/// Makes one of neighbouring fragments with the same value.
void join_equal(std::vector<Fragment>& fragments) {
    std::size_t kept = 0;
    for (const Fragment& fragment : fragments) {
        if (kept > 0 && fragments[kept - 1].value == fragment.value) {
            fragments[kept - 1].end = fragment.end;
        } else {
            fragments[kept++] = fragment;
        }
    }
    fragments.resize(kept);
}

}  // namespace

void Machine::move_data(LaneState& lane, const Step& step, std::int64_t skip, std::int64_t length) {
    if (loaded_.size() < sources_.size()) loaded_.resize(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        loaded_[i].clear();
        load(lane, sources_[i], sources_[i].begin + skip, length, loaded_[i]);
    }
    result_.clear();
    const bool copies = sources_.size() == 1 && !sources_[0].operand->pre && !step.post;
    if (copies) {
        result_ = loaded_[0];
        check_widening(lane);
    } else {
        combine(lane, std::span(loaded_).first(sources_.size()), false, result_);
    }
    if (step.post) {
        for (Fragment& fragment : result_) {
            if (fragment.value.expr == kUnfollowed) continue;
            Expressions::Made made = expressions_.post(fragment.value.expr);
            if (made.id == kNothing) refuse(lane, std::move(made.why));
            fragment.value.expr = made.id;
        }
    }
    join_equal(result_);
    for (const Spot& target : targets_) store(lane, target, target.begin + skip, length);
}

/// A copy may round accumulators to data elements, but nothing brings back what was rounded away.
void Machine::check_widening(const LaneState& lane) {
    for (const Spot& target : targets_) {
        if (target.operand->element != Element::Accumulator) continue;
        for (const Fragment& fragment : result_) {
            if (fragment.value.element == Element::Data && expressions_[fragment.value.expr].kind != ExprKind::Leaf) {
                refuse(lane, "copies rounded data elements as accumulators");
            }
        }
    }
}

void Machine::load(LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t length,
                   std::vector<Fragment>& into) {
    if (spot.operand->place == Place::Multicast) {
        load_multicast(lane, spot, begin, length, into);
        return;
    }
    if (spot.fifo != kNone) {
        load_message(spot, begin, length, into);
    } else {
        touch(lane, *spot.memory, spot, begin, length, false);
        spot.memory->read(begin, begin + length, into);
    }
    check_loaded(lane, spot, begin, into);
}

void Machine::load_message(const Spot& spot, std::int64_t begin, std::int64_t length,
                           std::vector<Fragment>& into) const {
    const Message& message = messages_[fifos_[spot.fifo].front];
    std::int64_t at = begin;
    const std::int64_t end = begin + length;
    const auto first = std::ranges::upper_bound(message.fragments, begin, {}, &Fragment::end);
    for (const Fragment& fragment : std::span(first, message.fragments.end())) {
        if (fragment.begin >= end) break;
        if (fragment.begin > at) into.push_back({at - begin, std::min(fragment.begin, end) - begin, {.expr = empty_}});
        at = std::max(at, fragment.begin);
        Fragment piece{at - begin, std::min(fragment.end, end) - begin, fragment.value};
        piece.value.shift += begin;
        into.push_back(piece);
        at = std::min(fragment.end, end);
    }
    if (at < end) into.push_back({at - begin, end - begin, {.expr = empty_}});
}

void Machine::load_multicast(LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t length,
                             std::vector<Fragment>& into) {
    std::vector<std::vector<Fragment>> lists(static_cast<std::size_t>(nranks_));
    for (Rank rank = 0; rank < nranks_; ++rank) {
        Memory& memory = memory_of(lane, spot.operand->buffer, rank);
        const std::int64_t at = begin + base_of(lane, spot.operand->buffer, rank);
        std::vector<Fragment>& list = lists[static_cast<std::size_t>(rank)];
        touch(lane, memory, spot, at, length, false);
        memory.read(at, at + length, list);
        check_loaded(lane, spot, begin, list);
    }
    combine(lane, lists, true, into);
}

void Machine::check_loaded(const LaneState& lane, const Spot& spot, std::int64_t begin, std::vector<Fragment>& loaded) {
    for (Fragment& fragment : loaded) {
        Value& value = fragment.value;
        if (value.expr == kNothing) {
            refuse(lane, fmt::format("reads {}, which nothing has written",
                                     text(lane, spot, begin + fragment.begin, begin + fragment.end)));
        }
        if (value.expr == kUnfollowed) continue;
        if (value.element != spot.operand->element) {
            refuse(lane, fmt::format("reads {} as {}, but they are {}",
                                     text(lane, spot, begin + fragment.begin, begin + fragment.end),
                                     value.element == Element::Data ? "accumulators" : "data elements",
                                     value.element == Element::Data ? "data elements" : "accumulators"));
        }
        if (!spot.operand->pre) continue;
        Expressions::Made made = expressions_.pre(value.expr);
        if (made.id == kNothing) refuse(lane, std::move(made.why));
        value.expr = made.id;
    }
}

void Machine::combine(const LaneState& lane, std::span<const std::vector<Fragment>> lists, bool multicast,
                      std::vector<Fragment>& into) {
    cursors_.assign(lists.size(), 0);
    std::int64_t at = 0;
    while (cursors_[0] < lists[0].size()) {
        // The next piece on which every list has one value.
        std::int64_t end = lists[0][cursors_[0]].end;
        for (std::size_t i = 1; i < lists.size(); ++i) end = std::min(end, lists[i][cursors_[i]].end);
        bool unfollowed = true;
        for (std::size_t i = 0; i < lists.size() && unfollowed; ++i) {
            unfollowed = lists[i][cursors_[i]].value.expr == kUnfollowed;
        }
        operands_.clear();
        const Value& first = lists[0][cursors_[0]].value;
        for (std::size_t i = 0; i < lists.size() && !unfollowed; ++i) {
            const Value& value = lists[i][cursors_[i]].value;
            if (value.shift != first.shift) {
                refuse(lane,
                       fmt::format("reduces element {} of {} with element {} of {}", at + first.shift,
                                   expressions_.text(first.expr), at + value.shift, expressions_.text(value.expr)));
            }
            operands_.push_back(value.element == Element::Accumulator ? expressions_.wide(value.expr) : value.expr);
        }
        Expressions::Made made{kUnfollowed, {}};
        if (!unfollowed) {
            made = multicast ? expressions_.multicast_reduce(lane.rank, operands_) : expressions_.reduce(operands_);
        }
        if (made.id == kNothing) refuse(lane, std::move(made.why));
        into.push_back({at, end, {.expr = made.id, .element = first.element, .shift = first.shift}});
        for (std::size_t i = 0; i < lists.size(); ++i) {
            if (lists[i][cursors_[i]].end == end) ++cursors_[i];
        }
        at = end;
    }
}

void Machine::store(LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t length) {
    for (Fragment& fragment : result_) fragment.value.element = spot.operand->element;
    if (spot.fifo != kNone) {
        store_message(lane, spot, begin);
    } else if (spot.operand->place == Place::Multicast) {
        for (Rank rank = 0; rank < nranks_; ++rank) {
            Memory& memory = memory_of(lane, spot.operand->buffer, rank);
            const std::int64_t at = begin + base_of(lane, spot.operand->buffer, rank);
            touch(lane, memory, spot, at, length, true);
            memory.write(at, at + length, result_);
        }
    } else {
        touch(lane, *spot.memory, spot, begin, length, true);
        spot.memory->write(begin, begin + length, result_);
    }
}

void Machine::store_message(const LaneState& lane, const Spot& spot, std::int64_t begin) {
    std::vector<Fragment>& fragments = messages_[fifos_[spot.fifo].tail].fragments;
    for (const Fragment& fragment : result_) {
        Fragment piece{begin + fragment.begin, begin + fragment.end, fragment.value};
        if (piece.value.expr == kUnfollowed) continue;  // as unwritten elements
        piece.value.shift -= begin;
        const auto at = std::ranges::upper_bound(fragments, piece.begin, {}, &Fragment::begin);
        const bool clear = (at == fragments.begin() || std::prev(at)->end <= piece.begin) &&
                           (at == fragments.end() || piece.end <= at->begin);
        if (!clear) {
            refuse(lane, fmt::format("writes {} twice", text(lane, spot, piece.begin, piece.end)));
        }
        if (at != fragments.begin() && std::prev(at)->end == piece.begin && std::prev(at)->value == piece.value) {
            std::prev(at)->end = piece.end;
            continue;
        }
        fragments.insert(at, piece);
    }
}

void Machine::touch(const LaneState& lane, Memory& memory, const Spot& spot, std::int64_t begin, std::int64_t length,
                    bool writes) {
    if (!clocks_) return;
    const Race race = memory.touch(begin, begin + length, writes, lane.thread, *clocks_);
    if (!race.found) return;
    const std::string what = text(lane, spot, std::max(begin, race.begin), std::min(begin + length, race.end));
    if (thread_of_entry_[race.other.entry] < ranks_.size()) {
        refuse(lane,
               fmt::format("{} {}, but rank {} may not have entered the operation yet or may have left it already",
                           writes ? "writes" : "reads", what, thread_of_entry_[race.other.entry]));
    }
    refuse(lane, fmt::format("{} {} without an order with the {} by {}: a race", writes ? "writes" : "reads", what,
                             race.other_writes ? "write" : "read", describe(race.other)));
}

}  // namespace rondo::plan::detail
