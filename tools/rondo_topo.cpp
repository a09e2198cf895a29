// rondo-topo: what the library knows about this machine and how it is set. Lists the settings.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "base/settings.hpp"
#include "base/version.hpp"

namespace {

constexpr int kExitBadSetting = 1;
constexpr int kExitBadUsage = 2;

nlohmann::ordered_json to_json(const rondo::SettingsReport& report) {
    nlohmann::ordered_json settings = nlohmann::ordered_json::array();
    for (const rondo::SettingRow& row : report.rows) {
        nlohmann::ordered_json entry{
            {"name", row.name},     {"type", row.type},       {"value", row.value},    {"default", row.default_value},
            {"source", row.source}, {"allowed", row.allowed}, {"meaning", row.meaning}};
        if (!row.error.empty()) entry["error"] = row.error;
        settings.push_back(std::move(entry));
    }
    return {{"settings", std::move(settings)}, {"warnings", report.warnings}, {"errors", report.errors}};
}

int list_settings(bool json) {
    const rondo::SettingsReport report = rondo::evaluate(rondo::read_settings_input());
    if (json) {
        // A value may hold any bytes; JSON is UTF-8.
        const auto bytes = nlohmann::ordered_json::error_handler_t::replace;
        std::printf("%s\n", to_json(report).dump(2, ' ', false, bytes).c_str());
    } else {
        std::fputs(rondo::settings_table(report).c_str(), stdout);
    }
    return report.errors.empty() ? 0 : kExitBadSetting;
}

int run(int argc, char** argv) {
    CLI::App app{"Shows how Rondo is set on this machine.", "rondo-topo"};
    bool settings = false;
    bool json = false;
    app.set_version_flag("--version", rondo::build_info(), "Show version, commit and build, and exit");
    CLI::Option* listing =
        app.add_flag("--settings", settings, "List every RONDO_* setting: value, default, source and meaning");
    app.add_flag("--json", json, "As JSON")->needs(listing);
    app.footer("Exit status: 0; 1 where a setting has a bad value; 2 for a wrong command line.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kExitBadUsage;
    }
    if (!settings) {
        std::fputs("rondo-topo: nothing to do; give --settings, --version or --help\n", stderr);
        return kExitBadUsage;
    }
    return list_settings(json);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rondo-topo: %s\n", error.what());
        return kExitBadSetting;
    }
}
