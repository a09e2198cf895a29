// run_program: from the command line to the exit status.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "driver/report.hpp"
#include "driver/table.hpp"
#include "driver/team.hpp"
#include "driver/worker.hpp"

namespace rondo::perf {

namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr std::size_t kMaxShownNotes = 10;

/// What was found wrong, below the row.
void print_notes(const std::vector<std::string>& notes, Table& table) {
    for (std::size_t i = 0; i < std::min(notes.size(), kMaxShownNotes); ++i) table.print("# " + notes[i] + "\n");
    if (notes.size() > kMaxShownNotes) {
        table.print(fmt::format("# and {} more like these\n", notes.size() - kMaxShownNotes));
    }
}

/// Everything that a finished row is written to.
class Output final : public RowSink {
public:
    Output(const Collective& collective, const Options& options, const Machine& machine, int argc,
           const char* const* argv)
        : collective_(collective),
          options_(options),
          json_(collective, options, machine, argc, argv),
          table_(options.json == "-" ? stderr : stdout, options, isatty(STDERR_FILENO) != 0 || progress_asked(),
                 isatty(STDERR_FILENO) != 0) {
        if (!options.json.empty() && options.json != "-") {
            json_file_ = create_file("-J/--json", options.json);
            table_.print(fmt::format("# Writing JSON output to {}\n", json_file_->path));
        }
        if (!options.csv.empty()) {
            csv_file_ = create_file("--csv", options.csv);
            table_.print(fmt::format("# Writing CSV output to {}\n", csv_file_->path));
            write_csv(csv_header());
        }
    }

    void start(std::size_t index, std::size_t total, const Case& what) override {
        table_.start(index, total, what, collective_.reduces);
    }

    void finish(const Row& row, const std::vector<std::string>& notes) override {
        table_.row(row);
        print_notes(notes, table_);
        json_.row(row);
        if (csv_file_) write_csv(csv_rows(row, collective_, options_));
    }

    Table& table() noexcept { return table_; }

    /// Closing lines and files. False if a file could not be written.
    bool end(const Outcome& outcome) {
        table_.print(footer_text(collective_, outcome));
        json_.end(outcome);
        const std::string text = json_.document().dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        bool written = true;
        if (options_.json == "-") written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
        if (json_file_) {
            written = std::fwrite(text.data(), 1, text.size(), json_file_->file.get()) == text.size() &&
                      std::fflush(json_file_->file.get()) == 0;
        }
        return written && csv_ok_ && std::fflush(stdout) == 0;
    }

private:
    static bool progress_asked() {
        const char* value = std::getenv("RONDO_TESTS_PROGRESS");
        return value != nullptr && std::string_view(value) == "1";
    }

    void write_csv(const std::string& text) {
        std::FILE* const file = csv_file_->file.get();
        csv_ok_ = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 && csv_ok_;
    }

    const Collective& collective_;
    const Options& options_;
    JsonReport json_;
    Table table_;
    std::optional<NewFile> json_file_;
    std::optional<NewFile> csv_file_;
    bool csv_ok_ = true;
};

/// Where the reduction of the largest block is computed.
Arena make_expected(const Collective& collective, const Options& options, const std::vector<Case>& schedule) {
    std::size_t most = 0;
    for (const Case& what : schedule) {
        if (!collective.reduces || options.checks == 0) break;
        const std::size_t size = info_of(what.type).size;
        const Layout layout = collective.layout(what.bytes / size, options.nranks());
        const std::size_t larger = std::max(layout.send_count, layout.recv_count) * size;
        most = std::max(most, blocking_of(larger, options).slots * layout.send_count * size);
    }
    const SlotLayout layout{most, 0, 1};
    Arena arena(layout.total());
    arena.lay_out(layout);
    return arena;
}

/// Waits for the threads. With -T, threads that stay inside the library well past it are an error of the library: the
/// communicators are aborted, and if even that does not help the process ends.
class Watch {
public:
    explicit Watch(Team& team) : team_(team) {}

    void thread_done() {
        const std::lock_guard lock(mutex_);
        ++done_;
        changed_.notify_all();
    }

