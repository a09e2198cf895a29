#pragma once
// What the ranks of one communicator share in this process.

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/options.hpp"
#include "plan/shapes.hpp"
#include "transport/memory/domain.hpp"
#include "transport/wait.hpp"

namespace rondo::comm {

class Team {
public:
    /// Errors: InvalidArgument for a plan file that cannot be read, is for another number of ranks, or does not verify.
    Team(Rank nranks, const Options& options, int cores);

    [[nodiscard]] Rank nranks() const noexcept { return domain_.nranks(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] transport::memory::Domain& domain() noexcept { return domain_; }
    [[nodiscard]] const transport::WaitPolicy& wait_policy() const noexcept { return wait_policy_; }

    /// Proves the plans of all ranks of this shape, once for all of them. Errors: InternalError with the verifier's
    /// text.
    void verify(const plan::Shape& shape, const plan::Facts& facts);

    /// The user's plans for a call, in rank order; nullptr where there are none.
    [[nodiscard]] const std::vector<plan::Plan>* loaded(plan::Collective collective, Rank root) const noexcept;

private:
    const std::string name_;
    transport::memory::Domain domain_;
    const transport::WaitPolicy wait_policy_;
    const std::vector<plan::Plan> loaded_;
    std::mutex verified_mutex_;
    std::set<std::pair<const plan::Shape*, Rank>> verified_;  // shape and root
};

}  // namespace rondo::comm
