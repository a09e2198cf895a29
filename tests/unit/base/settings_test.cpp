#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/settings_registry.hpp"
#include "unit/base/temporary.hpp"

namespace rondo {
namespace {

SettingsReport report_of(std::vector<std::pair<std::string, std::string>> assignments) {
    SettingsInput input;
    for (auto& [name, value] : assignments) input.assignments.push_back({name, value, "environment"});
    return evaluate(input);
}

const SettingRow& row_of(const SettingsReport& report, std::string_view name) {
    return *std::find_if(report.rows.begin(), report.rows.end(),
                         [&](const SettingRow& row) { return row.name == name; });
}

TEST(Settings, DefaultsHold) {
    const SettingsReport report = report_of({});
    EXPECT_EQ(report.settings, Settings{});
    EXPECT_TRUE(report.errors.empty());
    EXPECT_TRUE(report.warnings.empty());
    ASSERT_EQ(report.rows.size(), setting_specs().size());
    for (const SettingRow& row : report.rows) {
        EXPECT_EQ(row.source, "default") << row.name;
        EXPECT_EQ(row.value, row.default_value) << row.name;
        EXPECT_FALSE(row.meaning.empty()) << row.name;
        EXPECT_FALSE(row.allowed.empty()) << row.name;
        EXPECT_FALSE(row.type.empty()) << row.name;
    }
}

TEST(Settings, EveryOneIsRead) {
    const SettingsReport report = report_of({{"RONDO_DEBUG", "trace"},
                                             {"RONDO_DEBUG_SUBSYS", "^net,COLL"},
                                             {"RONDO_DEBUG_FILE", "/tmp/x.%h"},
                                             {"RONDO_CONF_FILE", "/tmp/conf"},
                                             {"RONDO_ALGO", "tree"},
                                             {"RONDO_PROTO", "LL128"},
                                             {"RONDO_TOPO_FILE", "/tmp/topo.xml"},
                                             {"RONDO_TIMEOUT", "2.5"},
                                             {"RONDO_STALL_WARNING", "0.5"},
                                             {"RONDO_BUFFSIZE", "1M"},
                                             {"RONDO_NSLOTS", "7"},
                                             {"RONDO_SPIN_US", "15"},
                                             {"RONDO_VERIFY_PLANS", "On"},
                                             {"RONDO_PLAN_FILE", "/tmp/plan.json"},
                                             {"RONDO_NCHANNELS", "3"},
                                             {"RONDO_TRANSPORT", "tcp"},
                                             {"RONDO_NSOCKS", "2"},
                                             {"RONDO_SOCKET_IFNAME", "^docker,lo"},
                                             {"RONDO_PORT_RANGE", "40000-40099"},
                                             {"RONDO_HOSTID", "rack 7"},
                                             {"RONDO_COMM_ID", "[fd00::2]:4711"},
                                             {"RONDO_RANK", "0"},
                                             {"RONDO_NRANKS", "2"},
                                             {"RONDO_COMM_SECRET", "sixteen letters!"},
                                             {"RONDO_COMM_SECRET_FILE", "/tmp/secret"}});
    EXPECT_TRUE(report.errors.empty());
    const Settings& s = report.settings;
    EXPECT_EQ(s.debug, LogLevel::Trace);
    EXPECT_FALSE(s.debug_subsys.has(Subsystem::Net));
    EXPECT_FALSE(s.debug_subsys.has(Subsystem::Coll));
    EXPECT_TRUE(s.debug_subsys.has(Subsystem::Graph));
    EXPECT_EQ(s.debug_file, "/tmp/x.%h");
    EXPECT_EQ(s.conf_file, "/tmp/conf");
    EXPECT_EQ(s.algo.allowed_text("reduce"), "tree");
    EXPECT_EQ(s.proto, ProtocolChoice::LL128);
    EXPECT_EQ(s.topo_file, "/tmp/topo.xml");
    EXPECT_EQ(s.timeout, 2.5);
    EXPECT_EQ(s.stall_warning, 0.5);
    EXPECT_EQ(s.buffsize, 1048576U);
    EXPECT_EQ(s.nslots, 7);
    EXPECT_EQ(s.spin_us, 15);
    EXPECT_EQ(s.verify_plans, VerifyPlans::On);
    EXPECT_EQ(s.plan_file, "/tmp/plan.json");
    EXPECT_EQ(s.nchannels, 3);
    EXPECT_EQ(s.nsocks, 2);
    EXPECT_EQ(s.transport, (Transports{.memory = false, .tcp = true, .cma = false}));
    EXPECT_EQ(s.network, (NetworkSettings{.socket_ifname = "^docker,lo",
                                          .port_range = {40000, 40099},
                                          .host_id = "rack 7",
                                          .comm_id = "[fd00::2]:4711",
                                          .rank = 0,
                                          .nranks = 2,
                                          .comm_secret = "sixteen letters!",
                                          .comm_secret_file = "/tmp/secret"}));
    for (const SettingRow& row : report.rows) {
        EXPECT_EQ(row.source, "environment") << row.name;
        EXPECT_NE(row.value, row.default_value) << row.name;
    }
    EXPECT_EQ(row_of(report, "RONDO_DEBUG_SUBSYS").value, "^COLL,NET");
    EXPECT_EQ(row_of(report, "RONDO_BUFFSIZE").value, "1M");
}

TEST(Settings, ShownValueIsReadBack) {
    const SettingsReport first = report_of({{"RONDO_DEBUG_SUBSYS", "p2p,GRAPH"},
                                            {"RONDO_TIMEOUT", "0.1"},
                                            {"RONDO_ALGO", "ring;reduce:^ring"},
                                            {"RONDO_BUFFSIZE", "1023K"}});
    std::vector<std::pair<std::string, std::string>> shown;
    for (const SettingRow& row : first.rows) shown.emplace_back(row.name, row.value);
    EXPECT_EQ(report_of(shown).settings, first.settings);
}

TEST(Settings, BadValueNamesItselfItsSourceAndWhatIsAllowed) {
    const SettingsReport report = report_of({{"RONDO_ALGO", "rinng"}, {"RONDO_NSLOTS", "65"}});
    ASSERT_EQ(report.errors.size(), 2U);
    EXPECT_EQ(
        report.errors[0].rfind("environment: RONDO_ALGO=rinng: unknown algorithm 'rinng' (allowed: ring, tree, ", 0),
        0U);
    EXPECT_NE(report.errors[0].find("did you mean 'ring'?"), std::string::npos);
    EXPECT_EQ(report.errors[1], "environment: RONDO_NSLOTS=65: '65' is out of range (allowed: 1 to 64)");
    EXPECT_EQ(report.settings, Settings{});
    EXPECT_EQ(row_of(report, "RONDO_NSLOTS").value, "65");
    EXPECT_EQ(row_of(report, "RONDO_NSLOTS").error, report.errors[1]);
    try {
        report.throw_errors();
        FAIL() << "nothing thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidArgument);
        EXPECT_EQ(error.what(), report.errors[0] + "; " + report.errors[1]);
    }
}

TEST(Settings, EveryTypeRefusesNonsense) {
    for (const SettingSpec& spec : setting_specs()) {
        const bool text = spec.type == "path" || spec.type == "text";
        const std::string value = text ? "a\x01z" : "zzz";
        const SettingsReport report = report_of({{std::string(spec.name), value}});
        ASSERT_EQ(report.errors.size(), 1U) << spec.name;
        const std::string shown = spec.type == "secret" ? std::string(kHiddenValue) : printable(value);
        EXPECT_EQ(report.errors[0].rfind(fmt::format("environment: {}={}: ", spec.name, shown), 0), 0U)
            << report.errors[0];
        EXPECT_NE(report.errors[0].find("(allowed: "), std::string::npos) << report.errors[0];
    }
}

TEST(Settings, EmptyValueLeavesTheDefault) {
    const SettingsReport report = report_of({{"RONDO_TIMEOUT", ""}, {"RONDO_ALGO", " "}});
    EXPECT_EQ(report.settings, Settings{});
    EXPECT_TRUE(report.errors.empty());
    EXPECT_EQ(row_of(report, "RONDO_TIMEOUT").source, "default");
}

TEST(Settings, UnknownNameGetsOneWarning) {
    const SettingsReport report = report_of({{"RONDO_AGLO", "ring"},
                                             {"RONDO_AGLO", "tree"},
                                             {"RONDO_SOMETHING_ELSE", "1"},
                                             {"RONDO_TESTS_SEED", "1"},
                                             {"RONDO_BUILD_DIR", "/b"}});
    EXPECT_EQ(report.warnings,
              (std::vector<std::string>{"environment: unknown setting RONDO_AGLO is ignored; did you mean RONDO_ALGO?",
                                        "environment: unknown setting RONDO_SOMETHING_ELSE is ignored"}));
    EXPECT_TRUE(report.errors.empty());
}

TEST(SettingsFile, LinesAreReadAndFaultsLocated) {
    const SettingsInput input = parse_settings_file(
        "# comment\n\n  RONDO_ALGO = ring;reduce:tree \r\nnonsense\nRONDO_NSLOTS=2\n=3\nRONDO_NSLOTS=9", "/x/conf");
    ASSERT_EQ(input.assignments.size(), 2U);
    EXPECT_EQ(input.assignments[0].name, "RONDO_ALGO");
    EXPECT_EQ(input.assignments[0].value, "ring;reduce:tree");
    EXPECT_EQ(input.assignments[0].source, "/x/conf:3");
    EXPECT_EQ(input.assignments[1].value, "2");
    EXPECT_EQ(input.errors,
              (std::vector<std::string>{"/x/conf:4: 'nonsense' is no setting (allowed: KEY=VALUE, # comment)",
                                        "/x/conf:6: '=3' is no setting (allowed: KEY=VALUE, # comment)"}));
    EXPECT_EQ(input.warnings,
              (std::vector<std::string>{"/x/conf:7: RONDO_NSLOTS is ignored, it was set before at /x/conf:5"}));
}

TEST(SettingsFile, EnvironmentWins) {
    const TemporaryDirectory directory;
    const std::string file = directory.write("conf", "RONDO_NSLOTS=2\nRONDO_SPIN_US=3\nRONDO_CONF_FILE=/other\n");
    const Variable conf("RONDO_CONF_FILE", file.c_str());
    const Variable slots("RONDO_NSLOTS", "5");
    const Variable spin("RONDO_SPIN_US", "");
    const SettingsReport report = evaluate(read_settings_input());
    EXPECT_EQ(report.settings.nslots, 5);
    EXPECT_EQ(report.settings.spin_us, 3);
    EXPECT_EQ(report.settings.conf_file, file);
    EXPECT_EQ(row_of(report, "RONDO_SPIN_US").source, file + ":2");
    ASSERT_EQ(report.warnings.size(), 1U);
    EXPECT_EQ(report.warnings[0], file + ":3: RONDO_CONF_FILE has no effect in a file; set it in the environment");
    EXPECT_EQ(Settings::from_environment(), report.settings);
}

TEST(SettingsFile, HomeFileIsTheDefault) {
    const TemporaryDirectory home;
    home.write(".rondo.conf", "RONDO_NCHANNELS=2\n");
    const Variable conf("RONDO_CONF_FILE", nullptr);
    const Variable variable("HOME", home.path().c_str());
    EXPECT_EQ(Settings::from_environment().nchannels, 2);
    const Variable elsewhere("HOME", "/no/such/home");
    EXPECT_EQ(Settings::from_environment().nchannels, 0);
}

TEST(SettingsFile, NamedFileMustBeReadable) {
    for (const char* path : {"/no/such/conf", "/tmp"}) {
        const Variable conf("RONDO_CONF_FILE", path);
        try {
            static_cast<void>(Settings::from_environment());
            FAIL() << path << " was read";
        } catch (const Error& error) {
            const std::string text = error.what();
            EXPECT_EQ(
                text.rfind(std::string("environment: RONDO_CONF_FILE=") + path + ": the file cannot be read: ", 0), 0U)
                << text;
            EXPECT_NE(text.find("(allowed: "), std::string::npos) << text;
        }
    }
}

TEST(SettingsTable, ShowsEachSettingAndMarksBadValues) {
    const std::string table =
        settings_table(report_of({{"RONDO_NSLOTS", "x"}, {"RONDO_TIMEOUT", "1"}, {"RONDO_X", "1"}}));
    for (const SettingSpec& spec : setting_specs()) {
        EXPECT_NE(table.find("\n" + std::string(spec.name) + " "), std::string::npos) << spec.name;
        EXPECT_NE(table.find(spec.meaning), std::string::npos) << spec.name;
    }
    EXPECT_NE(table.find("x (bad)"), std::string::npos);
    EXPECT_NE(table.find("\nwarning: environment: unknown setting RONDO_X is ignored\n"), std::string::npos);
    EXPECT_NE(table.find("\nerror: environment: RONDO_NSLOTS=x: 'x' is no integer (allowed: 1 to 64)\n"),
              std::string::npos);
}

TEST(SettingsFuzz, RandomFilesNeverBreakAnything) {
    constexpr std::array<std::string_view, 12> kPieces{"RONDO_", "=", "\n", "#", "1", "ring",
                                                       "\r",     ":", "^",  "K", " ", "-"};
    const std::span<const SettingSpec> specs = setting_specs();
    std::mt19937 random(31337);
    std::size_t assignments = 0;
    std::size_t errors = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string text;
        for (auto n = random() % 40; n > 0; --n) {
            switch (random() % 3) {
                case 0: text += static_cast<char>(random()); break;
                case 1: text.append("\n").append(specs[random() % specs.size()].name).append("="); break;
                default: text += kPieces[random() % kPieces.size()]; break;
            }
        }
        const SettingsReport report = evaluate(parse_settings_file(text, "/f"));
        ASSERT_EQ(report.rows.size(), specs.size());
        for (const SettingRow& row : report.rows) {
            if (row.source != "default") ++assignments;
            if (row.error.empty()) continue;
            ++errors;
            EXPECT_NE(row.error.find(row.name + "=" + row.value + ": "), std::string::npos) << row.error;
            EXPECT_NE(row.error.find("(allowed: "), std::string::npos) << row.error;
        }
        EXPECT_FALSE(settings_table(report).empty());
    }
    EXPECT_GT(assignments, 1000U);
    EXPECT_GT(errors, 500U);
}

}  // namespace
}  // namespace rondo
