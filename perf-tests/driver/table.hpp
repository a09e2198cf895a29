#pragma once
// The table on stdout: nccl-tests' header, columns and closing lines, with our columns after theirs.

#include <cstdio>
#include <span>
#include <string>

#include "driver/launch.hpp"
#include "driver/options.hpp"
#include "driver/results.hpp"

namespace rondo::perf {

/// `value` in `width` characters with as many decimals (2, 1, 0) as fit, or else with an exponent.
std::string short_number(double value, int width);

/// `processes`: all of the run, by number; `starter`: who started them.
std::string header_text(const Collective& collective, const Options& options, std::span<const ProcessInfo> processes,
                        Starter starter = Starter::Alone);
/// The lines above the columns.
std::string column_text(const Options& options);
std::string row_text(const Row& row, const Options& options);
std::string footer_text(const Collective& collective, const Outcome& outcome);

/// Where the table and the progress go. Nothing is kept in buffers, so that a run can be followed.
class Table {
public:
    /// `out` null: nothing is printed. `progress`: say on stderr what runs; `rewrite`: on one line that is written
    /// again and again (a terminal).
    Table(std::FILE* out, const Options& options, bool progress, bool rewrite)
        : out_(out), options_(options), progress_(progress), rewrite_(rewrite) {}

    void print(const std::string& text);
    void start(std::size_t index, std::size_t total, const Case& what, bool reduces);
    void row(const Row& row) { print(row_text(row, options_)); }

private:
    void clear_progress();

    std::FILE* out_;
    const Options& options_;
    bool progress_;
    bool rewrite_;
    bool shown_ = false;
};

}  // namespace rondo::perf
