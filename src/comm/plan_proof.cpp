#include "comm/plan_proof.hpp"

#include <fmt/core.h>

#include <fstream>
#include <sstream>

#include "base/descriptor_table.hpp"
#include "base/error.hpp"
#include "plan/format.hpp"
#include "plan/verify/verify.hpp"

namespace rondo::comm {

namespace {

/// Launches that meet every case of the tile loop: no tile, one, more than there are slots, and a tail that fills no
/// tile. The length of a chunk does not matter. A barrier is always launched with one element.
std::vector<std::int64_t> proof_counts(const plan::Plan& plan, std::int64_t slots) {
    if (plan.collective == plan::Collective::Barrier) return {1};
    const std::int64_t tile = 2 * plan.parts * static_cast<std::int64_t>(plan.channels.size());
    return {0, tile, tile * (slots + 1) + 1};
}

}  // namespace

void prove(const std::vector<plan::Plan>& plans, std::uint32_t slots) {
    for (const std::int64_t count : proof_counts(plans.front(), slots)) {
        for (const bool in_place : {false, true}) {
            const plan::Operation operation{.plans = plans,
                                            .launch = {.count = count, .chunk = 2, .in_place = in_place}};
            plan::check({&operation, 1}, {.slots = static_cast<std::int32_t>(slots)});
        }
    }
}

std::vector<plan::Plan> load_plans(const std::string& file, Rank nranks, std::uint32_t slots) {
    if (file.empty()) return {};
    std::ifstream stream = DescriptorTable::read(file);
    std::stringstream text;
    if (!stream || !(text << stream.rdbuf())) {
        throw make_error(Code::InvalidArgument, "RONDO_PLAN_FILE={}: the file cannot be read", file);
    }
    std::vector<plan::Plan> plans = plan::from_json(text.str(), file);
    if (plans.empty() || plans.front().nranks != nranks) {
        throw make_error(Code::InvalidArgument, "RONDO_PLAN_FILE={}: plans for {} ranks, the communicator has {}", file,
                         plans.empty() ? 0 : plans.front().nranks, nranks);
    }
    if (plans.front().collective == plan::Collective::SendRecv ||
        plans.front().collective == plan::Collective::AllToAllV) {
        throw make_error(Code::InvalidArgument, "RONDO_PLAN_FILE={}: a plan of {} depends on each call's own sizes",
                         file, plan::name_of(plans.front().collective));
    }
    try {
        prove(plans, slots);
    } catch (const Error& error) {
        throw Error(Code::InvalidArgument, fmt::format("RONDO_PLAN_FILE={}: {}", file, error.what()));
    }
    return plans;
}

}  // namespace rondo::comm
