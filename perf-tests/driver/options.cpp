#include "driver/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "driver/element.hpp"
#include "driver/machine.hpp"

namespace rondo::perf {

namespace {

constexpr int kMaxRanks = 1024;
constexpr int kMaxCount = 1'000'000'000;

[[noreturn]] void refuse(std::string_view flag, std::string_view value, std::string_view allowed) {
    throw UsageError(fmt::format("{}: '{}' is not allowed; allowed is {}", flag, value, allowed));
}

template <class T>
T parse_number(std::string_view flag, std::string_view text, T low, T high) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        refuse(flag, text, fmt::format("a whole number from {} to {}", low, high));
    }
    return value;
}

double parse_seconds(std::string_view flag, std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e6) {
        refuse(flag, text, "a number of seconds from 0 (the library's setting) to 1000000");
    }
    return value;
}

std::vector<rondoDataType_t> parse_types(std::string_view flag, std::string_view text) {
    std::vector<rondoDataType_t> types;
    std::string names;
    for (const TypeInfo& info : all_types()) {
        if (text == "all" || text == info.name) types.push_back(info.type);
        names += fmt::format("{}, ", info.name);
    }
    if (types.empty()) refuse(flag, text, names + "all");
    return types;
}

std::vector<rondoRedOp_t> parse_ops(std::string_view flag, std::string_view text) {
    std::vector<rondoRedOp_t> ops;
    std::string names;
    for (const OpInfo& info : all_ops()) {
        if (text == "all" || text == info.name) ops.push_back(info.op);
        names += fmt::format("{}, ", info.name);
    }
    if (ops.empty()) refuse(flag, text, names + "all");
    return ops;
}

/// Roots after the number of ranks is known.
std::vector<int> parse_roots(std::string_view text, int nranks) {
    if (text != "all") return {parse_number("-r/--root", text, 0, nranks - 1)};
    std::vector<int> roots(static_cast<std::size_t>(nranks));
    std::iota(roots.begin(), roots.end(), 0);
    return roots;
}

void parse_unalign(std::string_view text, Options& options) {
    std::string_view digits = text;
    options.unalign_bytes = !digits.empty() && (digits.back() == 'B' || digits.back() == 'b');
    if (options.unalign_bytes) digits.remove_suffix(1);
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value > 4096) {
        refuse("-u/--unalign", text, "elements from 0 to 4096, or bytes as 3B");
    }
    options.unalign = value;
}

std::string footer_of(const Collective& collective) {
    return fmt::format(
        "Sizes take K, M, G, T (powers of 1024); GB/s are 1e9 bytes a second.\n"
        "bus bandwidth = algorithm bandwidth x {}; algorithm bandwidth = size column / time.\n\n"
        "What is measured: wall time of one iteration (-m calls), input written before it, outside of the time, by "
        "the\n"
        "rank that owns it. Up to 8 KiB, iterations run in blocks of up to 32 with a buffer each: the block's inputs "
        "are\n"
        "written, the threads meet in a spin barrier, the block is timed as a whole, and p50 and p99 come from a "
        "second\n"
        "pass over min(-n, 10000) iterations with one clock read after each, whose cost is taken off. Above 16 KiB "
        "each\n"
        "iteration is a block. --back-to-back writes the inputs once and runs all iterations without a barrier, as\n"
        "nccl-tests does: faster for small sizes, since input lines stay shared between caches.\n"
        "time: mean over iterations, then over the threads of all processes as -a says; p50, p99: of the iterations' "
        "times after -a.\n\n"
        "What is checked (-c): every element of every rank, the guard bytes around each buffer, inputs that must stay "
        "as\n"
        "they were, and bytes and messages on every edge against the plan's own arithmetic; in as many rounds as -c "
        "says\n"
        "and, except with --back-to-back, after the last timed block too.\n\n"
        "Processes: --procs N forks N of them; mpirun, torchrun and srun start them likewise, and so do "
        "RONDO_COMM_ID,\n"
        "RONDO_RANK (of the process) and RONDO_NRANKS (processes), with RONDO_COMM_SECRET between machines. Ranks are\n"
        "processes x threads; process 0 prints. A wrong element or an error in any process is seen in the status of "
        "all.\n\n"
        "Exit status: 0 all right; 1 wrong values or an error; 2 wrong usage.\n"
        "Environment: RONDO_TESTS_PROGRESS=1 writes progress to stderr also where it is no terminal.\n",
        collective.bus_formula);
}

using Handler = std::function<void(const std::string&)>;

