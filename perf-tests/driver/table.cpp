#include "driver/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "driver/element.hpp"
#include "driver/machine.hpp"

namespace rondo::perf {

namespace {

std::string mode_text(const std::optional<ModeResult>& mode) {
    if (!mode) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
    const std::string wrong = mode->wrong ? fmt::format("{:6g}", static_cast<double>(*mode->wrong)) : "   N/A";
    return fmt::format("  {}  {}  {}  {}", short_number(mode->time, 7), short_number(mode->alg_bw, 6),
                       short_number(mode->bus_bw, 6), wrong);
}

std::string percentile_text(const std::optional<ModeResult>& mode) {
    if (!mode) return fmt::format("  {:>7}  {:>7}", "N/A", "N/A");
    return fmt::format("  {}  {}", short_number(mode->samples.p50, 7), short_number(mode->samples.p99, 7));
}

std::string mode_line(const Options& options) {
    std::string text;
    if (options.stream) text += "# Calls are queued on host streams\n";
    if (options.back_to_back) text += "# Timed loop back to back: no barriers, inputs are not rewritten\n";
    if (options.unalign_bytes) text += fmt::format("# Buffers misaligned by {} bytes\n", options.unalign);
    return text;
}

}  // namespace

std::string short_number(double value, int width) {
    for (const int decimals : {2, 1, 0}) {
        std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
        if (text.size() <= static_cast<std::size_t>(width)) return text;
    }
    return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

std::string header_text(const Collective& collective, const Options& o, std::span<const ProcessInfo> processes,
                        Starter starter) {
    const bool factor = o.step_factor > 1;
    std::string text = fmt::format("# {}\n# Collective test starting: {}\n", version_line(), collective.program);
    text += fmt::format(
        "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg iters: {} "
        "validation: {} graph: 0 unalign: {}\n",
        o.threads, o.ranks_per_thread, o.min_bytes, o.max_bytes, factor ? o.step_factor : o.step_bytes,
        factor ? "factor" : "bytes", o.warmup, o.iterations, o.aggregate, o.checks, o.unalign);
    if (starter != Starter::Alone) {
        text += fmt::format("# Processes: {}, {}; {} rank(s) in each\n", processes.size(), name_of(starter),
                            o.ranks_per_process());
    }
    text += mode_line(o);
    text +=
        fmt::format("# Inputs from seed {}; busbw = algbw x {}\n#\n# Using devices\n", o.seed, collective.bus_formula);
    for (int rank = 0; rank < o.nranks(); ++rank) {
        const ProcessInfo& process = processes[static_cast<std::size_t>(rank / o.ranks_per_process())];
        text += fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [host] {}\n", rank, 0, process.pid,
                            process.host, rank, process.cpu);
    }
    return text;
}

std::string column_text(const Options& options) {
    const int stamp = options.timestamps ? 19 : 0;
    const std::string_view gap = options.timestamps ? "  " : "";
    const auto line = [&](auto... cells) {
        return fmt::format(
            "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6} {:>{}}",
            cells..., stamp);
    };
    const std::string names = line("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
                                   "algbw", "busbw", "#wrong", options.timestamps ? "timestamp" : "");
    const std::string units = line("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
                                   "(GB/s)", "", options.timestamps ? "%Y-%m-%d %H:%M:%S" : "");
    const std::string modes = fmt::format(
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place                       in-place          ", "", "",
        "", "", "");
    const auto width = static_cast<int>(names.size());
    const auto mpi = [&](auto... cells) {
        return options.mpi ? fmt::format("  {:>7}  {:>6}  {:>7}  {:>7}", cells...) : std::string();
    };
    return fmt::format("#\n{:<{}}{}  out-of-place      in-place{}\n", modes, width, gap,
                       options.mpi ? "          MPI's own call, out-of-place" : "") +
           fmt::format("{}{} {:>7}  {:>7}  {:>7}  {:>7}{}  {}\n", names, gap, "p50", "p99", "p50", "p99",
                       mpi("time", "busbw", "p50", "p99"), "algorithm") +
           fmt::format("{}{} {:>7}  {:>7}  {:>7}  {:>7}{}\n", units, gap, "(us)", "(us)", "(us)", "(us)",
                       mpi("(us)", "(GB/s)", "(us)", "(us)"));
}

std::string row_text(const Row& row, const Options& options) {
    std::string text =
        fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}", row.size, row.count, row.type, row.redop, row.root);
    text += mode_text(row.out_of_place) + mode_text(row.in_place);
    if (options.timestamps) text += fmt::format("{:>21}", row.timestamp);
    text += percentile_text(row.out_of_place) + percentile_text(row.in_place);
    if (!options.mpi) return text + "  " + row.algorithm + "\n";
    text += row.mpi ? fmt::format("  {}  {}", short_number(row.mpi->time, 7), short_number(row.mpi->bus_bw, 6))
                    : fmt::format("  {:>7}  {:>6}", "N/A", "N/A");
    return text + percentile_text(row.mpi) + "  " + row.algorithm + "\n";
}

std::string footer_text(const Collective& collective, const Outcome& outcome) {
    std::string text =
        fmt::format("# {:<20} : {} {}\n", "Out of bounds values", outcome.wrong, outcome.wrong == 0 ? "OK" : "FAILED");
    text += fmt::format("# {:<20} : {:g} \n", "Avg bus bandwidth", outcome.average_bus_bw());
    return text + fmt::format("#\n# Collective test concluded: {}\n", collective.program);
}

void Table::print(const std::string& text) {
    if (out_ == nullptr) return;
    clear_progress();
    std::fwrite(text.data(), 1, text.size(), out_);
    std::fflush(out_);
}

void Table::clear_progress() {
    if (!shown_ || !rewrite_) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    shown_ = false;
}

void Table::start(std::size_t index, std::size_t total, const Case& what, bool reduces) {
    if (!progress_) return;
    clear_progress();
    fmt::print(stderr, "[{}/{}] {}{}{} {} bytes{}", index + 1, total, info_of(what.type).name, reduces ? " " : "",
               reduces ? info_of(what.op).name : "", what.bytes, rewrite_ ? "" : "\n");
    std::fflush(stderr);
    shown_ = true;
}

}  // namespace rondo::perf
