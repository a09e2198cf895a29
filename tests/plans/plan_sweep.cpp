// The long proof of all plans: plan_sweep --all takes minutes to hours and can be stopped and resumed at any time.
//
// Exit status: 0 if everything held, 1 if something did not, 2 for bad arguments or files.

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "sweep_units.hpp"

namespace rondo::plan::sweep {
namespace {

using Json = nlohmann::ordered_json;

struct Files {
    std::string state;  ///< one line for each unit that is done; empty: none
    std::string counts;
};

Json json_of(const Unit& unit, const Result& result, double seconds) {
    Json json{{"key", unit.key()},
              {"kind", unit.kind},
              {"shape", unit.shape},
              {"ranks", unit.ranks},
              {"ok", result.failure.empty()},
              {"executions", result.executions},
              {"steps", result.steps},
              {"most_plan_steps", result.most_plan_steps},
              {"mutants", result.mutants},
              {"refused", result.refused},
              {"equivalent", result.equivalent},
              {"seconds", seconds}};
    if (!result.failure.empty()) json["failure"] = result.failure;
    return json;
}

/// Runs the units that are not done yet, on several threads, and keeps the results.
class Sweep {
public:
    Sweep(std::vector<Unit> units, Files files) : units_(std::move(units)), files_(std::move(files)) {}

    /// False where a file cannot be read or written.
    bool load() {
        if (files_.state.empty()) return true;
        const Json header{{"catalogue", catalogue_hash()}};
        bool fresh = true;
        if (std::ifstream in(files_.state); in) {
            std::string line;
            fresh = !std::getline(in, line) || line != header.dump();
            if (fresh) std::cerr << files_.state << ": of other plans, starting anew\n";
            while (!fresh && std::getline(in, line)) {
                const Json json = Json::parse(line, nullptr, false);
                // The last line may be cut short; units that failed are tried again.
                if (json.is_object() && json.value("ok", false)) done_[json.value("key", "")] = json;
            }
        }
        state_.open(files_.state, fresh ? std::ios::trunc : std::ios::app);
        if (fresh) state_ << header.dump() << std::endl;
        if (!state_) std::cerr << files_.state << ": cannot be written\n";
        return static_cast<bool>(state_);
    }

    void run(unsigned jobs) {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
        for (std::thread& thread : threads) thread.join();
    }

    /// Writes the counts; true if everything held.
    bool finish() {
        Json shapes = Json::object();
        Json failures = Json::array();
        for (const Unit& unit : units_) {
            const Json& result = done_.at(unit.key());
            add(shapes[unit.shape][unit.kind], result);
            if (!result.at("ok").get<bool>()) failures.push_back(result.at("failure"));
        }
        const Json counts{{"rondo_plan_sweep", 1},
                          {"catalogue", catalogue_hash()},
                          {"units", units_.size()},
                          {"failures", failures},
                          {"shapes", shapes}};
        print(shapes);
        for (const Json& failure : failures) std::cout << "FAILED " << failure.get<std::string>() << "\n";
        if (!files_.counts.empty()) {
            std::ofstream out(files_.counts);
            out << counts.dump(1) << "\n";
            if (!out) {
                std::cerr << files_.counts << ": cannot be written\n";
                return false;
            }
        }
        std::cout << units_.size() << " units, " << failures.size() << " failed\n";
        return failures.empty();
    }

private:
    void work() {
        for (std::size_t i = next_++; i < units_.size(); i = next_++) {
            const Unit& unit = units_[i];
            {
                const std::lock_guard lock(mutex_);
                if (done_.contains(unit.key())) continue;
            }
            std::unique_lock alone(alone_, std::defer_lock);
            if (unit.alone) alone.lock();
            const auto begin = std::chrono::steady_clock::now();
            Result result;
            try {
                result = unit.run();
            } catch (const std::exception& error) {
                result.failure = unit.key() + ": " + error.what();
            }
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            keep(unit, json_of(unit, result, seconds));
        }
    }

    void keep(const Unit& unit, const Json& json) {
        const std::lock_guard lock(mutex_);
        done_[unit.key()] = json;
        if (state_.is_open()) state_ << json.dump() << std::endl;
        ++finished_;
        std::cerr << "[" << done_.size() << "/" << units_.size() << "] " << unit.key() << ": ";
        if (unit.kind == "mutants") {
            std::cerr << json.at("mutants") << " mutants, " << json.at("refused") << " refused";
        } else {
            std::cerr << json.at("executions") << " executions";
        }
        std::cerr << ", " << std::lround(json.at("seconds").get<double>() * 1000) << " ms"
                  << (json.at("ok").get<bool>() ? "" : ": FAILED " + json.at("failure").get<std::string>()) << "\n";
    }