void add(CLI::App& app, const char* flags, const Handler& handler, const std::string& help, const char* type) {
    app.add_option_function<std::string>(flags, handler, help)
        ->type_name(type)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_count(CLI::App& app, const char* flags, const char* name, int& target, int low, int high, const char* help) {
    add(
        app, flags, [=, &target](const std::string& v) { target = parse_number(name, v, low, high); },
        fmt::format("{} ({})", help, target), "N");
}

void add_size(CLI::App& app, const char* flags, const char* name, std::uint64_t& target, const char* help) {
    add(
        app, flags, [=, &target](const std::string& v) { target = parse_size(name, v); }, help, "SIZE");
}

void add_sizes_and_counts(CLI::App& app, Options& o) {
    add_size(app, "-b,--minbytes", "-b/--minbytes", o.min_bytes, "smallest size (32M)");
    add_size(app, "-e,--maxbytes", "-e/--maxbytes", o.max_bytes, "largest size (32M)");
    add_size(app, "-i,--stepbytes", "-i/--stepbytes", o.step_bytes, "step between sizes (1M)");
    add(
        app, "-f,--stepfactor",
        [&](const std::string& v) { o.step_factor = parse_number<std::uint64_t>("-f/--stepfactor", v, 1, 1U << 30); },
        "factor between sizes; above 1 it replaces the step (1)", "N");
    add_count(app, "-n,--iters", "-n/--iters", o.iterations, 1, kMaxCount, "timed iterations");
    add_count(app, "-w,--warmup_iters", "-w/--warmup_iters", o.warmup, 0, kMaxCount,
              "iterations before the timed ones, for each row and mode");
    add_count(app, "-m,--agg_iters", "-m/--agg_iters", o.aggregate, 1, 65536,
              "calls in an iteration, in one group, or with --stream queued together; times are per call");
    add_count(app, "-N,--run_cycles", "-N/--run_cycles", o.cycles, 0, kMaxCount,
              "runs through all sizes; 0: until interrupted");
    add_count(app, "-c,--check", "-c/--check", o.checks, 0, kMaxCount, "checked rounds for each row and mode; 0: none");
}

void add_what(CLI::App& app, Options& o, std::string& root) {
    add(
        app, "-d,--datatype", [&](const std::string& v) { o.types = parse_types("-d/--datatype", v); },
        "int8 uint8 int16 uint16 int32 uint32 int64 uint64 half float double bfloat16, or all (float)", "TYPE");
    add(
        app, "-o,--op", [&](const std::string& v) { o.ops = parse_ops("-o/--op", v); },
        "sum prod max min avg, or all (sum)", "OP");
    add(
        app, "-r,--root", [&](const std::string& v) { root = v; }, "rank of the root, or all (0)", "N");
    add(
        app, "-u,--unalign", [&](const std::string& v) { parse_unalign(v, o); },
        "index of the first element: buffers begin that many elements, or with B bytes, off a cache line (0)", "N|NB");
    add(
        app, "--algo", [&](const std::string& v) { o.algo = v; }, "algorithm, as RONDO_ALGO", "NAME");
    add(
        app, "--seed",
        [&](const std::string& v) {
            o.seed = parse_number<std::uint64_t>("--seed", v, 0, std::numeric_limits<std::uint64_t>::max());
        },
        "seed of the inputs (1)", "N");
}

void add_how(CLI::App& app, Options& o, bool& single_thread, int& threads) {
    add_count(app, "--procs", "--procs", o.procs, 1, kMaxRanks,
              "processes to fork on this machine, without a launcher; 0: none");
    add(
        app, "-t,--nthreads", [&](const std::string& v) { threads = parse_number("-t/--nthreads", v, 1, kMaxRanks); },
        "threads of each process (1 with --procs or a launcher, else 2)", "N");
    add_count(app, "-g,--ngpus", "-g/--ngpus", o.ranks_per_thread, 1, kMaxRanks,
              "ranks of each thread, driven by it in groups");
    app.add_flag("--single-thread", single_thread, "one thread drives all ranks in groups: -t 1 -g (t x g)");
    app.add_flag("--stream", o.stream, "queue on a host stream and synchronize, in place of blocking calls");
    app.add_flag("--mpi", o.mpi, "under mpirun: time MPI's own call too, in turn with Rondo's, in columns of its own");
    app.add_flag("--back-to-back", o.back_to_back, "timed loop without barriers and without new inputs");
    add(
        app, "-a,--average",
        [&](const std::string& v) {
            int value = 0;
            const auto end = std::from_chars(v.data(), v.data() + v.size(), value);
            if (end.ec != std::errc() || end.ptr != v.data() + v.size() || value < 0 || value > 3) {
                refuse("-a/--average", v, "0 (rank 0), 1 (mean), 2 (min), 3 (max)");
            }
            o.average = static_cast<Average>(value);
        },
        "time over the threads: 0 rank 0, 1 mean, 2 min, 3 max (1)", "N");
    add(
        app, "-T,--timeout", [&](const std::string& v) { o.timeout = parse_seconds("-T/--timeout", v); },
        "seconds that an operation may wait; 0: the library's setting (0)", "SECONDS");
}

void add_output(CLI::App& app, Options& o) {
    add(
        app, "-J,--json", [&](const std::string& v) { o.json = v; },
        "write results as JSON; an existing file is kept and .N appended; -: to stdout, the table to stderr", "FILE");
    add(
        app, "--csv", [&](const std::string& v) { o.csv = v; },
        "write results as CSV, one row for each size and mode; FILE as with -J", "FILE");
    add(
        app, "-S,--report_timestamps",
        [&](const std::string& v) { o.timestamps = parse_number("-S/--report_timestamps", v, 0, 1) == 1; },
        "1: a column with the time of day (0)", "0|1");
    app.add_flag("--inject-error", o.inject_error,
                 "flip one bit of one element on one rank after a checked run: #wrong must be 1, the status 1");
}

void check_together(Options& o) {
    if (o.min_bytes > o.max_bytes) {
        throw UsageError(fmt::format("-b/--minbytes {} is larger than -e/--maxbytes {}; allowed is at most -e",
                                     o.min_bytes, o.max_bytes));
    }
    if (o.step_factor == 1 && o.step_bytes == 0 && o.min_bytes != o.max_bytes) {
        throw UsageError("-i/--stepbytes: '0' is not allowed with -b below -e; allowed is at least 1, or -f 2 and up");
    }
    const std::int64_t ranks = std::int64_t{o.threads} * o.ranks_per_thread * o.processes;
    if (ranks > kMaxRanks) {
        throw UsageError(
            fmt::format("-t {} times -g {}{} is {} ranks; allowed is at most {}", o.threads, o.ranks_per_thread,
                        o.processes > 1 ? fmt::format(" times {} processes", o.processes) : "", ranks, kMaxRanks));
    }
    if (o.inject_error && o.checks == 0) {
        throw UsageError("--inject-error with -c/--check '0' would not be seen; allowed is -c 1 and up");
    }
    if (o.mpi && (o.ranks_per_process() > 1 || o.stream)) {
        throw UsageError(
            fmt::format("--mpi with {}; allowed is one rank in each process, -t 1 -g 1, and no --stream",
                        o.stream ? "--stream" : fmt::format("-t {} -g {}", o.threads, o.ranks_per_thread)));
    }
    if (o.csv == "-")
        throw UsageError("--csv: '-' is not allowed; allowed is a file name (-J - writes JSON to stdout)");
}

}  // namespace

