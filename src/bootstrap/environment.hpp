#pragma once
// Ids, ranks and numbers of ranks from what a launcher, or the user, left in the environment.

#include <functional>
#include <optional>
#include <string>

#include "base/settings.hpp"
#include "base/types.hpp"
#include "bootstrap/unique_id.hpp"

namespace rondo::bootstrap {

struct EnvironmentId {
    UniqueId id{};
    Rank rank = 0;
    Rank nranks = 0;
    std::string source;  ///< the variables that it came from, for messages
};

/// The value of an environment variable; none where it is unset.
using Variables = std::function<std::optional<std::string>(const std::string&)>;

/// The variables of this process.
Variables process_environment();

/// The first of these that is there:
///  - RONDO_COMM_ID (host:port), RONDO_RANK and RONDO_NRANKS;
///  - torchrun's MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE: port MASTER_PORT + 1, as torchrun's own store owns
///    MASTER_PORT;
///  - Slurm's SLURM_PROCID and SLURM_STEP_NUM_TASKS, in a task of a step (base/slurm.hpp): the first node of
///    SLURM_STEP_NODELIST, else SLURM_LAUNCH_NODE_IPADDR, and a port that follows from SLURM_JOB_ID and SLURM_STEP_ID,
///    within RONDO_PORT_RANGE if that is set.
/// Every rank computes the same id from the same environment. RONDO_COMM_SECRET or RONDO_COMM_SECRET_FILE hold the
/// secret; without one the address must be of the loopback interface. `number` tells apart the communicators that one
/// process makes from one environment, see Service::next_environment_number().
/// Errors: InvalidUsage (nothing there, half of it there, no secret), InvalidArgument (bad values), SystemError (the
/// host's name does not resolve, the file cannot be read).
EnvironmentId id_from_environment(const Settings& settings, const Variables& variables, std::uint64_t number);

}  // namespace rondo::bootstrap
