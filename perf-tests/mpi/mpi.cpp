#include <mpi.h>

#include <fmt/format.h>

#include <array>

#include "driver/mpi.hpp"
#include "driver/run_error.hpp"

namespace rondo::perf::mpi {

namespace {

void check(const char* call, int result) {
    if (result == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(result, text.data(), &length);
    throw RunError(fmt::format("{}: {}", call, text.data()));
}

}  // namespace

bool built() noexcept { return true; }

void init() {
    int provided = 0;
    // One thread at a time: this one, and where MPI is measured the one that measures.
    check("MPI_Init_thread", MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
    // From here on errors come back as values.
    check("MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

int size() {
    int value = 0;
    check("MPI_Comm_size", MPI_Comm_size(MPI_COMM_WORLD, &value));
    return value;
}

int rank() {
    int value = 0;
    check("MPI_Comm_rank", MPI_Comm_rank(MPI_COMM_WORLD, &value));
    return value;
}

void broadcast(void* data, std::size_t bytes) {
    check("MPI_Bcast", MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD));
}

void finalize() {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized != 0 && finalized == 0) MPI_Finalize();
}

}  // namespace rondo::perf::mpi
