#include "driver/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>

#include "driver/machine.hpp"
#include "driver/stats.hpp"

namespace rondo::perf {

namespace {

/// Iterations of the pass for percentiles, where blocks hold several iterations.
constexpr int kMaxSamples = 10000;
/// Values of `iteration` that one checked round may use.
constexpr std::uint64_t kRoundStride = 1U << 20;

/// Lines as one text, each with its end.
std::string join_lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

void split_lines(const std::string& text, std::vector<std::string>& lines) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
}

}  // namespace

std::string algorithm_in(const std::string& plan) {
    const std::size_t begin = plan.find('/');
    if (begin == std::string::npos) return "";
    return plan.substr(begin + 1, plan.find('/', begin + 1) - begin - 1);
}

Worker::Worker(Team& team, int thread, const std::vector<Case>& schedule, RowSink& sink, Outcome& outcome)
    : team_(team),
      thread_(thread),
      schedule_(schedule),
      sink_(sink),
      outcome_(outcome),
      operation_(team, thread, schedule),
      checker_(team, thread, operation_) {}

void Worker::run(Team& team, int thread, const std::vector<Case>& schedule, RowSink& sink, Outcome& outcome) noexcept {
    try {
        Worker(team, thread, schedule, sink, outcome).run_all();
    } catch (const Stopped&) {  // a failure, this thread's or another's, is already recorded
    } catch (const ProcessError& error) {
        team.fail(-1, "driver", error.what(), true);
    } catch (const std::exception& error) {
        team.fail(team.options().first_rank() + thread * team.options().ranks_per_thread, "driver", error.what());
    }
}

void Worker::run_all() {
    for (int cycle = 0; team_.options().cycles == 0 || cycle < team_.options().cycles; ++cycle) run_cycle();
}

void Worker::run_cycle() {
    const Collective& collective = team_.collective();
    for (std::size_t index = 0; index < schedule_.size(); ++index) {
        const Case& what = schedule_[index];
        if (thread_ == 0) sink_.start(index, schedule_.size(), what);
        Row row;
        row.what = what;
        row.out_of_place = measure(what, false);
        if (thread_ == 0) describe_row(row);
        if (team_.options().mpi) row.mpi = measure_mpi(what);
        if (collective.in_place) row.in_place = measure(what, true);
        if (thread_ == 0) finish_row(row);
    }
}

void Worker::finish_row(Row& row) {
    for (const auto& mode : {row.out_of_place, row.in_place}) {
        if (!mode) continue;
        outcome_.wrong += mode->wrong.value_or(0);
        outcome_.bus_bw_sum += mode->bus_bw;
        ++outcome_.bus_bw_count;
    }
    Processes& processes = team_.processes();
    outcome_.wrong += processes.sum(team_.out_of_bounds.exchange(0));
    row.timestamp = now_text();
    std::vector<std::string> notes;
    for (const std::string& text : processes.all_gather(join_lines(team_.take_notes()))) split_lines(text, notes);
    outcome_.notes.insert(outcome_.notes.end(), notes.begin(), notes.end());
    sink_.finish(row, notes);
}

void Worker::describe_row(Row& row) {
    const Collective& collective = team_.collective();
    const Layout& layout = operation_.layout();
    row.size = std::max(layout.send_count, layout.recv_count) * operation_.element_size();
    row.count = layout.param_count;
    row.type = collective.moves_data ? info_of(row.what.type).name : "none";
    row.redop = collective.reduces ? info_of(row.what.op).name : "none";
    row.root = collective.rooted ? row.what.root : -1;
    std::array<char, 512> plan{};
    const int rank = team_.options().first_rank();
    const rondoResult_t result = rondoCommGetLastPlan(team_.comm(rank), plan.data(), plan.size());
    if (result != rondoSuccess) team_.fail_call(rank, "rondoCommGetLastPlan", result);
    row.plan = plan.data();
    row.algorithm = algorithm_in(row.plan);
    if (team_.options().checks > 0) row.edges = gather_edges();
}

std::vector<Edge> Worker::gather_edges() {
    static_assert(std::is_trivially_copyable_v<Edge>);
    std::string mine;
    for (const std::vector<Edge>& edges : team_.edges) {
        mine.append(reinterpret_cast<const char*>(edges.data()), edges.size() * sizeof(Edge));
    }
    std::vector<Edge> all;
    for (const std::string& text : team_.processes().all_gather(mine)) {
        const std::size_t before = all.size();
        all.resize(before + text.size() / sizeof(Edge));
        if (!text.empty()) std::memcpy(all.data() + before, text.data(), text.size());
    }
    return all;
}

ModeResult Worker::measure(const Case& what, bool in_place) {
    operation_.prepare(what, in_place);
    if (thread_ == 0) team_.wrong = 0;
    ModeResult result = time_all();
    if (team_.options().checks > 0) {
        check();
        if (thread_ == 0) result.wrong = team_.processes().sum(team_.wrong);
    }
    team_.meet(thread_);
    return result;
}

std::optional<ModeResult> Worker::measure_mpi(const Case& what) {
    const Collective& collective = team_.collective();
    const mpi::OwnCall call = mpi::own_call(collective.program);
    const bool possible = !collective.moves_data || mpi::has(what.type, collective.reduces, what.op);
    // Counts of MPI 3 are ints.
    if (call == nullptr || !possible || what.bytes > std::numeric_limits<int>::max()) return std::nullopt;
    operation_.prepare(what, false);
    operation_.use(call);
    const ModeResult result = time_all();
    operation_.use(nullptr);
    team_.meet(thread_);
    return result;
}

