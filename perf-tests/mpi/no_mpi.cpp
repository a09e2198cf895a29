#include "driver/mpi.hpp"
#include "driver/run_error.hpp"

namespace rondo::perf::mpi {

namespace {

[[noreturn]] void refuse() {
    throw RunError(
        "started by mpirun, but this build has no MPI: install libopenmpi-dev and openmpi-bin and configure again, or "
        "use --procs N, or set RONDO_COMM_ID, RONDO_RANK and RONDO_NRANKS");
}

}  // namespace

bool built() noexcept { return false; }
void init() { refuse(); }
int size() { refuse(); }
int rank() { refuse(); }
void broadcast(void*, std::size_t) { refuse(); }
void finalize() {}
OwnCall own_call(std::string_view) noexcept { return nullptr; }
bool has(rondoDataType_t, bool, rondoRedOp_t) noexcept { return false; }

}  // namespace rondo::perf::mpi
