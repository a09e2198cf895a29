#include "driver/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace rondo::perf {

namespace {

std::string describe(const Operation& operation) {
    const Case& what = operation.what();
    if (!operation.collective().moves_data) return "barrier";
    return fmt::format("{} bytes {}{}{}{}", what.bytes, info_of(what.type).name,
                       operation.collective().reduces ? fmt::format(" {}", info_of(what.op).name) : "",
                       operation.collective().rooted ? fmt::format(" root {}", what.root) : "",
                       operation.in_place() ? " in place" : "");
}

/// A piece of the output that the operation writes and that is not empty.
const Segment* written(const std::vector<Segment>& segments) {
    for (const Segment& segment : segments) {
        if (segment.content != Segment::Content::Untouched && segment.count > 0) return &segment;
    }
    return nullptr;
}

/// Barriers in a checked round.
constexpr std::size_t kBarriers = 64;

/// The clock that all processes of a machine share.
std::int64_t monotonic_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void spin_for(std::chrono::nanoseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {}
}

}  // namespace

bool Checker::run_round(std::uint64_t first, bool inject) {
    if (!operation_.collective().moves_data) return run_barrier_round(first, inject);
    const std::size_t slots = operation_.blocking().slots;
    if (!operation_.in_place()) {
        const std::size_t bytes = operation_.layout().recv_count * operation_.element_size();
        for (const RankState& rank : operation_.ranks()) {
            for (std::size_t slot = 0; slot < slots; ++slot) {
                std::memset(operation_.output(rank, slot), static_cast<int>(kPoison), bytes);
            }
        }
    }
    operation_.write_inputs(first, slots);
    const std::vector<Traffic> before = traffic();
    team_.meet(thread_);
    for (std::size_t slot = 0; slot < slots; ++slot) operation_.launch_once(slot);
    team_.meet(thread_);
    check_traffic(before, slots);
    const bool injected = inject && inject_error();
    team_.meet(thread_);
    check_outputs(first, slots, true);
    return injected;
}

void Checker::check_outputs(std::uint64_t first, std::size_t calls, bool poisoned) {
    write_expected(first, calls);
    team_.meet(thread_);
    for (RankState& rank : operation_.ranks()) {
        for (std::size_t slot = 0; slot < calls; ++slot) {
            check_slot(rank, slot, operation_.inputs(first + slot), poisoned);
        }
    }
    team_.meet(thread_);
}

void Checker::write_expected(std::uint64_t first, std::size_t calls) {
    if (!operation_.collective().reduces) return;
    const auto threads = static_cast<std::size_t>(operation_.options().threads);
    const auto thread = static_cast<std::size_t>(thread_);
    const std::size_t count = operation_.layout().send_count;
    const std::size_t begin = count / threads * thread + std::min(thread, count % threads);
    const std::size_t length = count / threads + (thread < count % threads ? 1 : 0);
    for (std::size_t slot = 0; slot < calls; ++slot) {
        std::byte* const out = team_.expected.slot(0) + (slot * count + begin) * operation_.element_size();
        fill_reduced(operation_.inputs(first + slot), begin, length, out);
    }
}

Comparison Checker::compare_segment(const RankState& rank, std::size_t slot, const Inputs& inputs,
                                    const Segment& segment, bool poisoned) const {
    const std::size_t size = operation_.element_size();
    const std::byte* const actual = operation_.output(rank, slot) + segment.recv_begin * size;
    switch (segment.content) {
        case Segment::Content::Reduced: {
            const std::size_t at = slot * operation_.layout().send_count + segment.source_begin;
            return compare(inputs.type, tolerance_of(inputs), team_.expected.slot(0) + at * size, actual,
                           segment.count);
        }
        case Segment::Content::Copied:
            return compare_with_input(inputs, segment.source_rank, segment.source_begin, segment.count, actual);
        case Segment::Content::Untouched: break;
    }
    // In place, an untouched output is this rank's own input.
    if (operation_.in_place()) return compare_with_input(inputs, rank.rank, segment.recv_begin, segment.count, actual);
    if (!poisoned) return {};
    Comparison result;
    result.wrong = (bytes_unlike(kPoison, actual, segment.count * size) + size - 1) / size;
    return result;
}

