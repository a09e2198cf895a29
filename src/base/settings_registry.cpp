#include "base/settings_registry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace rondo {

namespace {

constexpr std::array<std::pair<std::string_view, ProtocolChoice>, 4> kProtocols{{{"auto", ProtocolChoice::Auto},
                                                                                 {"simple", ProtocolChoice::Simple},
                                                                                 {"ll", ProtocolChoice::LL},
                                                                                 {"ll128", ProtocolChoice::LL128}}};

constexpr std::array<std::pair<std::string_view, VerifyPlans>, 3> kVerifyPlans{
    {{"auto", VerifyPlans::Auto}, {"on", VerifyPlans::On}, {"off", VerifyPlans::Off}}};

template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
    std::vector<std::string_view> names;
    names.reserve(table.size());
    for (const auto& [name, value] : table) names.push_back(name);
    return names;
}

/// The value that `word` names in `table`, whatever its letter case.
template <class Table>
auto look_up(std::string_view word, const Table& table, std::string_view kind) {
    for (const auto& [name, value] : table) {
        if (lower(name) == lower(word)) return value;
    }
    const std::vector<std::string_view> names = names_of(table);
    const std::string_view near = nearest(word, names);
    throw make_error(Code::InvalidArgument, "unknown {} '{}' (allowed: {}){}", kind, printable(word), join(names),
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

template <class Table>
std::string name_in(const Table& table, decltype(Table::value_type::second) wanted) {
    for (const auto& [name, value] : table) {
        if (value == wanted) return std::string(name);
    }
    return "?";
}

// --- Kinds of settings -----------------------------------------------------------------------------------------------

template <class Table>
SettingSpec choice(std::string_view name, decltype(Table::value_type::second) Settings::*field, const Table& table,
                   std::string_view kind, std::string_view meaning) {
    return {.name = name,
            .type = "choice",
            .allowed = join(names_of(table)),
            .meaning = meaning,
            .set = [=, &table](Settings& s, std::string_view text) { s.*field = look_up(text, table, kind); },
            .show = [=, &table](const Settings& s) { return name_in(table, s.*field); }};
}

SettingSpec path(std::string_view name, std::string Settings::*field, std::string_view allowed,
                 std::string_view meaning) {
    return {.name = name,
            .type = "path",
            .allowed = std::string(allowed),
            .meaning = meaning,
            .set =
                [=](Settings& s, std::string_view text) {
                    if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; })) {
                        throw make_error(Code::InvalidArgument, "'{}' holds a control character (allowed: {})",
                                         printable(text), allowed);
                    }
                    s.*field = text;
                },
            .show = [=](const Settings& s) { return s.*field; }};
}

SettingSpec integer(std::string_view name, std::int32_t Settings::*field, std::int32_t min, std::int32_t max,
                    std::string_view meaning) {
    return {.name = name,
            .type = "integer",
            .allowed = fmt::format("{} to {}", min, max),
            .meaning = meaning,
            .set = [=](Settings& s,
                       std::string_view text) { s.*field = static_cast<std::int32_t>(parse_integer(text, min, max)); },
            .show = [=](const Settings& s) { return fmt::format("{}", s.*field); }};
}

SettingSpec seconds(std::string_view name, double Settings::*field, double min, double max, std::string_view meaning) {
    return {.name = name,
            .type = "seconds",
            .allowed = fmt::format("{} to {}", min, max),
            .meaning = meaning,
            .set = [=](Settings& s, std::string_view text) { s.*field = parse_real(text, min, max); },
            .show = [=](const Settings& s) { return fmt::format("{}", s.*field); }};
}

SettingSpec size(std::string_view name, std::uint64_t Settings::*field, std::uint64_t min, std::uint64_t max,
                 std::string_view meaning) {
    return {.name = name,
            .type = "size",
            .allowed = fmt::format("{} to {}", size_text(min), size_text(max)),
            .meaning = meaning,
            .set = [=](Settings& s, std::string_view text) { s.*field = parse_size(text, min, max); },
            .show = [=](const Settings& s) { return size_text(s.*field); }};
}

SettingSpec algorithms(std::string_view name, AlgorithmRules Settings::*field, std::string_view meaning) {
    return {.name = name,
            .type = "rules",
            .allowed = join(kAlgorithmNames),
            .meaning = meaning,
            .set = [=](Settings& s, std::string_view text) { s.*field = AlgorithmRules::parse(text); },
            .show = [=](const Settings& s) { return (s.*field).text(); }};
}

SubsystemMask parse_subsystems(std::string_view text) {
    const bool inverted = !text.empty() && text.front() == '^';
    if (inverted) text.remove_prefix(1);
    std::uint32_t bits = 0;
    for (const std::string_view word : split_text(text, ',')) {
        bits |= static_cast<std::uint32_t>(look_up(trim(word), kSubsystems, "subsystem"));
    }
    return {inverted ? ~bits : bits};
}

std::string show_subsystems(SubsystemMask mask) {
    std::vector<std::string_view> shown;
    std::vector<std::string_view> hidden;
    for (const auto& [name, subsystem] : kSubsystems) {
        if (subsystem != Subsystem::All) (mask.has(subsystem) ? shown : hidden).push_back(name);
    }
    if (hidden.empty()) return "ALL";
    const bool inverted = hidden.size() < shown.size() || shown.empty();
    std::string text = fmt::format("{}{}", inverted ? "^" : "", join(inverted ? hidden : shown));
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    return text;
}

