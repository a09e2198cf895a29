#include "base/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/descriptor_table.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/settings_registry.hpp"

namespace rondo {

namespace {

constexpr std::string_view kPrefix = "RONDO_";
constexpr const char* kSystemFile = "/etc/rondo.conf";
constexpr std::size_t kMostFileBytes = 1 << 20;

void append(SettingsInput& all, SettingsInput&& more) {
    std::move(more.assignments.begin(), more.assignments.end(), std::back_inserter(all.assignments));
    std::move(more.errors.begin(), more.errors.end(), std::back_inserter(all.errors));
    std::move(more.warnings.begin(), more.warnings.end(), std::back_inserter(all.warnings));
}

/// Adds the assignments of the file. A file that the user named must be readable; a default one may be missing.
void add_file(SettingsInput& input, const std::string& path, bool required) {
    errno = 0;
    std::ifstream file = DescriptorTable::read(path);
    std::string text;
    if (file) {
        text.resize(kMostFileBytes + 1);
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(file.gcount()));
    }
    if (!file.is_open() || file.bad()) {
        const int error = errno == 0 ? EIO : errno;
        const std::string fault = fmt::format("{}: {}", printable(path), errno_text(error));
        if (required) {
            input.errors.push_back(
                fmt::format("environment: RONDO_CONF_FILE={}: the file cannot be read: {} "
                            "(allowed: the path of a file that can be read)",
                            printable(path), errno_text(error)));
        } else if (error != ENOENT && error != ENOTDIR) {
            input.warnings.push_back(fault + "; the file is ignored");
        }
        return;
    }
    if (text.size() > kMostFileBytes) {
        input.errors.push_back(fmt::format("{}: longer than {} bytes", printable(path), kMostFileBytes));
        return;
    }
    append(input, parse_settings_file(text, path));
}

std::string unknown_text(const Assignment& assignment) {
    std::vector<std::string_view> names;
    for (const SettingSpec& spec : setting_specs()) names.push_back(spec.name);
    const std::string_view near = nearest(assignment.name, names);
    return fmt::format("{}: unknown setting {} is ignored{}", assignment.source, printable(assignment.name),
                       near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

/// Unknown names, once each, and assignments that have no effect where they are.
void add_warnings(const SettingsInput& input, std::vector<std::string>& warnings) {
    const std::span<const SettingSpec> specs = setting_specs();
    std::vector<std::string_view> seen;
    for (const Assignment& assignment : input.assignments) {
        const std::string& name = assignment.name;
        const bool known = std::any_of(specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == name; });
        if (name == "RONDO_CONF_FILE" && assignment.source != "environment") {
            warnings.push_back(assignment.source +
                               ": RONDO_CONF_FILE has no effect in a file; set it in the environment");
        }
        if (known || reserved_name(name) || std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
        seen.push_back(name);
        warnings.push_back(unknown_text(assignment));
    }
}

/// The strongest assignment of a value to `name`.
const Assignment* strongest(const SettingsInput& input, std::string_view name) {
    for (const Assignment& assignment : input.assignments) {
        const bool in_place = name != "RONDO_CONF_FILE" || assignment.source == "environment";
        if (assignment.name == name && !trim(assignment.value).empty() && in_place) return &assignment;
    }
    return nullptr;
}

}  // namespace

Settings Settings::from_environment() {
    const SettingsReport report = evaluate(read_settings_input());
    report.throw_errors();
    return report.settings;
}

void SettingsReport::throw_errors() const {
    if (errors.empty()) return;
    throw Error(Code::InvalidArgument, fmt::format("{}", fmt::join(errors, "; ")));
}

SettingsInput parse_settings_file(std::string_view text, const std::string& path) {
    SettingsInput input;
    std::size_t number = 0;
    for (const std::string_view raw : split_text(text, '\n')) {
        ++number;
        const std::string_view line = trim(raw);
        if (line.empty() || line.front() == '#') continue;
        const std::string where = fmt::format("{}:{}", printable(path), number);
        const std::size_t equals = line.find('=');
        const std::string_view name = trim(line.substr(0, equals));
        if (equals == std::string_view::npos || name.empty()) {
            input.errors.push_back(
                fmt::format("{}: '{}' is no setting (allowed: KEY=VALUE, # comment)", where, printable(line)));
            continue;
        }
        const auto same = std::find_if(input.assignments.begin(), input.assignments.end(),
                                       [&](const Assignment& earlier) { return earlier.name == name; });
        if (same != input.assignments.end()) {
            input.warnings.push_back(
                fmt::format("{}: {} is ignored, it was set before at {}", where, printable(name), same->source));
            continue;
        }
        input.assignments.push_back({std::string(name), std::string(trim(line.substr(equals + 1))), where});
    }
    return input;
}

SettingsInput read_settings_input() {
    SettingsInput input;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view line(*entry);
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || line.substr(0, kPrefix.size()) != kPrefix) continue;
        input.assignments.push_back(
            {std::string(line.substr(0, equals)), std::string(trim(line.substr(equals + 1))), "environment"});
    }
    // The order of the environment means nothing to a user; that of the names does.
    std::sort(input.assignments.begin(), input.assignments.end(),
              [](const Assignment& a, const Assignment& b) { return a.name < b.name; });

