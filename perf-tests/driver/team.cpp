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

/// Threads that share cores must not hold them while they wait.
int spins_for(int threads) {
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return threads > cores ? 64 : 1 << 20;
}

std::string last_error(rondoComm_t comm) {
    const char* text = rondoGetLastError(comm);
    return text == nullptr ? "" : text;
}

}  // namespace

Team::Team(const Collective& collective, const Options& options)
    : times(static_cast<std::size_t>(options.threads)),
      samples(static_cast<std::size_t>(options.threads)),
      edges(static_cast<std::size_t>(options.nranks())),
      marks(std::make_unique<Mark[]>(static_cast<std::size_t>(options.nranks()))),
      collective_(collective),
      options_(options),
      barrier_(options.threads, spins_for(options.threads)),
      pulses_(static_cast<std::size_t>(options.threads)),
      clock_cost_(measure_clock_cost()) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.timeout = options.timeout;
    config.algo = options.algo.empty() ? nullptr : options.algo.c_str();
    std::vector<rondoComm_t> comms(static_cast<std::size_t>(options.nranks()));
    const rondoResult_t result = rondoCommInitAll(comms.data(), options.nranks(), &config);
    if (result != rondoSuccess) {
        throw RunError(fmt::format("rondoCommInitAll: {}: {}", rondoGetErrorString(result), last_error(nullptr)));
    }
    for (const rondoComm_t comm : comms) comms_.emplace_back(comm);
    for (int rank = 0; options.stream && rank < options.nranks(); ++rank) {
        rondoStream_t stream = nullptr;
        const rondoResult_t made = rondoStreamCreate(&stream);
        if (made != rondoSuccess) {
            throw RunError(fmt::format("rondoStreamCreate: {}: {}", rondoGetErrorString(made), last_error(nullptr)));
        }
        streams_.emplace_back(stream);
    }
}

void Team::abort_all() noexcept {
    for (const Comm& comm : comms_) rondoCommAbort(comm.get());
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
    if (note_log_.size() >= kMaxNotes) return;
    note_log_.push_back(line);
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

std::vector<std::string> Team::notes() const {
    const std::lock_guard lock(mutex_);
    return note_log_;
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
