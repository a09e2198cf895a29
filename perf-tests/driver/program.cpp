// run_program: from the command line to the exit status.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <thread>

#include "driver/fork.hpp"
#include "driver/machine.hpp"
#include "driver/processes.hpp"
#include "driver/program.hpp"
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
/// Seconds that a process may be busy between two calls (filling buffers, checking) with the others waiting for it.
constexpr double kProcessPatience = 60;

/// -h and --version need no other process.
bool asks_for_text(int argc, const char* const* argv) {
    return std::any_of(argv + 1, argv + argc, [](std::string_view argument) {
        return argument == "-h" || argument == "--help" || argument == "--version";
    });
}

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
    /// `first`: of process 0; others print and write nothing.
    Output(const Collective& collective, const Options& options, const Machine& machine,
           std::span<const ProcessInfo> processes, bool first, int argc, const char* const* argv)
        : collective_(collective),
          options_(options),
          first_(first),
          json_(collective, options, machine, processes, argc, argv),
          table_(!first                ? nullptr
                 : options.json == "-" ? stderr
                                       : stdout,
                 options, first && (isatty(STDERR_FILENO) != 0 || progress_asked()), isatty(STDERR_FILENO) != 0) {
        if (!first) return;
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
        if (!first_) return true;
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
    bool first_;
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

/// Lowers -e to what memory holds, in all processes alike, and says so as nccl-tests does.
void limit_memory(const Collective& collective, Options& options, Processes& processes, Table& table) {
    const std::uint64_t available = available_memory();
    const std::uint64_t limit = memory_limit(available, options.ranks_here());
    const std::uint64_t asked = options.max_bytes;
    if (available != 0) fit_into_memory(limit, collective, options);
    options.max_bytes = processes.min(options.max_bytes);
    options.min_bytes = std::min(options.min_bytes, options.max_bytes);
    if (options.max_bytes == asked) return;
    table.print(
        fmt::format("#\n# Reducing maxBytes to {} due to memory limitation ({} MiB available, buffers of {} "
                    "ranks may take {} MiB)\n",
                    options.max_bytes, available >> 20, options.ranks_here(), limit >> 20));
}

void run(const Collective& collective, Options& options, Processes& processes, const rondoUniqueId& id,
         const std::vector<bool>& same_machine, Output& output, Outcome& outcome) {
    Team team(collective, options, processes, id);
    team.same_machine = same_machine;
    limit_memory(collective, options, processes, output.table());
    const std::vector<Case> schedule = schedule_of(collective, options);
    team.expected = make_expected(collective, options, schedule);
    output.table().print(column_text(options));
    run_threads(team, schedule, output, outcome);
    const std::vector<std::string> rest = team.take_notes();  // of a row that was not finished
    print_notes(rest, output.table());
    outcome.errors = team.failures();
    for (const std::string& failure : outcome.errors) {
        output.table().print("# error: " + failure + "\n");
        fmt::print(stderr, "{}: {}\n", collective.program, failure);
    }
    outcome.errors.insert(outcome.errors.end(), outcome.notes.begin(), outcome.notes.end());
    outcome.errors.insert(outcome.errors.end(), rest.begin(), rest.end());
    outcome.wrong += team.out_of_bounds;
    const bool found = outcome.wrong > 0 || !outcome.errors.empty();
    if (options.inject_error && !found) {
        throw RunError("--inject-error: no row has an element to change; a larger size is needed");
    }
}

/// What the header says of each process. Fields are separated by a character that none of them has.
std::vector<ProcessInfo> share_infos(Processes& processes, const Machine& machine) {
    constexpr char kSeparator = '\n';
    std::vector<ProcessInfo> infos;
    for (const std::string& text : processes.all_gather(
             fmt::format("{1}{0}{2}{0}{3}{0}{4}", kSeparator, machine.host, getpid(), machine.boot, machine.cpu))) {
        std::istringstream fields(text);
        ProcessInfo info;
        std::string pid;
        std::getline(fields, info.host, kSeparator);
        std::getline(fields, pid, kSeparator);
        std::getline(fields, info.boot, kSeparator);
        std::getline(fields, info.cpu, kSeparator);
        info.pid = std::stol(pid);
        infos.push_back(std::move(info));
    }
    return infos;
}

}  // namespace

