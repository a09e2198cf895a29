#pragma once
// The RONDO_* settings: a plain object that is filled once and then passed along, never changed.
//
// A value comes from the environment; else from the file RONDO_CONF_FILE (default ~/.rondo.conf); else from
// /etc/rondo.conf; else it is the default. A file has lines KEY=VALUE; blank lines and lines that begin with # are
// skipped. An empty value leaves the setting unset. The declarations are in settings_registry.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/algorithm_rules.hpp"
#include "base/log.hpp"
#include "base/network_settings.hpp"

namespace rondo {

enum class ProtocolChoice : std::uint8_t { Auto, Simple, LL, LL128 };
enum class VerifyPlans : std::uint8_t { Auto, On, Off };

/// The transports that may be chosen.
struct Transports {
    bool memory = true;
    bool tcp = true;
    bool cma = true;  ///< beside memory: copies out of the other processes' own buffers

    /// As RONDO_TRANSPORT takes it.
    [[nodiscard]] std::string text() const {
        const std::string channels = memory && tcp ? "memory,tcp" : memory ? "memory" : "tcp";
        return cma ? channels + ",cma" : channels;
    }
    bool operator==(const Transports&) const = default;
};

struct Settings {
    LogLevel debug = LogLevel::Warn;
    SubsystemMask debug_subsys = kDefaultSubsystems;
    std::string debug_file;
    std::string conf_file;
    AlgorithmRules algo;
    ProtocolChoice proto = ProtocolChoice::Auto;
    std::string topo_file;
    double timeout = 600;                  ///< seconds
    double stall_warning = 30;             ///< seconds; 0: no warning
    std::uint64_t buffsize = 512U << 10U;  ///< bytes of one FIFO
    std::int32_t nslots = 4;               ///< slots of one FIFO
    std::int32_t spin_us = -1;             ///< microseconds; -1: by free cores
    VerifyPlans verify_plans = VerifyPlans::Auto;
    std::string plan_file;
    std::int32_t nchannels = 0;  ///< 0: the library chooses
    NetworkSettings network;
    Transports transport;
    std::int32_t nsocks = 1;  ///< connections between two ranks

    /// Reads environment and files. Throws Error(InvalidArgument) with every bad value, its source and what is allowed.
    static Settings from_environment();

    /// What the logger is to do.
    [[nodiscard]] LogConfig log_config() const { return {debug, debug_subsys, debug_file}; }

    bool operator==(const Settings&) const = default;
};

/// What is shown in place of the value of a setting of type "secret".
inline constexpr std::string_view kHiddenValue = "(hidden)";

/// One NAME=VALUE as found.
struct Assignment {
    std::string name;
    std::string value;
    std::string source;  ///< "environment" or "/etc/rondo.conf:3"
};

/// Everything found, the stronger source first.
struct SettingsInput {
    std::vector<Assignment> assignments;
    std::vector<std::string> errors;
    std::vector<std::string> warnings;
};

/// A setting as a table shows it.
struct SettingRow {
    std::string name;
    std::string type;
    std::string value;
    std::string default_value;
    std::string source;  ///< "default", "environment" or "/etc/rondo.conf:3"
    std::string allowed;
    std::string meaning;
    std::string error;  ///< "" where the value is good; the value is then as it was given
};

/// The settings with their stories. A bad value leaves the default in `settings` and adds to `errors`.
struct SettingsReport {
    Settings settings;
    std::vector<SettingRow> rows;  ///< every setting, in the order of the registry
    std::vector<std::string> errors;
    std::vector<std::string> warnings;

    /// Throws Error(InvalidArgument) with all errors, if there are any.
    void throw_errors() const;
};

/// The assignments in the text of a settings file called `path`. Faulty lines go to `errors`.
SettingsInput parse_settings_file(std::string_view text, const std::string& path);

/// Reads the environment and the files that it asks for.
SettingsInput read_settings_input();

SettingsReport evaluate(const SettingsInput& input);

/// The table for people: name, value, default, source and meaning, one line each; a bad value is marked.
std::string settings_table(const SettingsReport& report);

}  // namespace rondo
