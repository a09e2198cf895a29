// What the driver does with several processes. Threads stand in for them: each has its own objects, and all meet in
// communicators as processes do. tests/programs/perf_procs.py runs real ones.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "driver/fork.hpp"
#include "driver/processes.hpp"
#include "driver/program.hpp"
#include "driver/run_error.hpp"

namespace rondo::perf {
namespace {

void as_processes(int count, const std::function<void(const Launch&, const Ids&)>& body) {
    const Ids ids = make_ids();
    std::vector<std::thread> threads;
    for (int process = 0; process < count; ++process) {
        threads.emplace_back([&, process] { body({Starter::Forked, count, process}, ids); });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(Processes, OneAloneNeedsNobody) {
    Processes alone;
    alone.barrier();
    EXPECT_EQ(alone.sum(7), 7U);
    EXPECT_EQ(alone.all_gather("text"), std::vector<std::string>{"text"});
    std::vector<double> values{1, 2};
    alone.combine(values, Average::Mean);
    EXPECT_EQ(values, (std::vector<double>{1, 2}));
    EXPECT_TRUE(alone.first());
}

TEST(Processes, NumbersAndTextsOfAll) {
    as_processes(3, [](const Launch& launch, const Ids& ids) {
        Processes processes(launch, ids.processes, 30);
        const auto p = static_cast<std::uint64_t>(launch.process);
        EXPECT_EQ(processes.sum(10 + p), 33U);
        EXPECT_EQ(processes.min(10 + p), 10U);
        EXPECT_EQ(processes.max(10 + p), 12U);
        EXPECT_EQ(processes.all_gather(std::string(p * 1000, static_cast<char>('a' + p))),
                  (std::vector<std::string>{"", std::string(1000, 'b'), std::string(2000, 'c')}));
        const std::vector<std::int64_t> mine{launch.process, -launch.process};
        EXPECT_EQ(processes.all_gather(mine), (std::vector<std::int64_t>{0, 0, 1, -1, 2, -2}));
        for (const auto& [average, expected] :
             {std::pair{Average::Mean, 6.0}, std::pair{Average::Min, 4.0}, std::pair{Average::Max, 9.0}}) {
            constexpr double kTimes[] = {5, 9, 4};
            std::vector<double> values{kTimes[p]};
            processes.combine(values, average);
            EXPECT_EQ(values[0], expected);
        }
        std::vector<double> own{static_cast<double>(p)};
        processes.combine(own, Average::Rank0);
        EXPECT_EQ(own[0], static_cast<double>(p));
    });
}

TEST(Processes, ABarrierEndsWhenAnotherOneAborts) {
    as_processes(2, [](const Launch& launch, const Ids& ids) {
        Processes processes(launch, ids.processes, 30);
        processes.barrier();
        if (launch.process == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            processes.abort();
            return;
        }
        EXPECT_THROW(processes.barrier(), ProcessError);
    });
}

std::vector<Segment> all_reduced(const Layout& layout, const Position&) {
    return {{Segment::Content::Reduced, 0, 0, 0, layout.recv_count}};
}

std::vector<Segment> nothing(const Layout&, const Position&) { return {}; }

rondoResult_t all_reduce(const Call& c) {
    return rondoAllReduce(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream);
}

/// Rank 4's results are wrong in the last element.
rondoResult_t wrong_on_rank_4(const Call& c) {
    const rondoResult_t result = all_reduce(c);
    if (c.where.rank == 4 && c.count > 0) static_cast<char*>(c.recv)[4 * c.count - 1] ^= 1;
    return result;
}

rondoResult_t barrier(const Call& c) { return rondoBarrier(c.comm, c.stream); }

/// Ranks of the last process do not wait. (Not even for the driver, whose calls come between.)
rondoResult_t no_barrier(const Call&) { return rondoSuccess; }

Collective collective_of(rondoResult_t (*call)(const Call&), bool moves_data = true) {
    return {.program = "some_perf",
            .function = "rondoSome",
            .reduces = moves_data,
            .rooted = false,
            .in_place = moves_data,
            .moves_data = moves_data,
            .bus_formula = "1",
            .bus_factor = bus_factor_one,
            .layout = same_layout,
            .expected = moves_data ? all_reduced : nothing,
            .call = call};
}

class Run : public ::testing::Test {
protected:
    Run() : folder_(std::filesystem::temp_directory_path() / ("rondo_processes." + std::to_string(getpid()))) {
        std::filesystem::create_directory(folder_);
    }
    ~Run() override { std::filesystem::remove_all(folder_); }

    /// The statuses of three processes of two threads with one rank each.
    std::vector<int> run(const Collective& collective, Options options, std::vector<const char*> arguments = {}) {
        arguments.insert(arguments.begin(), "some_perf");
        options.processes = 3;
        options.json = folder_ / "x.json";
        options.timeout = 30;
        std::vector<int> statuses(3, -1);
        as_processes(3, [&](const Launch& launch, const Ids& ids) {
            Options mine = options;
            mine.process = launch.process;
            statuses[static_cast<std::size_t>(launch.process)] =
                run_process(collective, mine, launch, ids, static_cast<int>(arguments.size()), arguments.data());
        });
        return statuses;
    }

    [[nodiscard]] nlohmann::json results() const { return nlohmann::json::parse(std::ifstream(folder_ / "x.json")); }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }

    std::filesystem::path folder_;
};

Options small() {
    Options options;
    options.threads = 2;
    options.iterations = 3;
    options.min_bytes = 4;
    options.max_bytes = 40000;
    options.step_factor = 100;
    return options;
}

TEST_F(Run, OneFileWithTheRanksOfAllProcesses) {
    EXPECT_EQ(run(collective_of(all_reduce), small()), (std::vector<int>{0, 0, 0}));
    EXPECT_EQ(files(), 1U);
    const auto json = results();
    EXPECT_EQ(json["devices"].size(), 6U);
    EXPECT_EQ(json["config"]["nprocesses"], 3);
    EXPECT_EQ(json["config"]["nranks"], 6);
    ASSERT_EQ(json["results"].size(), 3U);
    for (const auto& row : json["results"]) {
        EXPECT_EQ(row["out_of_place"]["nwrong"], 0);
        std::vector<bool> senders(6);
        for (const auto& edge : row["traffic"]["edges"]) senders[edge["from"].get<std::size_t>()] = true;
        EXPECT_EQ(senders, std::vector<bool>(6, true)) << "each rank's edges, of whichever process, are there";
    }
}

TEST_F(Run, AWrongElementAnywhereIsCountedByAllAndInTheStatusOfAll) {
    Options options = small();
    options.checks = 2;
    EXPECT_EQ(run(collective_of(wrong_on_rank_4), options), (std::vector<int>{1, 1, 1}));
    const auto json = results();
    EXPECT_GT(json["results"][0]["out_of_place"]["nwrong"], 0);
    ASSERT_FALSE(json["errors"].empty());
    for (const auto& error : json["errors"]) {
        EXPECT_EQ(error.get<std::string>().find("rank 4: "), 0U) << error;
    }
}

TEST_F(Run, AnInjectedErrorIsOneWrongElement) {
    Options options = small();
    options.inject_error = true;
    EXPECT_EQ(run(collective_of(all_reduce), options), (std::vector<int>{1, 1, 1}));
    EXPECT_EQ(results()["out_of_bounds"]["count"], 1);
}

TEST_F(Run, BarriersAreComparedBetweenProcesses) {
    EXPECT_EQ(run(collective_of(barrier, false), small()), (std::vector<int>{0, 0, 0}));
    std::filesystem::remove(folder_ / "x.json");
    Options once = small();
    once.iterations = 1;
    EXPECT_EQ(run(collective_of(no_barrier, false), once), (std::vector<int>{1, 1, 1}));
    bool between = false;
    const auto json = results();
    for (const auto& error : json["errors"]) {
        between = between || error.get<std::string>().find("before process") != std::string::npos;
    }
    EXPECT_TRUE(between) << json["errors"].size() << " errors";
}

TEST_F(Run, AFileThatProcess0CannotMakeEndsAll) {
    std::filesystem::remove_all(folder_);
    EXPECT_EQ(run(collective_of(all_reduce), small()), (std::vector<int>{2, 2, 2}));
}

/// Sets variables of the environment for a scope.
class Environment {
public:
    explicit Environment(std::vector<const char*> names) : names_(std::move(names)) {
        for (const char* name : names_) setenv(name, "1", 1);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() {
        for (const char* name : names_) unsetenv(name);
    }

private:
    std::vector<const char*> names_;
};

TEST(Launch, WhoStartsIsSeenByTheEnvironment) {
    const auto with = [](std::vector<const char*> names) {
        const Environment environment(std::move(names));
        return starter_in_environment();
    };
    EXPECT_EQ(with({}), Starter::Alone);
    EXPECT_EQ(with({"RONDO_RANK", "RONDO_NRANKS", "OMPI_COMM_WORLD_SIZE"}), Starter::Environment);
    EXPECT_EQ(with({"OMPI_COMM_WORLD_SIZE", "RONDO_COMM_ID"}), Starter::Mpi);
    EXPECT_EQ(with({"PMI_SIZE"}), Starter::Mpi);
    EXPECT_EQ(with({"PMI_SIZE", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}), Starter::Environment);
    EXPECT_EQ(with({"SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_LOCALID"}),
              Starter::Environment);
    EXPECT_EQ(with({"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"}), Starter::Alone)
        << "a batch script";
    EXPECT_EQ(with({"PMI_SIZE", "SLURM_STEP_ID"}), Starter::Mpi) << "half of a step is none";
    EXPECT_EQ(with({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}), Starter::Environment);
    EXPECT_EQ(with({"RANK", "WORLD_SIZE"}), Starter::Alone);
}

// The children below leave by _exit: they share the test program's state with it.
TEST(Fork, TheWorstStatusIsThatOfTheParent) {
    EXPECT_EQ(run_forked("test", 3, [](int, IdPipes&) -> int { _exit(0); }), 0);
    EXPECT_EQ(run_forked("test", 3, [](int process, IdPipes&) -> int { _exit(process); }), 2);
    EXPECT_EQ(run_forked("test", 2,
                         [](int process, IdPipes&) -> int {
                             if (process == 1) kill(getpid(), SIGKILL);
                             _exit(0);
                         }),
              1);
}

TEST(Fork, IdsOfProcess0ComeToAllAndItsDeathIsSeen) {
    const auto sum_of = [](const Ids& ids) {
        int sum = 0;
        for (const char byte : ids.ranks.internal) sum += static_cast<unsigned char>(byte);
        return sum;
    };
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_EQ(run_forked("test", 3,
                         [&](int process, IdPipes& pipes) -> int {
                             const int value = sum_of(pipes.exchange(process));
                             if (write(ends[1], &value, sizeof(value)) != sizeof(value)) _exit(3);
                             _exit(0);
                         }),
              0);
    int sums[3];
    ASSERT_EQ(read(ends[0], sums, sizeof(sums)), static_cast<ssize_t>(sizeof(sums)));
    EXPECT_GT(sums[0], 0);
    EXPECT_EQ(sums[0], sums[1]);
    EXPECT_EQ(sums[0], sums[2]);
    close(ends[0]);
    close(ends[1]);

    EXPECT_EQ(run_forked("test", 2,
                         [](int process, IdPipes& pipes) -> int {
                             if (process == 0) _exit(0);
                             try {
                                 (void)pipes.exchange(process);
                             } catch (const ProcessError&) {
                                 _exit(7);
                             }
                             _exit(0);
                         }),
              7);
}

}  // namespace
}  // namespace rondo::perf
