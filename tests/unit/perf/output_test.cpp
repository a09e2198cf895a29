// Table, files and statistics.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "driver/buffers.hpp"
#include "driver/report.hpp"
#include "driver/spin_barrier.hpp"
#include "driver/stats.hpp"
#include "driver/table.hpp"
#include "driver/worker.hpp"

namespace rondo::perf {
namespace {

constexpr Collective kCollective{.program = "all_reduce_perf",
                                 .function = "rondoAllReduce",
                                 .reduces = true,
                                 .rooted = false,
                                 .in_place = true,
                                 .moves_data = true,
                                 .bus_formula = "2(n-1)/n",
                                 .bus_factor = bus_factor_one,
                                 .layout = same_layout,
                                 .expected = nullptr,
                                 .call = nullptr};

ModeResult mode(double time, double alg_bw, double bus_bw, std::uint64_t wrong) {
    return {time, alg_bw, bus_bw, {20, 30, 23.5, 29.25}, wrong};
}

Row example() {
    Row row;
    row.size = 1024;
    row.count = 256;
    row.type = "float";
    row.redop = "sum";
    row.root = -1;
    row.out_of_place = mode(23.28, 0.04, 0.07, 0);
    row.in_place = mode(23.22, 0.04, 0.07, 0);
    row.plan = "all_reduce/one_shot/n2/c1/chunk112/3f2a";
    row.algorithm = "one_shot";
    row.edges = {{0, 1, 1024, 10, 0}, {1, 0, 1024, 10, 7}};
    row.timestamp = "2026-01-31 23:59:59";
    return row;
}

// The columns up to the second #wrong are byte for byte what nccl-tests prints for these numbers.
TEST(Table, RowIsThatOfNcclTestsWithOurColumnsBehind) {
    EXPECT_EQ(
        row_text(example(), {}),
        "        1024           256     float     sum      -1    23.28    0.04    0.07       0    23.22    0.04    "
        "0.07       0    23.50    29.25    23.50    29.25  one_shot\n");
}

TEST(Table, ColumnsAreThoseOfNcclTestsWithOursBehind) {
    EXPECT_EQ(column_text({}),
              "#\n"
              "#                                                              out-of-place                       "
              "in-place      "
              "         out-of-place      in-place\n"
              "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw  "
              " busbw  "
              "#wrong      p50      p99      p50      p99  algorithm\n"
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  "
              "(GB/s)  "
              "           (us)     (us)     (us)     (us)\n");
}

TEST(Table, NamesEndWhereNumbersEnd) {
    for (const bool stamps : {false, true}) {
        Options options;
        options.timestamps = stamps;
        const std::string columns = column_text(options);
        const std::string row = row_text(example(), options);
        const std::string names = columns.substr(columns.find("#       size"));
        for (const auto& [name, value] : {std::pair{"p50", "23.50"}, std::pair{"p99", "29.25"}}) {
            EXPECT_EQ(names.find(name) + 3, row.find(value) + 5) << name << " stamps " << stamps;
        }
        EXPECT_EQ(names.find("algorithm"), row.find("one_shot")) << stamps;
        EXPECT_EQ(row.find("2026-01-31 23:59:59") != std::string::npos, stamps);
    }
}

TEST(Table, MpiHasColumnsOfItsOwn) {
    Options options;
    options.mpi = true;
    Row row = example();
    const std::string without = row_text(row, options);
    row.mpi = mode(7.5, 0.14, 0.28, 0);
    const std::string with = row_text(row, options);
    EXPECT_NE(with.find("    29.25     7.50    0.28    23.50    29.25  one_shot\n"), std::string::npos) << with;
    EXPECT_NE(without.find("    29.25      N/A     N/A      N/A      N/A  one_shot\n"), std::string::npos) << without;
    const std::string columns = column_text(options);
    EXPECT_EQ(columns.find("algorithm", columns.find("#       size")) - columns.find("#       size"),
              with.find("one_shot"));
    EXPECT_NE(csv_rows(row, kCollective, options).find(",mpi,7.5,"), std::string::npos);
}

TEST(Table, WhatWasNotMeasuredOrCheckedIsNA) {
    Row row = example();
    row.in_place.reset();
    row.out_of_place->wrong.reset();
    EXPECT_EQ(
        row_text(row, {}),
        "        1024           256     float     sum      -1    23.28    0.04    0.07     N/A      N/A     N/A     "
        "N/A     N/A    23.50    29.25      N/A      N/A  one_shot\n");
}

TEST(Table, NumbersKeepTheirWidth) {
    EXPECT_EQ(short_number(0.07, 6), "  0.07");
    EXPECT_EQ(short_number(1234.567, 7), "1234.57");
    EXPECT_EQ(short_number(12345.67, 7), "12345.7");
    EXPECT_EQ(short_number(1234567.8, 7), "1234568");
    EXPECT_EQ(short_number(123456789.0, 7), "1.2e+08");
    EXPECT_EQ(short_number(123456789.0, 6), " 1e+08");
}

TEST(Table, HeaderAndClosingLines) {
    Options options;
    options.step_factor = 2;
    const std::vector<ProcessInfo> one{{"host0", 4242, "", "A CPU"}};
    const std::string header = header_text(kCollective, options, one);
    EXPECT_EQ(header.find("# rondo perf-tests version "), 0U);
    EXPECT_NE(header.find("rondo-headers="), std::string::npos);
    EXPECT_NE(header.find("\n# Collective test starting: all_reduce_perf\n"
                          "# nThread 2 nGpus 1 minBytes 33554432 maxBytes 33554432 step: 2(factor) warmup iters: 1 "
                          "iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0\n"),
              std::string::npos);
    EXPECT_NE(header.find("#\n# Using devices\n"
                          "#  Rank  0 Group  0 Pid   4242 on      host0 device  0 [host] A CPU\n"
                          "#  Rank  1 Group  0 Pid   4242 on      host0 device  1 [host] A CPU\n"),
              std::string::npos);
    EXPECT_EQ(header.find("# Processes"), std::string::npos);
    options.processes = 2;
    const std::vector<ProcessInfo> two{{"host0", 4242, "", "A CPU"}, {"host1", 99, "", "Another"}};
    EXPECT_NE(header_text(kCollective, options, two, Starter::Mpi)
                  .find("unalign: 0\n# Processes: 2, started by mpirun; 2 rank(s) in each\n"),
              std::string::npos);
    EXPECT_NE(header_text(kCollective, options, two, Starter::Mpi)
                  .find("#  Rank  1 Group  0 Pid   4242 on      host0 device  1 [host] A CPU\n"
                        "#  Rank  2 Group  0 Pid     99 on      host1 device  2 [host] Another\n"
                        "#  Rank  3 Group  0 Pid     99 on      host1 device  3 [host] Another\n"),
              std::string::npos);
    Outcome outcome;
    outcome.bus_bw_sum = 249.692;
    outcome.bus_bw_count = 2;
    EXPECT_EQ(footer_text(kCollective, outcome),
              "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 124.846 \n#\n"
              "# Collective test concluded: all_reduce_perf\n");
    outcome.wrong = 3;
    EXPECT_EQ(footer_text(kCollective, outcome).find("# Out of bounds values : 3 FAILED\n"), 0U);
}

TEST(Report, JsonHasTheKeysOfNcclTestsAndOurs) {
    const char* arguments[] = {"all_reduce_perf", "-t", "2"};
    setenv("RONDO_TESTS_EXAMPLE", "1", 1);
    const std::vector<ProcessInfo> processes{{"host0", 4242, "", "A CPU"}};
    JsonReport report(kCollective, {}, {}, processes, 3, arguments);
    Row row = example();
    report.row(row);
    row.in_place.reset();
    row.out_of_place->wrong.reset();
    report.row(row);
    Outcome outcome;
    outcome.wrong = 2;
    outcome.errors = {"rank 1: something"};
    report.end(outcome);
    const auto json = nlohmann::json::parse(report.document().dump());
    for (const char* key : {"version", "start_time", "args", "env", "config", "devices", "results", "out_of_bounds",
                            "average_bus_bandwidth", "errors", "end_time", "machine", "library"}) {
        EXPECT_TRUE(json.contains(key)) << key;
    }
    EXPECT_EQ(json["args"], (std::vector<std::string>{"all_reduce_perf", "-t", "2"}));
    EXPECT_EQ(json["config"]["nthreads"], 2);
    EXPECT_EQ(json["config"]["nprocesses"], 1);
    EXPECT_EQ(json["devices"].size(), 2U);
    EXPECT_EQ(json["devices"][1]["pid"], 4242);
    EXPECT_EQ(json["devices"][1]["hostname"], "host0");
    EXPECT_EQ(json["out_of_bounds"]["count"], 2);
    EXPECT_EQ(json["out_of_bounds"]["okay"], false);
    EXPECT_EQ(json["errors"][0], "rank 1: something");
    const auto& first = json["results"][0];
    EXPECT_EQ(first["size"], 1024);
    EXPECT_EQ(first["root"], -1);
    EXPECT_EQ(first["out_of_place"]["time"], 23.28);
    EXPECT_EQ(first["out_of_place"]["bus_bw"], 0.07);
    EXPECT_EQ(first["out_of_place"]["nwrong"], 0);
    EXPECT_EQ(first["in_place"]["p99"], 29.25);
    EXPECT_EQ(first["algorithm"], "one_shot");
    EXPECT_EQ(first["traffic"]["bytes"], 2048);
    EXPECT_EQ(first["traffic"]["edges"][1]["direct_bytes"], 7);
    EXPECT_TRUE(json["results"][1]["in_place"].is_null());
    EXPECT_TRUE(json["results"][1]["out_of_place"]["nwrong"].is_null());
    bool found = false;
    for (const auto& variable : json["env"]) {
        EXPECT_EQ(variable.get<std::string>().substr(0, 6), "RONDO_");
        found = found || variable == "RONDO_TESTS_EXAMPLE=1";
    }
    EXPECT_TRUE(found);
    unsetenv("RONDO_TESTS_EXAMPLE");
}

TEST(Report, CsvHasALineForEachModeAndAsManyFieldsAsNames) {
    const auto commas = [](const std::string& text) { return std::count(text.begin(), text.end(), ','); };
    const std::string text = csv_rows(example(), kCollective, {});
    EXPECT_EQ(text.find("all_reduce_perf,2,1024,256,float,sum,-1,out_of_place,23.28,0.04,0.07,0,23.5,29.25,20,30,"
                        "one_shot,all_reduce/one_shot/n2/c1/chunk112/3f2a\n"),
              0U);
    EXPECT_EQ(commas(text), 2 * commas(csv_header()));
    Row row = example();
    row.in_place.reset();
    EXPECT_EQ(commas(csv_rows(row, kCollective, {})), commas(csv_header()));
}

TEST(Report, ExistingFilesAreKept) {
    const auto directory = std::filesystem::temp_directory_path() / ("rondo_perf_test." + std::to_string(getpid()));
    std::filesystem::create_directory(directory);
    const std::string path = directory / "x.json";
    EXPECT_EQ(create_file("-J/--json", path).path, path);
    EXPECT_EQ(create_file("-J/--json", path).path, path + ".0");
    EXPECT_EQ(create_file("-J/--json", path).path, path + ".1");
    try {
        create_file("-J/--json", directory / "none" / "x.json");
        ADD_FAILURE() << "created a file in a directory that does not exist";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("-J/--json"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos);
    }
    std::filesystem::remove_all(directory);
}

TEST(Stats, AveragesOfThreads) {
    const std::vector<double> values{3, 1, 8};
    EXPECT_EQ(combine(values, Average::Rank0), 3);
    EXPECT_EQ(combine(values, Average::Mean), 4);
    EXPECT_EQ(combine(values, Average::Min), 1);
    EXPECT_EQ(combine(values, Average::Max), 8);
    const std::vector<std::vector<double>> samples{{1, 5}, {3, 4}};
    EXPECT_EQ(combine_samples(samples, Average::Max), (std::vector<double>{3, 5}));
    EXPECT_EQ(combine_samples(samples, Average::Mean), (std::vector<double>{2, 4.5}));
}

TEST(Stats, PercentilesAreNearestRanks) {
    std::vector<double> samples;
    for (int i = 100; i >= 1; --i) samples.push_back(i);
    const Summary summary = summarize(samples);
    EXPECT_EQ(summary.min, 1);
    EXPECT_EQ(summary.p50, 50);
    EXPECT_EQ(summary.p99, 99);
    EXPECT_EQ(summary.max, 100);
    EXPECT_EQ(summarize({7}).p99, 7);
    EXPECT_EQ(summarize({}).max, 0);
}

TEST(Stats, BandwidthIsInBillionsOfBytesASecond) {
    EXPECT_DOUBLE_EQ(bandwidth(1e9, 1e6), 1.0);
    EXPECT_EQ(bandwidth(0, 5), 0);
    EXPECT_EQ(bandwidth(8, 0), 0);
}

TEST(Buffers, SlotsAreApartAndGuarded) {
    const SlotLayout layout{100, 3, 4};
    Arena arena(layout.total());
    arena.lay_out(layout);
    for (std::size_t slot = 0; slot < 4; ++slot) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.slot(slot)) % 64, 3U);
        EXPECT_LE(layout.offset(slot) + 100 + kGuardBytes, layout.total());
        arena.write_guards(slot);
    }
    for (std::size_t slot = 0; slot + 1 < 4; ++slot) {
        EXPECT_GE(arena.slot(slot + 1) - arena.slot(slot), static_cast<std::ptrdiff_t>(100 + 2 * kGuardBytes));
    }
    EXPECT_EQ(arena.broken_guards(2), 0U);
    arena.slot(2)[100] = std::byte{1};
    arena.slot(2)[-1] = std::byte{2};
    EXPECT_EQ(arena.broken_guards(2), 2U);
    EXPECT_EQ(arena.broken_guards(1), 0U);
    EXPECT_EQ(arena.broken_guards(3), 0U);
}