    void wait_for_all() {
        using std::chrono::steady_clock;
        const Options& options = team_.options();
        const auto patience = std::chrono::duration<double>(options.timeout + kGrace);
        auto since = steady_clock::now();
        std::optional<std::uint64_t> last;
        bool aborted = false;
        std::unique_lock lock(mutex_);
        while (done_ < options.threads) {
            changed_.wait_for(lock, std::chrono::milliseconds(200));
            const std::optional<std::uint64_t> now = team_.pulse_inside();
            if (!now || now != last) since = steady_clock::now();
            last = now;
            if (options.timeout <= 0 || steady_clock::now() - since < patience) continue;
            if (aborted) give_up();
            team_.fail(-1, "driver",
                       fmt::format("no call returned for {} s, though -T/--timeout is {} s: the library hangs",
                                   patience.count(), options.timeout));
            aborted = true;
            since = steady_clock::now();
        }
    }

private:
    static constexpr double kGrace = 5;

    [[noreturn]] void give_up() {
        for (const std::string& error : team_.failures()) fmt::print(stderr, "{}\n", error);
        fmt::print(stderr, "rondoCommAbort did not end the calls either; the process ends\n");
        std::_Exit(kFailed);
    }

    Team& team_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int done_ = 0;
};

void run_threads(Team& team, const std::vector<Case>& schedule, RowSink& sink, Outcome& outcome) {
    Watch watch(team);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < team.options().threads; ++thread) {
        try {
            threads.emplace_back([&, thread] {
                Worker::run(team, thread, schedule, sink, outcome);
                watch.thread_done();
            });
        } catch (const std::system_error& error) {
            team.fail(-1, fmt::format("thread {} of {} cannot be started", thread, team.options().threads),
                      error.what());
            watch.thread_done();
        }
    }
    watch.wait_for_all();
    for (std::thread& thread : threads) thread.join();
}

/// Lowers -e to what memory holds, and says so as nccl-tests does.
void limit_memory(const Collective& collective, Options& options, Table& table) {
    const std::uint64_t available = available_memory();
    if (available == 0) return;
    const std::uint64_t limit = memory_limit(available, options.nranks());
    if (!fit_into_memory(limit, collective, options)) return;
    table.print(
        fmt::format("#\n# Reducing maxBytes to {} due to memory limitation ({} MiB available, buffers of {} "
                    "ranks may take {} MiB)\n",
                    options.max_bytes, available >> 20, options.nranks(), limit >> 20));
}

void run(const Collective& collective, Options& options, Output& output, Outcome& outcome) {
    Team team(collective, options);
    limit_memory(collective, options, output.table());
    const std::vector<Case> schedule = schedule_of(collective, options);
    team.expected = make_expected(collective, options, schedule);
    output.table().print(column_text(options));
    run_threads(team, schedule, output, outcome);
    print_notes(team.take_notes(), output.table());  // of a row that was not finished
    outcome.errors = team.failures();
    for (const std::string& failure : outcome.errors) {
        output.table().print("# error: " + failure + "\n");
        fmt::print(stderr, "{}: {}\n", collective.program, failure);
    }
    const std::vector<std::string> notes = team.notes();
    outcome.errors.insert(outcome.errors.end(), notes.begin(), notes.end());
    outcome.wrong += team.out_of_bounds;
    const bool found = outcome.wrong > 0 || !outcome.errors.empty();
    if (options.inject_error && !found) {
        throw RunError("--inject-error: no row has an element to change; a larger size is needed");
    }
}

int measure(const Collective& collective, Options options, int argc, const char* const* argv) {
    const Machine machine = describe_machine();
    Output output(collective, options, machine, argc, argv);
    output.table().print(header_text(collective, options, machine, getpid()));
    Outcome outcome;
    try {
        run(collective, options, output, outcome);
    } catch (const std::exception& error) {
        outcome.errors.emplace_back(error.what());
        output.table().print(fmt::format("# error: {}\n", error.what()));
        fmt::print(stderr, "{}: {}\n", collective.program, error.what());
    }
    if (!output.end(outcome)) {
        fmt::print(stderr, "{}: results could not be written: disk full?\n", collective.program);
        return kFailed;
    }
    return outcome.ok() ? kOk : kFailed;
}

}  // namespace

int run_program(const Collective& collective, int argc, char** argv) {
    try {
        CommandLine line = parse_command_line(collective, argc, argv);
        if (line.print) {
            fmt::print("{}", *line.print);
            return kOk;
        }
        return measure(collective, std::move(line.options), argc, argv);
    } catch (const UsageError& error) {
        fmt::print(stderr, "{}: {}\n", collective.program, error.what());
        return kUsage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", collective.program, error.what());
        return kFailed;
    }
}

}  // namespace rondo::perf
