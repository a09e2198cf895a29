#pragma once
// The little that the driver asks of MPI. Built with MPI: mpi/mpi.cpp, else mpi/no_mpi.cpp.

#include <cstddef>

namespace rondo::perf::mpi {

[[nodiscard]] bool built() noexcept;

/// MPI_Init by the main thread. Throws RunError.
void init();
[[nodiscard]] int size();
[[nodiscard]] int rank();
/// Process 0's `bytes` bytes come to all. Throws RunError.
void broadcast(void* data, std::size_t bytes);
void finalize();

}  // namespace rondo::perf::mpi
