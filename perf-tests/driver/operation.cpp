#include "driver/operation.hpp"

#include <algorithm>

namespace rondo::perf {

namespace {

struct Sizes {
    std::size_t larger = 0;  ///< bytes of the larger buffer
    Layout layout{};
};

Sizes sizes_for(const Collective& collective, const Case& what, int nranks) {
    const std::size_t element = info_of(what.type).size;
    const Layout layout = collective.layout(what.bytes / element, nranks);
    return {std::max(layout.send_count, layout.recv_count) * element, layout};
}

}  // namespace

Operation::Operation(Team& team, int thread, const std::vector<Case>& schedule)
    : team_(team), pulse_(team.pulse(thread)) {
    std::size_t most = 0;
    for (const Case& what : schedule) {
        const Sizes sizes = sizes_for(collective(), what, options().nranks());
        const Blocking blocking = blocking_of(sizes.larger, options());
        const std::size_t misalignment = options().misalignment(info_of(what.type).size);
        most = std::max(most, SlotLayout{sizes.larger, misalignment, blocking.slots}.total());
    }
    const int per_thread = options().ranks_per_thread;
    const int first = options().first_rank() + thread * per_thread;
    for (int rank = first; rank < first + per_thread; ++rank) {
        ranks_.push_back({rank, Arena(most), Arena(most), {}});
    }
}

Inputs Operation::inputs(std::uint64_t iteration) const noexcept {
    return {what_.type, what_.op, collective().reduces, options().nranks(), options().seed, iteration};
}

std::byte* Operation::input(const RankState& rank, std::size_t slot) const noexcept {
    if (!in_place_) return rank.send.slot(slot);
    return rank.recv.slot(slot) + static_cast<std::size_t>(rank.rank) * layout_.send_in_place * element_size_;
}

std::byte* Operation::output(const RankState& rank, std::size_t slot) const noexcept {
    std::byte* const data = rank.recv.slot(slot);
    if (!in_place_) return data;
    return data + static_cast<std::size_t>(rank.rank) * layout_.recv_in_place * element_size_;
}

void Operation::prepare(const Case& what, bool in_place) {
    what_ = what;
    in_place_ = in_place;
    element_size_ = info_of(what.type).size;
    const Sizes sizes = sizes_for(collective(), what, options().nranks());
    layout_ = sizes.layout;
    blocking_ = blocking_of(sizes.larger, options());
    const std::size_t misalignment = options().misalignment(element_size_);
    const std::size_t send = layout_.send_count * element_size_;
    const std::size_t recv = in_place ? sizes.larger : layout_.recv_count * element_size_;
    for (RankState& rank : ranks_) {
        rank.send.lay_out({send, misalignment, blocking_.slots});
        rank.recv.lay_out({recv, misalignment, blocking_.slots});
        rank.calls.clear();
        for (std::size_t slot = 0; slot < blocking_.slots; ++slot) {
            rank.send.write_guards(slot);
            rank.recv.write_guards(slot);
            rank.calls.push_back({input(rank, slot), output(rank, slot), layout_.param_count, what.type, what.op,
                                  what.root, position(rank.rank), team_.comm(rank.rank), team_.stream(rank.rank)});
        }
    }
}

void Operation::write_inputs(std::uint64_t first, std::size_t calls) {
    const std::size_t slots = std::min(calls, blocking_.slots);
    for (std::size_t slot = 0; slot < slots; ++slot) {
        const Inputs values = inputs(first + slot);
        for (const RankState& rank : ranks_) fill(values, rank.rank, 0, layout_.send_count, input(rank, slot));
    }
}

void Operation::fail(const RankState& rank, rondoResult_t result) {
    team_.fail_call(rank.rank, collective().function, result);
}

void Operation::launch_own(std::size_t slot, std::size_t calls) {
    for (std::size_t call = 0; call < calls; ++call) {
        const rondoResult_t result = own_call_(ranks_.front().calls[(slot + call) % blocking_.slots]);
        if (result == rondoSuccess) continue;
        team_.fail(ranks_.front().rank, "MPI's own call", "failed");
        throw Stopped();
    }
}

void Operation::launch_calls(std::size_t slot, std::size_t calls) {
    if (own_call_ != nullptr) return launch_own(slot, calls);
    const std::uint64_t beat = pulse_.load(std::memory_order_relaxed) + 1;
    pulse_.store(beat, std::memory_order_relaxed);
    if (calls > 1 || ranks_.size() > 1 || options().stream) {
        launch_group(slot, calls);
    } else {
        const RankState& rank = ranks_.front();
        const rondoResult_t result = collective().call(rank.calls[slot]);
        if (result != rondoSuccess) fail(rank, result);
    }
    pulse_.store(beat + 1, std::memory_order_relaxed);
}

void Operation::launch_group(std::size_t slot, std::size_t calls) {
    // With a stream, the calls of one rank are queued one after another; a group is needed only for several ranks.
    const bool group = ranks_.size() > 1 || !options().stream;
    if (group) {
        const rondoResult_t result = rondoGroupStart();
        if (result != rondoSuccess) fail(ranks_.front(), result);
    }
    for (std::size_t call = 0; call < calls; ++call) {
        const std::size_t at = (slot + call) % blocking_.slots;
        for (const RankState& rank : ranks_) {
            const rondoResult_t result = collective().call(rank.calls[at]);
            if (result != rondoSuccess) fail(rank, result);
        }
    }
    if (group) {
        const rondoResult_t result = rondoGroupEnd();
        if (result != rondoSuccess) {
            // The rank that has the text is the one that failed.
            const auto failed = std::find_if(ranks_.begin(), ranks_.end(), [&](const RankState& rank) {
                const char* text = rondoGetLastError(team_.comm(rank.rank));
                return text != nullptr && *text != '\0';
            });
            fail(failed == ranks_.end() ? ranks_.front() : *failed, result);
        }
    }
    for (const RankState& rank : ranks_) {
        if (!options().stream) break;
        const rondoResult_t result = rondoStreamSynchronize(team_.stream(rank.rank));
        if (result != rondoSuccess) fail(rank, result);
    }
}

}  // namespace rondo::perf