    static void add(Json& sum, const Json& result) {
        if (sum.is_null()) sum = Json::object();
        for (const char* key : {"executions", "steps", "mutants", "refused"}) {
            sum[key] = sum.value(key, std::int64_t{0}) + result.at(key).get<std::int64_t>();
        }
        sum["most_plan_steps"] =
            std::max(sum.value("most_plan_steps", std::int64_t{0}), result.at("most_plan_steps").get<std::int64_t>());
        for (const auto& [reason, count] : result.at("equivalent").items()) {
            Json& reasons = sum["equivalent"];
            const std::int64_t before = reasons.contains(reason) ? reasons[reason].get<std::int64_t>() : 0;
            reasons[reason] = before + count.get<std::int64_t>();
        }
        if (result.at("executions").get<std::int64_t>() + result.at("mutants").get<std::int64_t>() > 0) {
            sum["ranks"].push_back(result.at("ranks"));
        }
    }

    static void print(const Json& shapes) {
        for (const auto& [shape, kinds] : shapes.items()) {
            for (const auto& [kind, sum] : kinds.items()) {
                std::cout << shape << " " << kind << ": ";
                if (kind != "mutants") {
                    std::cout << sum.at("executions") << " executions, " << sum.at("steps") << " steps";
                    if (kind != "pairs") std::cout << ", longest plan " << sum.at("most_plan_steps") << " steps";
                } else {
                    std::cout << sum.at("mutants") << " mutants, " << sum.at("refused") << " refused";
                    const Json reasons = sum.value("equivalent", Json::object());
                    for (const auto& [reason, count] : reasons.items()) {
                        std::cout << ", " << count << " " << reason;
                    }
                }
                std::cout << "\n";
            }
        }
    }

    std::vector<Unit> units_;
    Files files_;
    std::ofstream state_;
    std::mutex mutex_;  // of done_, state_ and finished_
    std::mutex alone_;
    std::map<std::string, Json> done_;
    std::size_t finished_ = 0;
    std::atomic<std::size_t> next_{0};
};

int main_of(int argc, char** argv) {
    CLI::App app("Verifies every plan that the builders make. Without --full, --pairs, --mutants or --large: --full.");
    Options options;
    Files files;
    bool all = false;
    unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    app.add_flag("--all", all, "everything");
    app.add_flag("--full", options.full, "every shape, every rank count to --max-ranks, every standard launch");
    app.add_flag("--pairs", options.pairs, "ordered pairs of shapes at 2, 3, 5 and 8 ranks");
    app.add_flag("--mutants", options.mutants, "the mutation test at 2, 3, 4, 5 and 8 ranks");
    app.add_flag("--large", options.large,
                 "samples to 1,024 ranks; one tile at 8,192 (2,048 where all pairs share a FIFO)");
    app.add_option("--max-ranks", options.max_ranks, "of --full")->check(CLI::Range(1, 1024))->capture_default_str();
    app.add_option("--ranks", options.ranks, "these rank counts only")->delimiter(',')->check(CLI::Range(1, 16384));
    app.add_option("--slots", options.slots, "slots of a FIFO")->delimiter(',')->check(CLI::Range(1, 64));
    app.add_option("--tiles", options.tiles, "tile counts of --full")->delimiter(',')->check(CLI::Range(0, 1000));
    app.add_option("--shape", options.shape, "only shapes whose name contains this, as in all_reduce/ring");
    app.add_option("--json,--out", files.counts, "write the counts to this file");
    app.add_option("--resume", files.state, "keep results in this file and leave out what it has already");
    app.add_option("--jobs", jobs, "threads")->check(CLI::Range(1, 256))->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (all) options.full = options.pairs = options.mutants = options.large = true;
    if (!options.full && !options.pairs && !options.mutants && !options.large) options.full = true;
    std::ranges::sort(options.tiles);
    std::vector<Unit> units = units_of(options);
    if (units.empty()) {
        std::cerr << "plan_sweep: no shape's name contains \"" << options.shape << "\"\n";
        return 2;
    }
    Sweep sweep(std::move(units), files);
    if (!sweep.load()) return 2;
    sweep.run(jobs);
    return sweep.finish() ? 0 : 1;
}

}  // namespace
}  // namespace rondo::plan::sweep

int main(int argc, char** argv) { return rondo::plan::sweep::main_of(argc, argv); }
