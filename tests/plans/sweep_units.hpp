#pragma once
// What the sweep does, cut into units that can be done in any order and are each done once.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rondo::plan::sweep {

struct Options {
    bool full = false;     ///< every shape, 1 to max_ranks ranks
    bool pairs = false;    ///< ordered pairs of shapes
    bool mutants = false;  ///< mutation test
    bool large = false;    ///< samples to 1,024 ranks, and 8,192
    std::int32_t max_ranks = 64;
    std::vector<std::int32_t> ranks{};  ///< in place of the rank counts of each kind; empty: those
    std::vector<std::int32_t> slots{1, 2, 4};
    std::vector<std::int64_t> tiles{};  ///< empty: the standard ones
    std::string shape{};                ///< only shapes whose name contains this
};

struct Result {
    std::string failure{};  ///< empty where everything held
    std::int64_t executions = 0;
    std::int64_t steps = 0;
    std::int64_t most_plan_steps = 0;  ///< steps as written in the longest plan
    std::int64_t mutants = 0;
    std::int64_t refused = 0;
    std::map<std::string, std::int64_t> equivalent{};  ///< mutants that are no fault, by reason
};

struct Unit {
    std::string kind;   ///< "full", "pairs", "mutants", "large"
    std::string shape;  ///< "all_reduce/ring"
    std::int32_t ranks = 0;
    bool alone = false;  ///< needs much memory: not beside another such unit
    std::function<Result()> run;

    [[nodiscard]] std::string key() const { return kind + " " + shape + " n=" + std::to_string(ranks); }
};

std::vector<Unit> units_of(const Options& options);

/// A number that changes with the plans that the builders make, so that old results are not taken for new ones.
std::uint64_t catalogue_hash();

}  // namespace rondo::plan::sweep
