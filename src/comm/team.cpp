#include "comm/team.hpp"

#include <vector>

#include "base/error.hpp"
#include "plan/verify/verify.hpp"

namespace rondo::comm {

Team::Team(Rank nranks, const Options& options, int cores)
    : name_(options.name),
      domain_(nranks, options.slots, options.slot_bytes),
      wait_policy_(transport::wait_policy(nranks, cores, options.spin_us)) {}

void Team::verify(const plan::Shape& shape, const plan::Facts& facts) {
    const std::lock_guard lock(verified_mutex_);
    if (!verified_.insert({&shape, facts.root}).second) return;
    std::vector<plan::Plan> plans;
    for (Rank rank = 0; rank < facts.nranks; ++rank) plans.push_back(shape.build(facts, rank));
    const auto slots = static_cast<std::int64_t>(domain_.slots());
    const std::int64_t parts = plans.front().parts * static_cast<std::int64_t>(plans.front().channels.size());
    // No tile, one, more than there are slots, and a tail that fills no tile; the length of a chunk does not matter.
    // A barrier is always launched with one element.
    const bool barrier = shape.collective == plan::Collective::Barrier;
    const std::vector<std::int64_t> counts =
        barrier ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{0, 2 * parts, 2 * parts * (slots + 1) + 1};
    for (const std::int64_t count : counts) {
        const plan::Operation operation{.plans = plans, .launch = {.count = count, .chunk = 2}};
        try {
            plan::check({&operation, 1}, {.slots = static_cast<std::int32_t>(slots)});
        } catch (const Error& error) {
            verified_.erase({&shape, facts.root});
            throw Error(Code::InternalError,
                        std::string("a plan of this library fails its own proof: ") + error.what());
        }
    }
}

}  // namespace rondo::comm
