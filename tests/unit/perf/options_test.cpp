#include "driver/options.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "driver/schedule.hpp"

namespace rondo::perf {
namespace {

constexpr Collective kCollective{.program = "some_perf",
                                 .function = "rondoSome",
                                 .reduces = true,
                                 .rooted = true,
                                 .in_place = true,
                                 .moves_data = true,
                                 .bus_formula = "1",
                                 .bus_factor = bus_factor_one,
                                 .layout = same_layout,
                                 .expected = nullptr,
                                 .call = nullptr};

CommandLine parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "some_perf");
    return parse_command_line(kCollective, static_cast<int>(arguments.size()), arguments.data());
}

/// The text of the refusal, or "" if there was none.
std::string refusal(const std::vector<const char*>& arguments) {
    try {
        parse(arguments);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

TEST(Options, DefaultsAreThoseOfNcclTestsWithTwoThreads) {
    const Options o = parse({}).options;
    EXPECT_EQ(o.min_bytes, 33554432U);
    EXPECT_EQ(o.max_bytes, 33554432U);
    EXPECT_EQ(o.iterations, 20);
    EXPECT_EQ(o.warmup, 1);
    EXPECT_EQ(o.checks, 1);
    EXPECT_EQ(o.nranks(), 2);
    EXPECT_EQ(o.types, std::vector<rondoDataType_t>{rondoFloat32});
    EXPECT_EQ(o.average, Average::Mean);
}

TEST(Options, ShortAndLongFlags) {
    const Options o = parse({"-b", "4",   "--maxbytes", "1M",     "-f",    "3",     "-n5", "--warmup_iters=0",
                             "-m", "2",   "-c",         "0",      "-o",    "all",   "-d",  "all",
                             "-r", "all", "-t",         "3",      "-g",    "2",     "-a",  "3",
                             "-T", "1.5", "-J",         "x.json", "--csv", "x.csv", "-u",  "3B",
                             "-S", "1",   "--stream",   "--seed", "9",     "-N",    "0"})
                          .options;
    EXPECT_EQ(o.min_bytes, 4U);
    EXPECT_EQ(o.max_bytes, 1U << 20);
    EXPECT_EQ(o.step_factor, 3U);
    EXPECT_EQ(o.iterations, 5);
    EXPECT_EQ(o.warmup, 0);
    EXPECT_EQ(o.aggregate, 2);
    EXPECT_EQ(o.checks, 0);
    EXPECT_EQ(o.ops.size(), 5U);
    EXPECT_EQ(o.types.size(), 12U);
    EXPECT_EQ(o.roots, (std::vector<int>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(o.nranks(), 6);
    EXPECT_EQ(o.average, Average::Max);
    EXPECT_EQ(o.timeout, 1.5);
    EXPECT_EQ(o.json, "x.json");
    EXPECT_EQ(o.csv, "x.csv");
    EXPECT_EQ(o.misalignment(8), 3U);
    EXPECT_TRUE(o.timestamps && o.stream);
    EXPECT_EQ(o.seed, 9U);
    EXPECT_EQ(o.cycles, 0);
}

TEST(Options, SingleThreadMovesAllRanksToOneThread) {
    const Options o = parse({"-t", "3", "-g", "2", "--single-thread", "-r", "5"}).options;
    EXPECT_EQ(o.threads, 1);
    EXPECT_EQ(o.ranks_per_thread, 6);
    EXPECT_EQ(o.roots, std::vector<int>{5});
}

TEST(Options, RanksAreThreadsTimesProcesses) {
    const Options forked = parse({"--procs", "3", "-r", "all"}).options;
    EXPECT_EQ(forked.procs, 3);
    EXPECT_EQ(forked.threads, 1) << "one thread in each, as long as -t does not say otherwise";
    EXPECT_EQ(forked.nranks(), 3);
    EXPECT_EQ(forked.roots, (std::vector<int>{0, 1, 2}));
    Options both = parse({"--procs", "3", "-t", "2", "-g", "2", "--single-thread"}).options;
    EXPECT_EQ(both.threads, 1);
    EXPECT_EQ(both.ranks_per_thread, 4);
    EXPECT_EQ(both.nranks(), 12);
    both.process = 2;
    EXPECT_EQ(both.first_rank(), 8);

    const std::vector<const char*> arguments{"some_perf", "-r", "3"};
    const Launch launch{Starter::Mpi, 4, 2};
    const Options launched = parse_command_line(kCollective, 3, arguments.data(), launch).options;
    EXPECT_EQ(launched.nranks(), 4);
    EXPECT_EQ(launched.first_rank(), 2);
    EXPECT_EQ(launched.roots, std::vector<int>{3});
}

TEST(Options, MpiIsMeasuredWithOneRankInEachProcess) {
    const Launch launch{Starter::Mpi, 2, 0};
    for (const std::vector<const char*>& arguments :
         {std::vector<const char*>{"some_perf", "--mpi", "-t", "2"}, {"some_perf", "--mpi", "--stream"}}) {
        EXPECT_THROW(parse_command_line(kCollective, static_cast<int>(arguments.size()), arguments.data(), launch),
                     UsageError);
    }
    const std::vector<const char*> good{"some_perf", "--mpi"};
    EXPECT_TRUE(parse_command_line(kCollective, 2, good.data(), launch).options.mpi);
}

TEST(Options, ProcsAndALauncherAreOneTooMany) {
    const std::vector<const char*> arguments{"some_perf", "--procs", "2"};
    try {
        parse_command_line(kCollective, 3, arguments.data(), {Starter::Mpi, 4, 2});
        ADD_FAILURE() << "accepted";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("--procs 2"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("mpirun"), std::string::npos) << error.what();
    }
}

TEST(Options, TheLastOfARepeatedFlagHolds) { EXPECT_EQ(parse({"-n", "3", "-n", "4"}).options.iterations, 4); }

TEST(Options, MisalignmentCountsElementsOrBytes) {
    EXPECT_EQ(parse({"-u", "3"}).options.misalignment(8), 24U);
    EXPECT_EQ(parse({"-u", "7B"}).options.misalignment(8), 7U);
}

TEST(Options, HelpNamesEveryFlagAndWhatIsMeasured) {
    const auto help = parse({"-h"}).print;
    ASSERT_TRUE(help.has_value());
    for (const char* text : {"--minbytes",
                             "--maxbytes",
                             "--stepbytes",
                             "--stepfactor",
                             "--iters",
                             "--warmup_iters",
                             "--agg_iters",
                             "--check",
                             "--op",
                             "--datatype",
                             "--root",
                             "--nthreads",
                             "--procs",
                             "RONDO_NRANKS",
                             "--run_cycles",
                             "--average",
                             "--timeout",
                             "--json",
                             "--csv",
                             "--unalign",
                             "--report_timestamps",
                             "--algo",
                             "--seed",
                             "--stream",
                             "--single-thread",
                             "--back-to-back",
                             "--inject-error",
                             "What is measured",
                             "What is checked",
                             "Exit status"}) {
        EXPECT_NE(help->find(text), std::string::npos) << text;
    }
}

struct Bad {
    std::vector<const char*> arguments;
    std::vector<std::string> told;  ///< what the refusal must contain
};

TEST(Options, EveryBadInputIsRefusedWithFlagValueAndWhatIsAllowed) {
    const std::vector<Bad> all{
        {{"-b", "4Q"}, {"-b/--minbytes", "'4Q'", "4K"}},
        {{"-b", ""}, {"-b/--minbytes", "''"}},
        {{"-b", "-4"}, {"-b/--minbytes", "'-4'"}},
        {{"-b", "K"}, {"-b/--minbytes", "'K'"}},
        {{"-b", "1e3"}, {"-b/--minbytes", "'1e3'"}},
        {{"-b", "nan"}, {"-b/--minbytes", "'nan'"}},
        {{"-e", "0.3"}, {"-e/--maxbytes", "'0.3'", "whole number"}},
        {{"-e", "99999999999T"}, {"-e/--maxbytes", "2^62"}},
        {{"-e", "4KK"}, {"-e/--maxbytes", "'4KK'"}},
        {{"-i", "x"}, {"-i/--stepbytes", "'x'"}},
        {{"-b", "2M", "-e", "1M"}, {"-b/--minbytes", "2097152", "1048576", "-e"}},
        {{"-b", "1", "-e", "2", "-i", "0"}, {"-i/--stepbytes", "'0'", "-f 2"}},
        {{"-f", "0"}, {"-f/--stepfactor", "'0'", "1 to"}},
        {{"-f", "1.5"}, {"-f/--stepfactor", "'1.5'"}},
        {{"-n", "0"}, {"-n/--iters", "'0'", "from 1"}},
        {{"-n", "many"}, {"-n/--iters", "'many'"}},
        {{"-w", "-1"}, {"-w/--warmup_iters", "'-1'"}},
        {{"-m", "0"}, {"-m/--agg_iters", "'0'"}},
        {{"-N", "-1"}, {"-N/--run_cycles", "'-1'"}},
        {{"-c", "x"}, {"-c/--check", "'x'"}},
        {{"-o", "xor"}, {"-o/--op", "'xor'", "sum", "avg", "all"}},
        {{"-d", "float31"}, {"-d/--datatype", "'float31'", "bfloat16", "all"}},
        {{"-r", "2"}, {"-r/--root", "'2'", "0 to 1"}},
        {{"-r", "-1"}, {"-r/--root", "'-1'"}},
        {{"-r", "none"}, {"-r/--root", "'none'"}},
        {{"-t", "0"}, {"-t/--nthreads", "'0'", "from 1"}},
        {{"-t", "1025"}, {"-t/--nthreads", "'1025'", "1024"}},
        {{"-t", "1024", "-g", "2"}, {"-t 1024", "-g 2", "2048", "1024"}},
        {{"-t", "300", "--procs", "5"}, {"-t 300", "5 processes", "1500", "1024"}},
        {{"--procs", "0"}, {"--procs", "'0'", "from 1"}},
        {{"--procs", "two"}, {"--procs", "'two'"}},
        {{"--mpi"}, {"--mpi", "mpirun -np"}},
        {{"-g", "0"}, {"-g/--ngpus", "'0'"}},
        {{"-a", "4"}, {"-a/--average", "'4'", "3 (max)"}},
        {{"-T", "-1"}, {"-T/--timeout", "'-1'"}},
        {{"-T", "nan"}, {"-T/--timeout", "'nan'"}},
        {{"-u", "5000"}, {"-u/--unalign", "'5000'", "4096"}},
        {{"-u", "B"}, {"-u/--unalign", "'B'"}},
        {{"-S", "2"}, {"-S/--report_timestamps", "'2'"}},
        {{"--seed", "-1"}, {"--seed", "'-1'"}},
        {{"--csv", "-"}, {"--csv", "'-'"}},
        {{"--inject-error", "-c", "0"}, {"--inject-error", "-c"}},
        {{"--frobnicate"}, {"'--frobnicate'", "-h"}},
        {{"-z", "1"}, {"'-z'", "-h"}},
        {{"stray"}, {"'stray'", "-h"}},
        {{"-n"}, {"--iters", "missing"}},
    };
    for (const Bad& bad : all) {
        const std::string text = refusal(bad.arguments);
        for (const std::string& told : bad.told) {
            EXPECT_NE(text.find(told), std::string::npos) << bad.arguments[0] << ": '" << text << "' lacks " << told;
        }
    }
}

TEST(Options, SizesAreExactPowersOf1024) {
    EXPECT_EQ(parse_size("-b", "0"), 0U);
    EXPECT_EQ(parse_size("-b", "3"), 3U);
    EXPECT_EQ(parse_size("-b", "4k"), 4096U);
    EXPECT_EQ(parse_size("-b", "1.5M"), 1572864U);
    EXPECT_EQ(parse_size("-b", "2G"), std::uint64_t{1} << 31);
    EXPECT_EQ(parse_size("-b", "1T"), std::uint64_t{1} << 40);
    EXPECT_EQ(parse_size("-b", "2147483664"), 2147483664U);
}

TEST(Schedule, SizesGrowByFactorOrStepAndStartAtZero) {
    Options o;
    o.min_bytes = 0;
    o.max_bytes = 9;
    o.step_factor = 3;
    EXPECT_EQ(sizes_of(o), (std::vector<std::uint64_t>{0, 1, 3, 9}));
    o.step_factor = 1;
    o.step_bytes = 4;
    EXPECT_EQ(sizes_of(o), (std::vector<std::uint64_t>{0, 4, 8}));
    o.min_bytes = o.max_bytes = 7;
    o.step_bytes = 0;
    EXPECT_EQ(sizes_of(o), std::vector<std::uint64_t>{7});
    o.min_bytes = std::uint64_t{1} << 61;
    o.max_bytes = (std::uint64_t{1} << 62) - 1;
    o.step_factor = 1U << 30;
    EXPECT_EQ(sizes_of(o), std::vector<std::uint64_t>{std::uint64_t{1} << 61});
}

TEST(Schedule, RowsAreTypesThenOpsThenRootsThenSizes) {
    const Options o = parse({"-d", "all", "-o", "all", "-r", "all", "-b", "8", "-e", "16", "-f", "2"}).options;
    const std::vector<Case> cases = schedule_of(kCollective, o);
    ASSERT_EQ(cases.size(), 12U * 5 * 2 * 2);
    EXPECT_EQ(cases[1].bytes, 16U);
    EXPECT_EQ(cases[2].root, 1);
    EXPECT_EQ(cases[4].op, rondoProd);
    EXPECT_EQ(cases[20].type, rondoUint8);
    Collective plain = kCollective;
    plain.reduces = false;
    plain.rooted = false;
    EXPECT_EQ(schedule_of(plain, o).size(), 24U);
    plain.moves_data = false;
    EXPECT_EQ(schedule_of(plain, o).size(), 1U);
}

TEST(Schedule, SmallSizesShareABlockAndLargeOnesDoNot) {
    Options o;
    o.iterations = 100;
    EXPECT_EQ(blocking_of(0, o).iterations, 32);
    EXPECT_EQ(blocking_of(512, o).iterations, 32);
    EXPECT_EQ(blocking_of(8192, o).iterations, 2);
    EXPECT_EQ(blocking_of(16385, o).iterations, 1);
    o.iterations = 5;
    EXPECT_EQ(blocking_of(8, o).iterations, 5);
    EXPECT_EQ(blocking_of(8, o).slots, 5U);
    o.aggregate = 1000;
    EXPECT_EQ(blocking_of(8, o).iterations, 1);
    EXPECT_EQ(blocking_of(8, o).slots, 1000U);
    EXPECT_TRUE(blocking_of(8, o).slot_per_call);
    EXPECT_EQ(blocking_of(1U << 30, o).slots, 1U);
    EXPECT_FALSE(blocking_of(1U << 30, o).slot_per_call);
}

TEST(Schedule, SizesThatDoNotFitAreLowered) {
    Options o;
    o.threads = 4;
    o.max_bytes = std::uint64_t{1} << 40;
    o.min_bytes = std::uint64_t{1} << 35;
    constexpr std::uint64_t kLimit = std::uint64_t{8} << 30;
    EXPECT_TRUE(fit_into_memory(kLimit, kCollective, o));
    EXPECT_LE(memory_of(o.max_bytes, kCollective, o), kLimit);
    EXPECT_GT(memory_of(o.max_bytes + 4096, kCollective, o), kLimit);
    EXPECT_EQ(o.min_bytes, o.max_bytes);
    EXPECT_FALSE(fit_into_memory(kLimit, kCollective, o));
    o.max_bytes = (std::uint64_t{1} << 62) - 1;
    EXPECT_TRUE(fit_into_memory(kLimit, kCollective, o));
    // Processes of this machine share its memory; each computes the expected values for itself.
    Options two = o;
    two.processes = two.processes_here = 2;
    EXPECT_EQ(memory_of(1U << 20, kCollective, two), 2 * memory_of(1U << 20, kCollective, o));
    two.processes = 4;
    EXPECT_EQ(memory_of(1U << 20, kCollective, two), 2 * memory_of(1U << 20, kCollective, o));
    EXPECT_EQ(memory_limit(1000U << 20, 1), 800U << 20);
    EXPECT_EQ(memory_limit(1000U << 20, 4), 788U << 20);
    EXPECT_EQ(memory_limit(1U << 20, 64), 0U);
}

}  // namespace
}  // namespace rondo::perf