std::uint64_t parse_size(std::string_view flag, std::string_view text) {
    constexpr std::string_view kAllowed = "a whole number of bytes below 2^62, as 8, 4K, 1.5M, 2G, 1T";
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    constexpr std::string_view kUnits = "KMGT";
    if (error != std::errc() || text.front() == '-' || unit.size() > 1) refuse(flag, text, kAllowed);
    std::size_t power = 0;
    if (!unit.empty()) {
        const std::size_t at = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0]))));
        if (at == std::string_view::npos) refuse(flag, text, kAllowed);
        power = at + 1;
    }
    // Exact: no digits are lost below 2^53, and above it a double is whole.
    const double bytes = std::ldexp(value, static_cast<int>(10 * power));
    if (!(bytes < 0x1p62) || bytes != std::floor(bytes)) refuse(flag, text, kAllowed);
    return static_cast<std::uint64_t>(bytes);
}

namespace {

/// Ranks are threads times processes; who starts the processes says how many.
void count_processes(Options& o, const Launch& launch, int threads) {
    if (o.procs > 0 && launch.starter != Starter::Alone) {
        throw UsageError(
            fmt::format("--procs {} in a process {}; allowed is one of the two", o.procs, name_of(launch.starter)));
    }
    if (o.mpi && launch.starter != Starter::Mpi) {
        throw UsageError("--mpi in a process that mpirun has not started; allowed is mpirun -np N PROGRAM --mpi");
    }
    o.processes = o.procs > 0 ? o.procs : launch.processes;
    o.process = launch.process;
    const bool launched = o.procs > 0 || launch.starter != Starter::Alone;
    o.threads = threads > 0 ? threads : launched ? 1 : 2;
}

}  // namespace

CommandLine parse_command_line(const Collective& collective, int argc, const char* const* argv, const Launch& launch) {
    CommandLine line;
    std::string root;
    bool single_thread = false;
    int threads = 0;
    bool version = false;
    CLI::App app(fmt::format("Measures and checks {}.", collective.function), std::string(collective.program));
    app.allow_extras();
    app.footer(footer_of(collective));
    add_sizes_and_counts(app, line.options);
    add_what(app, line.options, root);
    add_how(app, line.options, single_thread, threads);
    add_output(app, line.options);
    app.add_flag("--version", version, "print the version and the library's build");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        line.print = app.help();
        return line;
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    if (!app.remaining().empty()) {
        throw UsageError(
            fmt::format("unknown flag or argument '{}'; allowed are the flags that -h lists", app.remaining().front()));
    }
    if (version) {
        line.print = version_line() + "\n" + rondoGetBuildInfo() + "\n";
        return line;
    }
    count_processes(line.options, launch, threads);
    check_together(line.options);
    if (single_thread) {
        line.options.ranks_per_thread = line.options.ranks_per_process();
        line.options.threads = 1;
    }
    if (!root.empty()) line.options.roots = parse_roots(root, line.options.nranks());
    return line;
}

}  // namespace rondo::perf