TEST(SpinBarrier, NobodyPassesBeforeAllHaveCome) {
    constexpr int kThreads = 4;
    SpinBarrier barrier(kThreads, 8);
    std::atomic<int> arrivals{0};
    std::atomic<int> early{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
            for (int round = 1; round <= 500; ++round) {
                ++arrivals;
                if (!barrier.wait() || arrivals < round * kThreads) ++early;
                if (!barrier.wait()) ++early;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(early, 0);
}

TEST(SpinBarrier, StopReleasesWhoWaits) {
    SpinBarrier barrier(2, 8);
    bool passed = true;
    std::thread waiting([&] { passed = barrier.wait(); });
    barrier.stop();
    waiting.join();
    EXPECT_FALSE(passed);
    EXPECT_FALSE(barrier.wait());
}

TEST(Machine, TheSecretOfAJobIsInNoResultFile) {
    setenv("RONDO_COMM_SECRET", "0123456789abcdef", 1);
    const std::vector<std::string> variables = rondo_environment();
    unsetenv("RONDO_COMM_SECRET");
    EXPECT_NE(std::find(variables.begin(), variables.end(), "RONDO_COMM_SECRET=(not shown)"), variables.end());
    for (const std::string& variable : variables) EXPECT_EQ(variable.find("0123456789abcdef"), std::string::npos);
}

TEST(Machine, ProcFilesAreReadByKey) {
    const std::string text = "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nempty:\nMemAvailable:   123 kB\n";
    EXPECT_EQ(proc_value(text, "model name"), "A CPU @ 2 GHz");
    EXPECT_EQ(proc_value(text, "MemAvailable"), "123 kB");
    EXPECT_EQ(proc_value(text, "empty"), "");
    EXPECT_EQ(proc_value(text, "model"), "");
    EXPECT_GT(available_memory(), 0U);
    EXPECT_FALSE(describe_machine().cpu.empty());
}

TEST(Worker, AlgorithmIsTheSecondPartOfThePlan) {
    EXPECT_EQ(algorithm_in("all_reduce/one_shot/n2/c1"), "one_shot");
    EXPECT_EQ(algorithm_in("all_reduce/ring"), "ring");
    EXPECT_EQ(algorithm_in(""), "");
}

}  // namespace
}  // namespace rondo::perf