ModeResult Worker::time_all() {
    samples_.clear();
    team_.meet(thread_);
    warm_up();
    if (team_.options().back_to_back) {
        time_back_to_back();
    } else {
        time_blocks();
    }
    if (operation_.blocking().iterations > 1) sample_blocks();
    std::swap(team_.samples[static_cast<std::size_t>(thread_)], samples_);
    team_.meet(thread_);
    return thread_ == 0 ? combine_threads() : ModeResult{};
}

double Worker::elapsed(Clock::time_point from, Clock::time_point to) const noexcept {
    const double nanoseconds = std::chrono::duration<double, std::nano>(to - from).count() - team_.clock_cost();
    return std::max(nanoseconds, 0.0) / 1e3;
}

std::size_t Worker::slot_of(std::size_t iteration) const noexcept {
    const std::size_t call = iteration * static_cast<std::size_t>(team_.options().aggregate);
    return operation_.blocking().slot_per_call ? call : call % operation_.blocking().slots;
}

std::size_t Worker::calls_of(std::size_t iterations) const noexcept {
    return iterations * static_cast<std::size_t>(team_.options().aggregate);
}

void Worker::write_inputs(std::size_t iterations) {
    block_inputs_ = next_inputs_;
    block_calls_ = calls_of(iterations);
    next_inputs_ += block_calls_;
    operation_.write_inputs(block_inputs_, block_calls_);
}

void Worker::warm_up() {
    const auto block = static_cast<std::size_t>(operation_.blocking().iterations);
    write_inputs(block);
    team_.meet(thread_);
    for (std::size_t i = 0; i < static_cast<std::size_t>(team_.options().warmup); ++i) {
        operation_.launch(slot_of(i % block));
    }
}

void Worker::time_blocks() {
    const auto total = static_cast<std::size_t>(team_.options().iterations);
    const auto block = static_cast<std::size_t>(operation_.blocking().iterations);
    const auto calls = static_cast<double>(calls_of(1));
    double sum = 0;
    for (std::size_t done = 0; done < total;) {
        const std::size_t now = std::min(block, total - done);
        write_inputs(now);  // once a call has returned, its buffers are this thread's alone
        team_.meet(thread_);
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < now; ++i) operation_.launch(slot_of(i));
        const double time = elapsed(begin, Clock::now());
        sum += time;
        if (block == 1) samples_.push_back(time / calls);
        done += now;
    }
    team_.times[static_cast<std::size_t>(thread_)] = sum / (static_cast<double>(total) * calls);
}

void Worker::time_back_to_back() {
    const auto total = static_cast<std::size_t>(team_.options().iterations);
    const auto block = static_cast<std::size_t>(operation_.blocking().iterations);
    const auto calls = static_cast<double>(calls_of(1));
    write_inputs(block);
    team_.meet(thread_);
    const auto begin = Clock::now();
    auto last = begin;
    std::size_t in_block = 0;
    for (std::size_t i = 0; i < total; ++i) {
        operation_.launch(slot_of(in_block));
        if (++in_block == block) in_block = 0;
        if (block > 1) continue;
        const auto now = Clock::now();
        samples_.push_back(elapsed(last, now) / calls);
        last = now;
    }
    team_.times[static_cast<std::size_t>(thread_)] =
        elapsed(begin, Clock::now()) / (static_cast<double>(total) * calls);
}

void Worker::sample_blocks() {
    const auto total = static_cast<std::size_t>(std::min(team_.options().iterations, kMaxSamples));
    const auto block = static_cast<std::size_t>(operation_.blocking().iterations);
    const auto calls = static_cast<double>(calls_of(1));
    for (std::size_t done = 0; done < total;) {
        const std::size_t now = std::min(block, total - done);
        if (!team_.options().back_to_back) write_inputs(now);
        team_.meet(thread_);
        auto last = Clock::now();
        for (std::size_t i = 0; i < now; ++i) {
            operation_.launch(slot_of(i));
            const auto stamp = Clock::now();
            samples_.push_back(elapsed(last, stamp) / calls);
            last = stamp;
        }
        done += now;
    }
}

ModeResult Worker::combine_threads() {
    const Options& options = team_.options();
    const Layout& layout = operation_.layout();
    ModeResult result;
    std::vector<double> values = combine_samples(team_.samples, options.average);
    values.push_back(combine(team_.times, options.average));
    team_.processes().combine(values, options.average);
    result.time = values.back();
    values.pop_back();
    const auto bytes = static_cast<double>(std::max(layout.send_count, layout.recv_count) * operation_.element_size());
    result.alg_bw = bandwidth(bytes, result.time);
    result.bus_bw = result.alg_bw * team_.collective().bus_factor(options.nranks());
    result.samples = summarize(std::move(values));
    return result;
}

void Worker::check() {
    const Options& options = team_.options();
    // The last timed block, under full speed. Without new inputs there is nothing to tell one run from another, and in
    // place the inputs are gone after the first call on a slot.
    if (team_.collective().moves_data && !options.back_to_back && operation_.blocking().slot_per_call) {
        checker_.check_outputs(block_inputs_, block_calls_, false);
    }
    for (int round = 0; round < options.checks; ++round) {
        const bool inject = options.inject_error && !injected_ && !operation_.in_place() && round + 1 == options.checks;
        if (checker_.run_round(next_inputs_, inject)) injected_ = true;
        next_inputs_ += kRoundStride;
    }
}

}  // namespace rondo::perf
