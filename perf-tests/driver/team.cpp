#include "driver/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace rondo::perf {

namespace {

constexpr std::size_t kMaxNotes = 1000;

double measure_clock_cost() {
    using Clock = std::chrono::steady_clock;
    std::vector<double> costs;
    for (int i = 0; i < 1001; ++i) {
        const auto first = Clock::now();
        const auto second = Clock::now();
        costs.push_back(std::chrono::duration<double, std::nano>(second - first).count());
    }
    std::nth_element(costs.begin(), costs.begin() + 500, costs.end());
    return costs[500];
}

/// Threads that share cores, of this process or of others, must not hold them while they wait.
int spins_for(const Options& options) {
    const int threads = options.threads * options.processes_here;
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return threads > cores ? 64 : 1 << 20;
}

std::string last_error(rondoComm_t comm) {
    const char* text = rondoGetLastError(comm);
    return text == nullptr ? "" : text;
}

/// The communicators of this process's ranks: all at once in one process, else each by its number, in a group.
std::vector<rondoComm_t> make_comms(const Options& options, const rondoUniqueId& id) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.timeout = options.timeout;
    config.algo = options.algo.empty() ? nullptr : options.algo.c_str();
    std::vector<rondoComm_t> comms(static_cast<std::size_t>(options.ranks_per_process()));
    if (options.processes == 1) {
        require("rondoCommInitAll", rondoCommInitAll(comms.data(), options.nranks(), &config));
        return comms;
    }
    const bool group = comms.size() > 1;
    if (group) require("rondoGroupStart", rondoGroupStart());
    for (int i = 0; i < options.ranks_per_process(); ++i) {
        require("rondoCommInitRankConfig",
                rondoCommInitRankConfig(&comms[static_cast<std::size_t>(i)], options.nranks(), id,
                                        options.first_rank() + i, &config));
    }
    if (group) require("rondoGroupEnd", rondoGroupEnd());
    return comms;
}

}  // namespace

Team::Team(const Collective& collective, const Options& options, Processes& processes, const rondoUniqueId& id)
    : times(static_cast<std::size_t>(options.threads)),
      samples(static_cast<std::size_t>(options.threads)),
      edges(static_cast<std::size_t>(options.nranks())),
      marks(std::make_unique<Mark[]>(static_cast<std::size_t>(options.nranks()))),
      stays(static_cast<std::size_t>(options.threads)),
      collective_(collective),
      options_(options),
      processes_(processes),
      barrier_(options.threads, spins_for(options)),
      pulses_(static_cast<std::size_t>(options.threads)),
      clock_cost_(measure_clock_cost()) {
    for (const rondoComm_t comm : make_comms(options, id)) comms_.emplace_back(comm);
    for (int rank = 0; options.stream && rank < options.ranks_per_process(); ++rank) {
        rondoStream_t stream = nullptr;
        require("rondoStreamCreate", rondoStreamCreate(&stream));
        streams_.emplace_back(stream);
    }
}

void Team::abort_all() noexcept {
    for (const Comm& comm : comms_) rondoCommAbort(comm.get());
    processes_.abort();
}

void Team::fail(int rank, std::string_view what, const std::string& text, bool echo) noexcept {
    {
        const std::lock_guard lock(mutex_);
        failures_.push_back({echo || barrier_.stopped(), rank < 0 ? fmt::format("{}: {}", what, text)
                                                                  : fmt::format("rank {}: {}: {}", rank, what, text)});
    }
    barrier_.stop();
    abort_all();
}

void Team::fail_call(int rank, std::string_view what, rondoResult_t result) {
    std::string text = last_error(comm(rank));
    if (text.empty()) text = last_error(nullptr);
    const std::string whole = fmt::format("{} failed: {}", what, rondoGetErrorString(result));
    fail(rank, whole, text.empty() ? "the library gives no further text" : text,
         result == rondoRemoteError || result == rondoAborted);
    throw Stopped();
}

void Team::note(std::string line) {
    const std::lock_guard lock(mutex_);
    if (notes_.size() >= kMaxNotes) return;
    notes_.push_back(std::move(line));
}

std::vector<std::string> Team::take_notes() {
    const std::lock_guard lock(mutex_);
    return std::exchange(notes_, {});
}

std::vector<std::string> Team::failures() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const bool secondary : {false, true}) {
        for (const Failure& failure : failures_) {
            if (failure.secondary == secondary) all.push_back(failure.text);
        }
    }
    return all;
}

std::optional<std::uint64_t> Team::pulse_inside() const noexcept {
    std::uint64_t sum = 0;
    bool inside = false;
    for (const Pulse& pulse : pulses_) {
        const std::uint64_t beats = pulse.beats.load(std::memory_order_relaxed);
        sum += beats;
        inside = inside || (beats & 1) != 0;
    }
    return inside ? std::optional(sum) : std::nullopt;
}

}  // namespace rondo::perf