int run_process(const Collective& collective, Options options, const Launch& launch, const Ids& ids, int argc,
                const char* const* argv) {
    Processes processes(launch, ids.processes, options.timeout > 0 ? options.timeout + kProcessPatience : 0);
    const Machine machine = describe_machine();
    const std::vector<ProcessInfo> infos = share_infos(processes, machine);
    std::vector<bool> same_machine;
    for (const ProcessInfo& info : infos) same_machine.push_back(info.boot == machine.boot);
    options.processes_here = static_cast<int>(std::count(same_machine.begin(), same_machine.end(), true));

    std::optional<Output> output;
    std::uint64_t refused = kOk;
    try {
        output.emplace(collective, options, machine, infos, processes.first(), argc, argv);
        output->table().print(header_text(collective, options, infos, launch.starter));
    } catch (const UsageError& error) {
        fmt::print(stderr, "{}: {}\n", collective.program, error.what());
        refused = kUsage;
    }
    refused = processes.max(refused);
    if (refused != kOk) return static_cast<int>(refused);

    Outcome outcome;
    try {
        run(collective, options, processes, ids.ranks, same_machine, *output, outcome);
    } catch (const std::exception& error) {
        processes.abort();
        outcome.errors.emplace_back(error.what());
        output->table().print(fmt::format("# error: {}\n", error.what()));
        fmt::print(stderr, "{}: {}\n", collective.program, error.what());
    }
    bool ok = outcome.ok();
    if (!output->end(outcome)) {
        fmt::print(stderr, "{}: results could not be written: disk full?\n", collective.program);
        ok = false;
    }
    // All learn whether process 0 could write, and nobody leaves before it has.
    if (ok) ok = processes.min(1) == 1;
    return ok ? kOk : kFailed;
}

namespace {

/// Ends MPI when the process leaves the run.
class LaunchEnd {
public:
    explicit LaunchEnd(Starter starter) : starter_(starter) {}
    LaunchEnd(const LaunchEnd&) = delete;
    LaunchEnd& operator=(const LaunchEnd&) = delete;
    ~LaunchEnd() { leave_launch(starter_); }

private:
    Starter starter_;
};

int run_launched(const Collective& collective, Starter starter, int argc, char** argv) {
    Ids ids;
    const LaunchEnd end(starter);
    const Launch launch = join_launch(starter, ids);
    CommandLine line;
    try {
        line = parse_command_line(collective, argc, argv, launch);
    } catch (const UsageError& error) {
        if (launch.process == 0) fmt::print(stderr, "{}: {}\n", collective.program, error.what());
        return kUsage;
    }
    return run_process(collective, std::move(line.options), launch, ids, argc, argv);
}

int run_here(const Collective& collective, Options options, int argc, char** argv) {
    if (options.procs == 0) return run_process(collective, std::move(options), {}, {}, argc, argv);
    const std::string program(collective.program);
    return run_forked(program.c_str(), options.procs, [&](int process, IdPipes& pipes) {
        try {
            const Launch launch{Starter::Forked, options.procs, process};
            options.process = process;
            return run_process(collective, options, launch, pipes.exchange(process), argc, argv);
        } catch (const std::exception& error) {
            fmt::print(stderr, "{}: process {}: {}\n", program, process, error.what());
            return kFailed;
        }
    });
}

}  // namespace

int run_program(const Collective& collective, int argc, char** argv) {
    try {
        const Starter starter = starter_in_environment();
        if (starter == Starter::Alone || asks_for_text(argc, argv)) {
            CommandLine line = parse_command_line(collective, argc, argv);
            if (!line.print) return run_here(collective, std::move(line.options), argc, argv);
            fmt::print("{}", *line.print);
            return kOk;
        }
        return run_launched(collective, starter, argc, argv);
    } catch (const UsageError& error) {
        fmt::print(stderr, "{}: {}\n", collective.program, error.what());
        return kUsage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", collective.program, error.what());
        return kFailed;
    }
}

}  // namespace rondo::perf