void Checker::check_slot(RankState& rank, std::size_t slot, const Inputs& inputs, bool poisoned) {
    const std::vector<Segment> segments =
        operation_.collective().expected(operation_.layout(), operation_.position(rank.rank));
    for (const Segment& segment : segments) {
        const Comparison result = compare_segment(rank, slot, inputs, segment, poisoned);
        if (result.wrong == 0) continue;
        team_.wrong += result.wrong;
        report(rank, "output", segment.recv_begin, result);
    }
    check_inputs(rank, slot, inputs);
    for (const Arena* arena : {&rank.send, &rank.recv}) {
        const std::uint64_t broken = arena->broken_guards(slot);
        if (broken == 0) continue;
        team_.out_of_bounds += broken;
        team_.note(fmt::format("rank {}: {}: {} bytes outside of the {} buffer were overwritten", rank.rank,
                               describe(operation_), broken, arena == &rank.send ? "send" : "receive"));
    }
}

void Checker::check_inputs(const RankState& rank, std::size_t slot, const Inputs& inputs) {
    const Layout& layout = operation_.layout();
    // Elements of the input that the output does not overlap: before `keep_end` and from `keep_begin` on.
    std::size_t keep_end = layout.send_count;
    std::size_t keep_begin = layout.send_count;
    if (operation_.in_place()) {
        const auto r = static_cast<std::size_t>(rank.rank);
        const std::size_t input = r * layout.send_in_place;
        const std::size_t output = r * layout.recv_in_place;
        keep_end = output > input ? std::min(output - input, layout.send_count) : 0;
        keep_begin =
            std::min(output + layout.recv_count - std::min(input, output + layout.recv_count), layout.send_count);
    }
    const std::byte* const data = operation_.input(rank, slot);
    const Comparison head = compare_with_input(inputs, rank.rank, 0, keep_end, data);
    if (head.wrong != 0) report(rank, "input (which must stay as it was)", 0, head);
    const Comparison tail = compare_with_input(inputs, rank.rank, keep_begin, layout.send_count - keep_begin,
                                               data + keep_begin * operation_.element_size());
    if (tail.wrong != 0) report(rank, "input (which must stay as it was)", keep_begin, tail);
}

void Checker::report(const RankState& rank, std::string_view what, std::size_t begin, const Comparison& result) {
    const rondoDataType_t type = operation_.what().type;
    std::string detail;
    if (result.expected != result.actual) {
        detail = fmt::format(", the first at element {}: {}, expected {}", begin + result.first,
                             text_of(type, result.actual), text_of(type, result.expected));
    }
    team_.note(fmt::format("rank {}: {}: {} wrong element(s) of the {}{}", rank.rank, describe(operation_),
                           result.wrong, what, detail));
}

Checker::Traffic Checker::query(const RankState& rank, Query function, std::string_view name) {
    const auto n = static_cast<std::size_t>(operation_.options().nranks());
    Traffic traffic{std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n)};
    const rondoResult_t result =
        function(team_.comm(rank.rank), traffic.bytes.data(), traffic.messages.data(), traffic.direct.data());
    if (result != rondoSuccess) team_.fail_call(rank.rank, name, result);
    return traffic;
}

std::vector<Checker::Traffic> Checker::traffic() {
    std::vector<Traffic> all;
    for (const RankState& rank : operation_.ranks()) {
        all.push_back(query(rank, rondoCommGetTraffic, "rondoCommGetTraffic"));
    }
    return all;
}

void Checker::check_traffic(const std::vector<Traffic>& before, std::uint64_t operations) {
    const std::vector<Traffic> after = traffic();
    for (std::size_t i = 0; i < operation_.ranks().size(); ++i) {
        const RankState& rank = operation_.ranks()[i];
        const Traffic plan = query(rank, rondoCommGetPlannedTraffic, "rondoCommGetPlannedTraffic");
        std::vector<Edge>& edges = team_.edges[static_cast<std::size_t>(rank.rank)];
        edges.clear();
        for (std::size_t peer = 0; peer < plan.bytes.size(); ++peer) {
            const Edge edge{rank.rank, static_cast<int>(peer), plan.bytes[peer], plan.messages[peer],
                            plan.direct[peer]};
            if (edge.sent_bytes + edge.sent_messages + edge.direct_bytes > 0) edges.push_back(edge);
            const std::uint64_t bytes = after[i].bytes[peer] - before[i].bytes[peer];
            const std::uint64_t messages = after[i].messages[peer] - before[i].messages[peer];
            const std::uint64_t direct = after[i].direct[peer] - before[i].direct[peer];
            if (bytes == edge.sent_bytes * operations && messages == edge.sent_messages * operations &&
                direct == edge.direct_bytes * operations) {
                continue;
            }
            team_.note(fmt::format(
                "traffic: {}: edge {} -> {}: {} operations moved {} bytes in {} messages and {} bytes directly, but "
                "the "
                "plan says {}, {} and {}",
                describe(operation_), edge.from, edge.to, operations, bytes, messages, direct,
                edge.sent_bytes * operations, edge.sent_messages * operations, edge.direct_bytes * operations));
        }
    }
}

