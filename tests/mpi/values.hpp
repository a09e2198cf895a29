#pragma once
// Inputs whose reduction is exact in any order, so that Rondo's result and MPI's must have the same bits.

#include <mpi.h>
#include <rondo/rondo.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rondo::test {

struct Type {
    std::string_view name;
    rondoDataType_t rondo;
    MPI_Datatype mpi;
    std::size_t size;
    bool floating;
};

/// All types that MPI has too.
const std::vector<Type>& types();

struct Op {
    std::string_view name;
    rondoRedOp_t rondo;
    MPI_Op mpi;  ///< of the average: the sum, to be divided
};

const std::vector<Op>& ops();

/// A value for each (call, rank, element), different for all three.
std::uint64_t hash(std::uint64_t call, int rank, std::size_t element) noexcept;

/// `count` elements that any number of ranks can reduce by `op` exactly: whole numbers small enough for the type, or
/// for products +-1, +-2 (integers 1 to 3).
void fill(const Type& type, const Op& op, std::uint64_t call, int rank, std::size_t count, std::byte* out);

/// Any bits, for collectives that move elements as they are.
void fill_bits(std::uint64_t call, int rank, std::size_t bytes, std::byte* out);

/// The sum over `nranks` ranks becomes the average as Rondo defines it: integers truncate toward zero.
void divide(const Type& type, int nranks, std::size_t count, std::byte* values);

/// Index of the first element that differs, or count. The average of floats may be off by the rounding of one division.
std::size_t first_difference(const Type& type, const Op& op, std::size_t count, const std::byte* a, const std::byte* b);

}  // namespace rondo::test
