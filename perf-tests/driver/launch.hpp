#pragma once
// How the processes of a run come to know each other: forked here, started by mpirun, or by a launcher that leaves
// variables in the environment. After that they talk through the library alone.

#include <rondo/rondo.h>

#include <string>

namespace rondo::perf {

/// Who started the processes.
enum class Starter {
    Alone,        ///< one process
    Forked,       ///< --procs
    Mpi,          ///< mpirun; the ids go over MPI_Bcast
    Environment,  ///< RONDO_COMM_ID, torchrun's or Slurm's variables
};

struct Launch {
    Starter starter = Starter::Alone;
    int processes = 1;
    int process = 0;  ///< this one's number
};

/// Ids of the two communicators of a run: that of the ranks under test and that of the processes.
struct Ids {
    rondoUniqueId ranks{};
    rondoUniqueId processes{};
};

/// Reads the environment, calls nothing. Alone where it names no launcher. `processes` and `process` are filled in by
/// join_launch.
Starter starter_in_environment();

/// "forked here", "started by mpirun", ...: for the header.
std::string name_of(Starter starter);

/// Numbers and ids that MPI or the environment give. Calls MPI_Init for Starter::Mpi; MPI then stays until
/// leave_launch(). Throws RunError where the build has no MPI or the environment is incomplete.
Launch join_launch(Starter starter, Ids& ids);

/// Ends MPI if join_launch has begun it. Waits for the other processes there.
void leave_launch(Starter starter);

/// New ids, by the library. Throws RunError.
Ids make_ids();

}  // namespace rondo::perf
