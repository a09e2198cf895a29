#pragma once
// Which ranks share memory and which talk over the network: computed by every rank from the same facts.

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/types.hpp"
#include "bootstrap/session.hpp"

namespace rondo::comm {

struct Placement {
    std::vector<std::int32_t> process_of;   ///< by rank
    std::vector<std::int32_t> group_of;     ///< by rank; ranks of one group share memory
    std::vector<std::vector<Rank>> groups;  ///< ranks in ascending order; groups by their lowest ranks
    bool one_process = true;                ///< all ranks are threads of one process, and may use its memory

    [[nodiscard]] bool share_memory(Rank a, Rank b) const noexcept {
        return a == b || group_of[static_cast<std::size_t>(a)] == group_of[static_cast<std::size_t>(b)];
    }
    /// All ranks in one memory.
    [[nodiscard]] bool one_memory() const noexcept { return groups.size() == 1; }
    [[nodiscard]] const std::vector<Rank>& group(Rank rank) const noexcept {
        return groups[static_cast<std::size_t>(group_of[static_cast<std::size_t>(rank)])];
    }
};

/// `reports`: what each process said of its attempt to share memory with the others of its host, "" for success; empty
/// before they have tried. One failure takes the whole host's processes to the network.
Placement place(const bootstrap::Roster& roster, const Transports& allowed, const std::vector<std::string>& reports);

/// Throws Error(InvalidUsage) naming two ranks between which no transport is allowed.
void check_reachable(const bootstrap::Roster& roster, const Placement& placement, const Transports& allowed,
                     const std::vector<std::string>& reports);

/// "rank 0-3: memory; ranks 0 and 4: tcp (different hosts a, b)": how the ranks reach each other and why.
std::string describe(const bootstrap::Roster& roster, const Placement& placement, const Transports& allowed,
                     const std::vector<std::string>& reports);

}  // namespace rondo::comm