SettingSpec subsystems(std::string_view name, SubsystemMask Settings::*field, std::string_view meaning) {
    return {.name = name,
            .type = "list",
            .allowed = join(names_of(kSubsystems)),
            .meaning = meaning,
            .set = [=](Settings& s, std::string_view text) { s.*field = parse_subsystems(text); },
            .show = [=](const Settings& s) { return show_subsystems(s.*field); }};
}

constexpr std::array<std::pair<std::string_view, bool Transports::*>, 3> kTransports{
    {{"memory", &Transports::memory}, {"tcp", &Transports::tcp}, {"cma", &Transports::cma}}};

/// "memory,tcp": those allowed; "^tcp": all but these.
Transports parse_transports(std::string_view text) {
    const bool inverted = !text.empty() && text.front() == '^';
    if (inverted) text.remove_prefix(1);
    Transports transports{.memory = inverted, .tcp = inverted, .cma = inverted};
    for (const std::string_view word : split_text(text, ',')) {
        transports.*look_up(trim(word), kTransports, "transport") = !inverted;
    }
    if (!transports.memory && !transports.tcp) {
        throw make_error(Code::InvalidArgument, "no transport is left (allowed: {}; cma only beside memory)",
                         join(names_of(kTransports)));
    }
    return transports;
}

SettingSpec transports(std::string_view name, Transports Settings::*field, std::string_view meaning) {
    return {.name = name,
            .type = "list",
            .allowed = join(names_of(kTransports)),
            .meaning = meaning,
            .set = [=](Settings& s, std::string_view text) { s.*field = parse_transports(text); },
            .show = [=](const Settings& s) { return (s.*field).text(); }};
}

// --- The settings ----------------------------------------------------------------------------------------------------

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kGiB = kKiB * kKiB * kKiB;

std::vector<SettingSpec> make_specs() {
    std::vector<SettingSpec> specs{
        choice("RONDO_DEBUG", &Settings::debug, kLogLevels, "level",
               "what is logged: nothing, the version, warnings, also information, also a trace of operations"),
        subsystems("RONDO_DEBUG_SUBSYS", &Settings::debug_subsys,
                   "parts whose INFO and TRACE messages are shown, separated by commas; ^ in front: all but these"),
        path("RONDO_DEBUG_FILE", &Settings::debug_file, "a path; %h stands for the host, %p for the process id",
             "file to which log lines are appended; unset: stderr"),
        path("RONDO_CONF_FILE", &Settings::conf_file, "the path of a file that can be read",
             "file with settings, KEY=VALUE lines; unset: ~/.rondo.conf. /etc/rondo.conf is read after it"),
        algorithms("RONDO_ALGO", &Settings::algo,
                   "algorithms that may be chosen, as ring,tree;all_reduce:^tree; unset: all"),
        choice("RONDO_PROTO", &Settings::proto, kProtocols, "protocol",
               "protocol of the messages between ranks; auto: by message length; ll128: between GPUs only"),
        path("RONDO_TOPO_FILE", &Settings::topo_file, "the path of an XML file",
             "description of the machine to use in place of discovery; this version accepts it and does not use it"),
        seconds("RONDO_TIMEOUT", &Settings::timeout, 0.001, 1e6,
                "longest that an operation waits for other ranks without progress"),
        seconds("RONDO_STALL_WARNING", &Settings::stall_warning, 0, 1e6,
                "a wait as long as this is reported by a warning; 0: never"),
        size("RONDO_BUFFSIZE", &Settings::buffsize, 16 * kKiB, kGiB,
             "bytes of the FIFO between two ranks, all its slots together; a rank's window has four times as many"),
        integer("RONDO_NSLOTS", &Settings::nslots, 1, 64, "slots of the FIFO between two ranks"),
        integer("RONDO_SPIN_US", &Settings::spin_us, -1, 1'000'000,
                "microseconds that a wait spins before it yields the core; -1: by the number of free cores"),
        choice("RONDO_VERIFY_PLANS", &Settings::verify_plans, kVerifyPlans, "choice",
               "verify each plan before its first run; auto: where there are few enough ranks for that to take "
               "milliseconds"),
        path("RONDO_PLAN_FILE", &Settings::plan_file, "the path of a plan file in JSON",
             "plan to use for the collective that it is for; verified before it runs"),
        transports("RONDO_TRANSPORT", &Settings::transport,
                   "transports that may be chosen, separated by commas; ^ in front: all but these"),
        integer("RONDO_NSOCKS", &Settings::nsocks, 1, 16,
                "TCP connections between two ranks; long messages are cut into pieces, which whichever is free takes"),
        integer("RONDO_NCHANNELS", &Settings::nchannels, 0, 16, "channels of each plan; 0: the library chooses"),
    };
    for (SettingSpec& spec : network_setting_specs()) specs.push_back(std::move(spec));
    return specs;
}

}  // namespace

std::span<const SettingSpec> setting_specs() {
    static const std::vector<SettingSpec> specs = make_specs();
    return specs;
}

bool reserved_name(std::string_view name) noexcept {
    return name.substr(0, 12) == "RONDO_TESTS_" || name == "RONDO_BUILD_DIR" || name == "RONDO_SOURCE_DIR";
}

}  // namespace rondo
