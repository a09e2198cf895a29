#pragma once
// The little that the driver asks of MPI. Built with MPI: mpi/*.cpp but mpi/no_mpi.cpp, else that one alone.

#include <cstddef>
#include <string_view>

#include "driver/collective.hpp"

namespace rondo::perf::mpi {

[[nodiscard]] bool built() noexcept;

/// MPI_Init by the main thread. Throws RunError.
void init();
[[nodiscard]] int size();
[[nodiscard]] int rank();
/// Process 0's `bytes` bytes come to all. Throws RunError.
void broadcast(void* data, std::size_t bytes);
void finalize();

/// MPI's own call for the collective of a program, on the same arguments out of place; null where there is none. It
/// returns rondoSuccess or, for a type or reduction that MPI lacks or an error of MPI, rondoInvalidArgument.
using OwnCall = rondoResult_t (*)(const Call&);
[[nodiscard]] OwnCall own_call(std::string_view program) noexcept;
/// Has MPI the type, and the reduction where one is asked for?
[[nodiscard]] bool has(rondoDataType_t type, bool reduces, rondoRedOp_t op) noexcept;

}  // namespace rondo::perf::mpi
