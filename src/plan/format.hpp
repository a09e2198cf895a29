#pragma once
// Plans as text to read, and as JSON to keep, exchange and load again.
//
// A JSON file holds the plans of all ranks of one operation, in rank order:
//   {"rondo_plans": 1, "plans": [{"collective": "all_reduce", "algorithm": "ring", "nranks": 4, "rank": 0, ...}, ...]}
// Fields have the names of plan.hpp; those with their default value may be left out. An index that is always the same
// is a number; any other is an object of its coefficients, {"c0": 3, "cs": -1, "mod": 4}. Writing and reading back
// gives equal plans.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace rondo::plan {

/// What each lane does, one line for each step, with peers and parts. Ends in a newline.
[[nodiscard]] std::string to_text(const Plan& plan);

/// The JSON form of the plans of all ranks. Ends in a newline.
[[nodiscard]] std::string to_json(std::span<const Plan> plans);

/// What a plan file may ask for. A file beyond a limit is refused before it is acted on.
struct PlanBudget {
    std::size_t bytes = std::size_t{64} << 20U;
    std::int64_t ranks = 8192;
    std::int64_t channels = 64;          ///< of a plan
    std::int64_t steps = 4096;           ///< of a plan, as written, not as repeated
    std::int64_t operands = 16384;       ///< of a plan, fans counted as one
    std::int64_t total_steps = 1 << 20;  ///< of all plans together
    std::int32_t repeat = 1 << 16;       ///< of a block, rows of a step, fan of an operand
};

/// Reads the JSON form. `file` is the name for messages.
/// Errors: InvalidArgument with the file, the path of the JSON value and the reason: no JSON, nested too deeply, a key
/// that is unknown or given twice, a value of the wrong type or out of range, or more than the budget allows.
/// The plans are well formed afterwards, not verified: see verify/verify.hpp.
[[nodiscard]] std::vector<Plan> from_json(std::string_view text, const std::string& file,
                                          const PlanBudget& budget = {});

/// The value with that name (name_of's), if there is one.
[[nodiscard]] std::optional<Collective> collective_named(std::string_view name);
[[nodiscard]] std::optional<Algorithm> algorithm_named(std::string_view name);

[[nodiscard]] std::string_view name_of(Protocol protocol) noexcept;
[[nodiscard]] std::string_view name_of(Place place) noexcept;
[[nodiscard]] std::string_view name_of(Buffer buffer) noexcept;
[[nodiscard]] std::string_view name_of(Element element) noexcept;
[[nodiscard]] std::string_view name_of(Kind kind) noexcept;
[[nodiscard]] std::string_view name_of(When when) noexcept;

}  // namespace rondo::plan