    if (const Assignment* chosen = strongest(input, "RONDO_CONF_FILE"); chosen != nullptr) {
        const std::string path = chosen->value;  // add_file may move the assignments
        add_file(input, path, true);
    } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
        add_file(input, std::string(home) + "/.rondo.conf", false);
    }
    add_file(input, kSystemFile, false);
    return input;
}

SettingsReport evaluate(const SettingsInput& input) {
    SettingsReport report;
    report.errors = input.errors;
    report.warnings = input.warnings;
    const Settings defaults;
    for (const SettingSpec& spec : setting_specs()) {
        SettingRow row{.name = std::string(spec.name),
                       .type = std::string(spec.type),
                       .value = {},
                       .default_value = spec.show(defaults),
                       .source = "default",
                       .allowed = spec.allowed,
                       .meaning = std::string(spec.meaning),
                       .error = {}};
        if (const Assignment* found = strongest(input, spec.name); found != nullptr) {
            row.source = found->source;
            try {
                spec.set(report.settings, found->value);
            } catch (const Error& error) {
                row.value = spec.type == "secret" ? std::string(kHiddenValue) : printable(found->value);
                row.error = fmt::format("{}: {}={}: {}", found->source, spec.name, row.value, error.what());
                report.errors.push_back(row.error);
            }
        }
        if (row.error.empty()) row.value = spec.show(report.settings);
        report.rows.push_back(std::move(row));
    }
    add_warnings(input, report.warnings);
    return report;
}

std::string settings_table(const SettingsReport& report) {
    const SettingRow heads{.name = "setting",
                           .type = {},
                           .value = "value",
                           .default_value = "default",
                           .source = "source",
                           .allowed = "allowed",
                           .meaning = "meaning",
                           .error = {}};
    const auto shown = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
    const auto value_of = [&](const SettingRow& row) { return shown(row.value) + (row.error.empty() ? "" : " (bad)"); };
    std::size_t name_width = heads.name.size();
    std::size_t value_width = heads.value.size();
    std::size_t default_width = heads.default_value.size();
    std::size_t source_width = heads.source.size();
    for (const SettingRow& row : report.rows) {
        name_width = std::max(name_width, row.name.size());
        value_width = std::max(value_width, value_of(row).size());
        default_width = std::max(default_width, shown(row.default_value).size());
        source_width = std::max(source_width, row.source.size());
    }
    std::string text;
    const auto line = [&](const SettingRow& row, const std::string& meaning) {
        text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", row.name, name_width, value_of(row), value_width,
                            shown(row.default_value), default_width, row.source, source_width, meaning);
    };
    line(heads, "meaning (allowed values)");
    for (const SettingRow& row : report.rows) line(row, fmt::format("{} ({})", row.meaning, row.allowed));
    for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
    for (const std::string& error : report.errors) text += "error: " + error + "\n";
    return text;
}

}  // namespace rondo
