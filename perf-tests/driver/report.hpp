#pragma once
// Result files: JSON with nccl-tests' keys and ours, CSV with a row for each size and mode.

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "driver/machine.hpp"
#include "driver/options.hpp"
#include "driver/results.hpp"

namespace rondo::perf {

struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

/// A file that did not exist before: `path`, or where that exists path.0, path.1, ...
struct NewFile {
    std::unique_ptr<std::FILE, CloseFile> file;
    std::string path;
};

/// Throws UsageError naming `flag`, the path and the system's text.
NewFile create_file(std::string_view flag, const std::string& path);

/// Collects a run; the document is whole at every time.
class JsonReport {
public:
    JsonReport(const Collective& collective, const Options& options, const Machine& machine,
               std::span<const ProcessInfo> processes, int argc, const char* const* argv);

    void row(const Row& row);
    void end(const Outcome& outcome);
    [[nodiscard]] const nlohmann::ordered_json& document() const noexcept { return document_; }

private:
    nlohmann::ordered_json document_;
    std::string program_;
    int iterations_;
};

std::string csv_header();
/// One line for each mode of the row.
std::string csv_rows(const Row& row, const Collective& collective, const Options& options);

}  // namespace rondo::perf
