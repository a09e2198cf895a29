#include "driver/launch.hpp"

#include <cstdlib>

#include "base/slurm.hpp"
#include "driver/mpi.hpp"
#include "driver/run_error.hpp"

namespace rondo::perf {

namespace {

bool has(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
}

}  // namespace

Starter starter_in_environment() {
    // What the user has set by hand goes before what a launcher sets.
    if (has("RONDO_RANK") || has("RONDO_NRANKS")) return Starter::Environment;
    // Of srun, which may set PMI's variables too, its own are used.
    const bool slurm = is_slurm_task(has);
    if (has("OMPI_COMM_WORLD_SIZE") || (has("PMI_SIZE") && !slurm)) return Starter::Mpi;
    if (has("RANK") && has("WORLD_SIZE") && has("MASTER_ADDR") && has("MASTER_PORT")) return Starter::Environment;
    return slurm || has("RONDO_COMM_ID") ? Starter::Environment : Starter::Alone;
}

std::string name_of(Starter starter) {
    switch (starter) {
        case Starter::Alone: return "alone";
        case Starter::Forked: return "forked here";
        case Starter::Mpi: return "started by mpirun";
        case Starter::Environment: break;
    }
    return "started by the environment's launcher";
}

Ids make_ids() {
    Ids ids;
    require("rondoGetUniqueId", rondoGetUniqueId(&ids.processes));
    require("rondoGetUniqueId", rondoGetUniqueId(&ids.ranks));
    return ids;
}

Launch join_launch(Starter starter, Ids& ids) {
    Launch launch{starter, 1, 0};
    if (starter == Starter::Mpi) {
        mpi::init();
        launch.processes = mpi::size();
        launch.process = mpi::rank();
        if (launch.processes == 1) return launch;
        if (launch.process == 0) ids = make_ids();
        mpi::broadcast(&ids, sizeof(ids));
    }
    if (starter == Starter::Environment) {
        // Every process asks for the same ids in the same order.
        for (rondoUniqueId* id : {&ids.processes, &ids.ranks}) {
            require("rondoGetUniqueIdFromEnvironment",
                    rondoGetUniqueIdFromEnvironment(id, &launch.processes, &launch.process));
        }
    }
    return launch;
}

void leave_launch(Starter starter) {
    if (starter == Starter::Mpi) mpi::finalize();
}

}  // namespace rondo::perf
