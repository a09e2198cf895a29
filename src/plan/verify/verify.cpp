#include "plan/verify/verify.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "plan/verify/goals.hpp"
#include "plan/verify/machine.hpp"
#include "plan/verify/structure.hpp"

namespace rondo::plan {

namespace {

std::string_view name_of(When when) {
    switch (when) {
        case When::Before: return "before";
        case When::EachTile: return "each tile";
        case When::After: return "after";
    }
    return "?";
}

std::string text_of(const PlanLocation& where, std::span<const Operation> operations) {
    std::string text;
    const auto add = [&](std::string_view name, std::int64_t value) {
        if (value >= 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
    };
    const Plan* plan = nullptr;
    if (where.operation >= 0 && !operations[static_cast<std::size_t>(where.operation)].plans.empty()) {
        const auto plans = operations[static_cast<std::size_t>(where.operation)].plans;
        plan = &plans[where.rank < 0 ? 0 : static_cast<std::size_t>(where.rank)];
        if (operations.size() > 1) add("operation", where.operation);
        text += fmt::format("{}{}/{}", text.empty() ? "" : " ", plan::name_of(plan->collective),
                            plan::name_of(plan->algorithm));
    }
    add("rank", where.rank);
    add("channel", where.channel);
    add("lane", where.lane);
    if (where.block >= 0 && plan != nullptr) {
        const Block& block = plan->channels[static_cast<std::size_t>(where.channel)]
                                 .lanes[static_cast<std::size_t>(where.lane)]
                                 .blocks[static_cast<std::size_t>(where.block)];
        text += fmt::format(", block {} ({})", where.block, name_of(block.when));
    }
    add("step", where.step);
    add("tile", where.tile);
    add("repeat", where.repeat);
    return text;
}

}  // namespace

Report verify(std::span<const Operation> operations, const VerifyOptions& options) {
    Report report;
    try {
        detail::check_structure(operations, options);
        detail::Machine machine(operations, options, report);
        machine.run();
        detail::check_goals(machine, operations, options, report);
        report.ok = true;
    } catch (const detail::Violation& violation) {
        const std::string where = text_of(violation.where, operations);
        report.violation = where.empty() ? violation.what : where + ": " + violation.what;
        report.location = violation.where;
    }
    return report;
}

void check(std::span<const Operation> operations, const VerifyOptions& options) {
    const Report report = verify(operations, options);
    if (!report.ok) throw Error(Code::InvalidUsage, "plan refused: " + report.violation);
}

}  // namespace rondo::plan