bool Checker::inject_error() {
    const int nranks = operation_.options().nranks();
    for (int step = 1; step <= nranks; ++step) {  // rank 1 first: rank 0 is the one that is always looked at
        const int target = step % nranks;
        const std::vector<Segment> segments =
            operation_.collective().expected(operation_.layout(), operation_.position(target));
        const Segment* const segment = written(segments);
        if (segment == nullptr) continue;
        for (const RankState& rank : operation_.ranks()) {
            if (rank.rank != target) continue;
            flip_bit(operation_.what().type, operation_.output(rank, 0), segment->recv_begin + segment->count / 2);
        }
        return true;
    }
    return false;
}

bool Checker::run_barrier_round(std::uint64_t first, bool inject) {
    const Options& options = operation_.options();
    const auto n = static_cast<std::size_t>(options.nranks());
    const auto begin = static_cast<std::size_t>(options.first_rank());
    const std::size_t end = begin + static_cast<std::size_t>(options.ranks_per_process());
    const std::vector<Traffic> before = traffic();
    std::vector<std::int64_t> seen(n);
    std::vector<Team::Stay>& stays = team_.stays[static_cast<std::size_t>(thread_)];
    stays.clear();
    for (std::uint64_t i = 0; i < kBarriers; ++i) {
        const auto mark = static_cast<std::int64_t>(first + i);
        // One rank comes late, each in its turn, so that a barrier that lets others go too early is seen.
        for (const RankState& rank : operation_.ranks()) {
            if ((first + i) % n == static_cast<std::size_t>(rank.rank)) spin_for(std::chrono::microseconds(20));
            // Relaxed: that others see the mark after the barrier is the barrier's own promise.
            team_.marks[static_cast<std::size_t>(rank.rank)].value.store(mark, std::memory_order_relaxed);
        }
        const std::int64_t came = monotonic_now();
        operation_.launch_once(0);
        stays.push_back({came, monotonic_now()});
        for (std::size_t peer = begin; peer < end; ++peer) {
            seen[peer] = team_.marks[peer].value.load(std::memory_order_relaxed);
        }
        const auto last = static_cast<std::size_t>(operation_.ranks().back().rank);
        if (inject && i + 1 == kBarriers && last + 1 == n) seen[last] ^= 1;
        for (std::size_t peer = begin; peer < end; ++peer) {
            if (seen[peer] == mark) continue;
            ++team_.wrong;
            team_.note(fmt::format("rank {}: barrier {}: left while rank {} was at {}", operation_.ranks()[0].rank,
                                   mark, peer, seen[peer]));
        }
        team_.meet(thread_);
    }
    if (thread_ == 0) compare_stays(first);
    check_traffic(before, kBarriers);
    team_.meet(thread_);
    return inject;
}

void Checker::compare_stays(std::uint64_t first) {
    Processes& processes = team_.processes();
    if (processes.count() == 1) return;
    // Of each barrier: when the last thread here came and when the first one left.
    std::vector<std::int64_t> mine;
    for (std::size_t i = 0; i < kBarriers; ++i) {
        Team::Stay all = team_.stays[0][i];
        for (const auto& stays : team_.stays) {
            all.came = std::max(all.came, stays[i].came);
            all.left = std::min(all.left, stays[i].left);
        }
        mine.push_back(all.came);
        mine.push_back(all.left);
    }
    const std::vector<std::int64_t> others = processes.all_gather(mine);
    for (int process = 0; process < processes.count(); ++process) {
        // Clocks of different machines cannot be compared.
        if (process == processes.index() || !team_.same_machine[static_cast<std::size_t>(process)]) continue;
        const std::int64_t* const theirs = others.data() + static_cast<std::size_t>(process) * mine.size();
        for (std::size_t i = 0; i < kBarriers; ++i) {
            if (theirs[2 * i] <= mine[2 * i + 1]) continue;
            ++team_.wrong;
            team_.note(fmt::format("process {}: barrier {}: left {} ns before process {} came to it", processes.index(),
                                   first + i, theirs[2 * i] - mine[2 * i + 1], process));
        }
    }
}

}  // namespace rondo::perf
