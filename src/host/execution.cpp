#include "host/execution.hpp"

#include <algorithm>

#include "transport/wait.hpp"

namespace rondo::host {

using plan::Kind;
using plan::Place;
using transport::memory::Fifo;
using transport::memory::kMaxCounterTags;

namespace {

/// Counters grow from call to call without being reset: the call's sequence, then the number within the call.
std::uint64_t counter_value(std::uint64_t sequence, std::uint32_t ordinal) { return sequence << 24U | ordinal; }

}  // namespace

void Execution::start(const BoundPlan& plan) {
    plan_ = &plan;
    state_ = State::Running;
    if (srcs_.size() < plan.widest()) {
        srcs_.resize(plan.widest());
        dsts_.resize(plan.widest());
    }
    if (plan.uses_counters()) {
        const std::size_t counters = plan.plan().channels.size() * kMaxCounterTags;
        posts_.assign(counters, 0);
        waits_.assign(counters * static_cast<std::size_t>(plan.plan().nranks), 0);
    }
    cursors_in_use_ = plan.lanes().size();
    if (cursors_.size() < cursors_in_use_) cursors_.resize(cursors_in_use_);
    for (std::size_t i = 0; i < cursors_in_use_; ++i) enter_lane(cursors_[i], plan.lanes()[i]);
}

void Execution::enter_lane(Cursor& cursor, const BoundLane& lane) {
    cursor.lane = &lane;
    cursor.list = &lane.before;
    cursor.loop = 0;
    cursor.tile = 0;
    cursor.sized = false;
    const plan::Cut& cut = launch_.cut;
    const bool one_cut = cut.parts == 1 && cut.channels == 1 && launch_.count <= cut.chunk &&
                         launch_.input_blocks.empty() && launch_.output_blocks.empty();
    if (one_cut) {  // a small operation: one tile of one part, without a division
        cursor.tiles = launch_.count > 0 ? 1 : 0;
        cursor.tile_range = {0, launch_.count};
        cursor.longest = launch_.count;
    } else {
        cursor.tiles = tiles_of(lane.channel);
        enter_tile(cursor);
    }
    enter_list(cursor);
}

bool Execution::progress() {
    bool any = false;
    bool all_done = true;
    for (std::size_t i = 0; i < cursors_in_use_; ++i) {
        Cursor& cursor = cursors_[i];
        if (!cursor.done) any = run_lane(cursor) || any;
        all_done = all_done && cursor.done;
    }
    if (all_done && state_ == State::Running) state_ = State::Done;
    return any;
}

bool Execution::run_lane(Cursor& cursor) {
    bool any = false;
    while (!cursor.done) {
        const BoundStep& step = (*cursor.list)[cursor.block].steps[cursor.step];
        if (run_step(cursor, step) != Outcome::Ran) return any;
        any = true;
        const std::int64_t tile = cursor.tile;
        advance(cursor);
        if (cursor.tile != tile && domain_.failed()) return any;  // long work looks up once a tile
    }
    return any;
}

std::int64_t Execution::tiles_of(int channel) const {
    std::int64_t extent = launch_.count;
    for (const auto blocks : {launch_.input_blocks, launch_.output_blocks}) {
        for (const BlockExtent& block : blocks) extent = std::max(extent, block.extent);
    }
    return plan::tile_count(extent, launch_.cut, channel);
}

/// Moves on past lists that are empty or whose turn never comes.
void Execution::enter_list(Cursor& cursor) {
    const BoundLane& lane = *cursor.lane;
    cursor.block = 0;
    cursor.step = 0;
    cursor.s = 0;
    if (cursor.list == &lane.before && lane.before.empty()) {
        cursor.list = lane.loops.empty() || cursor.tiles == 0 ? &lane.after : lane.loops.data();
    }
    cursor.done = cursor.list == &lane.after && lane.after.empty();
}

/// Computes how the current tile is cut. The same arithmetic as plan::range(), done once for the tile.
void Execution::enter_tile(Cursor& cursor) {
    const plan::Cut& cut = launch_.cut;
    cursor.tile_range = plan::range(launch_.count, cut, cursor.lane->channel, cursor.tile, 0, cut.parts);
    cursor.longest = plan::split(cursor.tile_range.size(), cut.parts, 0, 1, cut.align).size();
}

void Execution::advance(Cursor& cursor) {
    cursor.sized = false;
    const BoundBlock& block = (*cursor.list)[cursor.block];
    if (++cursor.step < block.steps.size()) return;
    cursor.step = 0;
    if (++cursor.s < block.repeat) return;
    cursor.s = 0;
    if (++cursor.block < cursor.list->size()) return;
    cursor.block = 0;
    const BoundLane& lane = *cursor.lane;
    if (cursor.list == &lane.after) {
        cursor.done = true;
    } else if (cursor.list == &lane.before) {
        cursor.list = lane.loops.empty() || cursor.tiles == 0 ? &lane.after : lane.loops.data();
        enter_list(cursor);
    } else {
        next_tile(cursor);
    }
}

/// The next tile of the loop, the first tile of the next loop, or what comes after the loops.
void Execution::next_tile(Cursor& cursor) {
    const BoundLane& lane = *cursor.lane;
    if (++cursor.tile < cursor.tiles) {
        enter_tile(cursor);
        return;
    }
    if (++cursor.loop < lane.loops.size()) {
        cursor.tile = 0;
        cursor.list = &lane.loops[cursor.loop];
        enter_tile(cursor);
    } else {
        cursor.list = &lane.after;
    }
    enter_list(cursor);
}

Execution::Outcome Execution::run_step(Cursor& cursor, const BoundStep& step) {
    switch (step.kind) {
        case Kind::Move: return run_move(cursor, step);
        case Kind::Wait: return run_wait(cursor, step);
        case Kind::Post: run_post(cursor, step); return Outcome::Ran;
    }
    return Outcome::Failed;
}

Execution::Outcome Execution::run_move(Cursor& cursor, const BoundStep& step) {
    if (!cursor.sized) {
        size_row(cursor, step, 0, cursor.extent);
        cursor.sized = true;
    }
    if (cursor.extent.range.empty() && !has_elements(cursor, step)) return Outcome::Ran;
    const int most = cursors_in_use_ == 1 ? polls_ : 0;
    for (int polls = 0; !ready(step, cursor.s, cursor.extent.inlined); ++polls) {
        if (polls == most) return Outcome::Blocked;
        transport::relax();
    }
    if (!agreed(step, cursor.s, cursor.extent.signature)) return Outcome::Failed;
    reduce_row(cursor, step, cursor.extent, 0);
    if (step.rows > 1) {
        Extent extent = cursor.extent;
        for (std::int64_t row = 1; row < step.rows; ++row) {
            if (step.part.cj != 0) extent.range = extent_of(cursor, step, row).range;
            reduce_row(cursor, step, extent, row);
        }
    }
    if (state_ != State::Running) return Outcome::Failed;
    publish(step, cursor.s, cursor.extent);
    return Outcome::Ran;
}

/// True where any row but the first covers elements.
bool Execution::has_elements(const Cursor& cursor, const BoundStep& step) const {
    if (step.part.cj == 0) return false;  // all rows are as empty as the first
    for (std::int64_t row = 1; row < step.rows; ++row) {
        if (!extent_of(cursor, step, row).range.empty()) return true;
    }
    return false;
}

Execution::Extent Execution::extent_of(const Cursor& cursor, const BoundStep& step, std::int64_t row) const {
    Extent extent;
    size_row(cursor, step, row, extent);
    return extent;
}

/// Sets every field of `extent`, where it stands: a copy right after would wait for the stores.
void Execution::size_row(const Cursor& cursor, const BoundStep& step, std::int64_t row, Extent& extent) const {
    const plan::Cut& cut = launch_.cut;
    const std::int64_t part = step.part.at(cursor.s, row, 0);
    std::int64_t longest = cursor.longest;
    std::span<const BlockExtent> blocks;
    if (step.sizing != nullptr) {
        blocks = step.sizing->op.buffer == plan::Buffer::Input ? launch_.input_blocks : launch_.output_blocks;
    }
    if (blocks.empty()) {
        // Part `part` of the tile, as plan::split() cuts it; `longest` is the length of every part but the last.
        const std::int64_t size = cursor.tile_range.size();
        const std::int64_t begin = std::min(part * longest, size);
        const std::int64_t end = std::min(begin + step.width * longest, size);
        extent.tile_begin = cursor.tile_range.begin;
        extent.range = {extent.tile_begin + begin, extent.tile_begin + end};
        extent.longest_span = std::min(step.width * longest, size);
        extent.signature = launch_.signature;
    } else {
        const BlockExtent& block = blocks[static_cast<std::size_t>(step.sizing->op.block.at(cursor.s, row, 0))];
        const int channel = cursor.lane->channel;
        const plan::Range whole = plan::range(block.extent, cut, channel, cursor.tile, 0, cut.parts);
        longest = plan::split(whole.size(), cut.parts, 0, 1, cut.align).size();
        extent.tile_begin = whole.begin;
        extent.range = plan::range(block.extent, cut, channel, cursor.tile, part, step.width);
        extent.longest_span = plan::range(block.extent, cut, channel, cursor.tile, 0, step.width).size();
        extent.signature = block.signature;
    }
    const auto message = static_cast<std::size_t>(longest * plan_->plan().message_parts) * launch_.element_bytes;
    extent.inlined = plan_->inlines() && message <= transport::memory::kInline;
}

bool Execution::ready(const BoundStep& step, std::int32_t s, bool inlined) {
    const auto has_message = [](const Port& port) { return port.fifo->readable(); };
    const auto has_room = [inlined](const Port& port) { return port.fifo->writable(inlined); };
    return std::ranges::all_of(step.awaited.at(s), has_message) && std::ranges::all_of(step.granted.at(s), has_room);
}

bool Execution::agreed(const BoundStep& step, std::int32_t s, std::uint64_t signature) {
    for (const Port& port : step.awaited.at(s)) {
        const std::uint64_t received = port.fifo->read_signature();
        if (received == signature) continue;
        disagree({port.peer, signature, received});
        return false;
    }
    return true;
}

void Execution::reduce_row(const Cursor& cursor, const BoundStep& step, const Extent& extent, std::int64_t row) {
    if (extent.range.empty()) return;
    const auto count = static_cast<std::size_t>(extent.range.size());
    const std::size_t bytes = count * launch_.element_bytes;
    int nsrc = 0;
    for (const BoundOperand& operand : step.srcs) {
        for (std::int64_t f = 0; f < operand.op.fan; ++f) {
            srcs_[static_cast<std::size_t>(nsrc++)] = place(cursor, operand, extent, row, f);
        }
    }
    const pid_t process = step.reads_peer ? process_read(cursor, step, row) : 0;
    const bool divides = step.post && launch_.divisor != 1;
    int ndst = 0;
    bool streams = launch_.stream;
    for (const BoundOperand& operand : step.dsts) {
        for (std::int64_t f = 0; f < operand.op.fan; ++f) {
            std::byte* dst = place(cursor, operand, extent, row, f);
            if (operand.op.place == Place::Outbox) {
                const auto piece = operand.op.piece.at(cursor.s, row, f);
                fifo(operand, cursor.s, f)
                    .extend(static_cast<std::size_t>(piece * extent.longest_span) * launch_.element_bytes + bytes);
                streams = false;
            } else if (operand.op.buffer == plan::Buffer::Scratch) {
                streams = false;
            }
            // In place: the copy onto itself. An address in another process is another place.
            if (nsrc == 1 && !divides && dst == srcs_[0] && process == 0) continue;
            dsts_[static_cast<std::size_t>(ndst++)] = dst;
        }
    }
    if (ndst == 0) return;
    if (process != 0) {
        pull_row(process, static_cast<Rank>(step.srcs.front().op.peer.at(cursor.s, row, 0)), bytes);
        return;
    }
    launch_.kernel({.dst = dsts_.data(),
                    .ndst = ndst,
                    .src = srcs_.data(),
                    .nsrc = nsrc,
                    .count = count,
                    .divisor = launch_.divisor,
                    .post = divides,
                    .stream = streams});
}

/// The process whose memory the row's one source is in; 0: this one.
pid_t Execution::process_read(const Cursor& cursor, const BoundStep& step, std::int64_t row) const {
    const auto peer = static_cast<Rank>(step.srcs.front().op.peer.at(cursor.s, row, 0));
    const pid_t process = domain_.pull_record(peer).pid.load(std::memory_order_acquire);
    return process == pid_ ? 0 : process;
}

/// The row as a copy out of another process.
void Execution::pull_row(pid_t process, Rank peer, std::size_t bytes) {
    const int error = transport::memory::pull(process, srcs_[0], dsts_[0], bytes);
    if (error == 0) return;
    state_ = State::Unreadable;
    unread_ = {peer, error, bytes};
}

std::byte* Execution::place(const Cursor& cursor, const BoundOperand& operand, const Extent& extent, std::int64_t row,
                            std::int64_t f) {
    const plan::Operand& op = operand.op;
    const std::int64_t s = cursor.s;
    if (op.place == Place::Inbox || op.place == Place::Outbox) {
        Fifo& queue = fifo(operand, cursor.s, f);
        // Reading is through a const pointer at the call of the kernel: sources are never written.
        std::byte* base = op.place == Place::Outbox ? queue.write_place(extent.inlined)
                                                    : const_cast<std::byte*>(queue.read_place(extent.inlined));
        return base + op.piece.at(s, row, f) * extent.longest_span * static_cast<std::int64_t>(launch_.element_bytes);
    }
    const std::int64_t block = op.block.at(s, row, f);
    if (op.buffer == plan::Buffer::Scratch) {
        const std::int64_t tile = launch_.cut.chunk * launch_.cut.parts;
        const std::int64_t first = cursor.lane->channel * plan_->plan().scratch_blocks + block;
        return scratch_base(op.place == Place::Peer ? static_cast<Rank>(op.peer.at(s, row, f)) : rank_, extent) +
               (first * tile + extent.range.begin - extent.tile_begin) *
                   static_cast<std::int64_t>(launch_.element_bytes);
    }
    const bool is_input = op.buffer == plan::Buffer::Input;
    if (op.place == Place::Local) {
        return user_place(is_input ? launch_.input : launch_.output,
                          is_input ? launch_.input_blocks : launch_.output_blocks, block, extent.range.begin);
    }
    const auto peer = static_cast<Rank>(op.peer.at(s, row, f));
    const std::byte* base = is_input ? launch_.input : launch_.output;
    if (peer != rank_) {
        const auto& records = domain_.records(peer);
        base = static_cast<const std::byte*>(is_input ? records.input(launch_.sequence)
                                                      : records.output(launch_.sequence));
        count_direct(peer, extent);
    }
    return user_place(base, {}, block, extent.range.begin);
}

/// Where the scratch of `owner` begins.
std::byte* Execution::scratch_base(Rank owner, const Extent& extent) {
    if (owner != rank_) count_direct(owner, extent);
    return plan_->windows().empty() ? launch_.scratch : plan_->windows()[static_cast<std::size_t>(owner)];
}

void Execution::count_direct(Rank peer, const Extent& extent) noexcept {
    traffic_.direct_bytes[static_cast<std::size_t>(peer)] +=
        static_cast<std::uint64_t>(extent.range.size()) * launch_.element_bytes;
}

std::byte* Execution::user_place(const std::byte* base, std::span<const BlockExtent> blocks, std::int64_t block,
                                 std::int64_t begin) const {
    const auto bytes = static_cast<std::int64_t>(launch_.element_bytes);
    if (!blocks.empty()) return blocks[static_cast<std::size_t>(block)].data + begin * bytes;
    // Inputs are const for the user; a verified plan has none among its destinations.
    return const_cast<std::byte*>(base) + (block * launch_.count + begin) * bytes;
}

void Execution::publish(const BoundStep& step, std::int32_t s, const Extent& extent) {
    for (const Port& port : step.posted.at(s)) {
        const auto peer = static_cast<std::size_t>(port.peer);
        traffic_.sent_bytes[peer] += port.fifo->post(extent.inlined, extent.signature);
        ++traffic_.sent_messages[peer];
    }
    for (const Port& port : step.released.at(s)) port.fifo->release(extent.inlined);
}

void Execution::run_post(const Cursor& cursor, const BoundStep& step) {
    for (const BoundOperand& operand : step.dsts) {
        const int channel = cursor.lane->channel;
        std::uint32_t& posted = posts_[static_cast<std::size_t>(channel) * kMaxCounterTags + operand.op.tag];
        domain_.advance(domain_.counter(channel, rank_, operand.op.tag), counter_value(launch_.sequence, ++posted));
    }
}

Execution::Outcome Execution::run_wait(const Cursor& cursor, const BoundStep& step) {
    const int channel = cursor.lane->channel;
    for (const BoundOperand& operand : step.srcs) {
        for (std::int64_t f = 0; f < operand.op.fan; ++f) {
            const auto owner = static_cast<Rank>(operand.op.peer.at(cursor.s, 0, f));
            const std::uint32_t next = waits_[wait_index(channel, operand.op.tag, owner)] + 1;
            const auto& counter = domain_.counter(channel, owner, operand.op.tag);
            if (counter.value.load(std::memory_order_acquire) < counter_value(launch_.sequence, next)) {
                return Outcome::Blocked;
            }
            const std::uint64_t received = domain_.records(owner).signature(launch_.sequence);
            if (next == 1 && received != launch_.signature) {
                disagree({owner, launch_.signature, received});
                return Outcome::Failed;
            }
        }
    }
    for (const BoundOperand& operand : step.srcs) {
        for (std::int64_t f = 0; f < operand.op.fan; ++f) {
            ++waits_[wait_index(channel, operand.op.tag, static_cast<Rank>(operand.op.peer.at(cursor.s, 0, f)))];
        }
    }
    return Outcome::Ran;
}

std::size_t Execution::wait_index(int channel, int tag, Rank owner) const noexcept {
    const auto counter = static_cast<std::size_t>(channel) * kMaxCounterTags + static_cast<std::size_t>(tag);
    return counter * static_cast<std::size_t>(plan_->plan().nranks) + static_cast<std::size_t>(owner);
}

void Execution::disagree(const Disagreement& found) noexcept {
    state_ = State::Mismatch;
    disagreement_ = found;
}

bool Execution::has_posted(int channel, int tag, Rank owner) const noexcept {
    const std::uint32_t next = waits_[wait_index(channel, tag, owner)] + 1;
    return domain_.counter(channel, owner, tag).value.load(std::memory_order_acquire) >=
           counter_value(launch_.sequence, next);
}

std::vector<Rank> Execution::awaited() const {
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < cursors_in_use_; ++i) {
        const Cursor& cursor = cursors_[i];
        if (cursor.done) continue;
        const BoundStep& step = (*cursor.list)[cursor.block].steps[cursor.step];
        const Extent extent = extent_of(cursor, step, 0);
        for (const std::vector<BoundOperand>* side : {&step.dsts, &step.srcs}) {
            for (const BoundOperand& operand : *side) {
                for (std::int64_t f = 0; f < operand.op.fan; ++f) {
                    const auto peer = static_cast<Rank>(operand.op.peer.at(cursor.s, 0, f));
                    const Place at = operand.op.place;
                    const bool waits = (at == Place::Inbox && !fifo(operand, cursor.s, f).readable()) ||
                                       (at == Place::Outbox && !fifo(operand, cursor.s, f).writable(extent.inlined)) ||
                                       (at == Place::Counter && step.kind == Kind::Wait &&
                                        !has_posted(cursor.lane->channel, operand.op.tag, peer));
                    if (waits) ranks.push_back(peer);
                }
            }
        }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

}  // namespace rondo::host
