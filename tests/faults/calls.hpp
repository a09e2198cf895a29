#pragma once
// Calls of a fault test's rank, with inputs that tell ranks, calls and elements apart, and what must come out.

#include <rondo/rondo.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <random>
#include <string>
#include <vector>

namespace rondo::test {

enum class Function { AllReduce, Reduce, Broadcast, AllGather, ReduceScatter, AllToAll, Barrier };

inline constexpr Function kFunctions[] = {Function::AllReduce, Function::Reduce,        Function::Broadcast,
                                          Function::AllGather, Function::ReduceScatter, Function::AllToAll,
                                          Function::Barrier};

struct Call {
    Function function = Function::AllReduce;
    rondoDataType_t type = rondoUint32;  ///< of four bytes; results are compared for rondoUint32 only
    std::size_t count = 0;
    rondoRedOp_t op = rondoSum;
    int root = 0;
    std::uint32_t number = 0;  ///< part of the inputs
};

struct Buffers {
    std::vector<std::uint32_t> in;
    std::vector<std::uint32_t> out;
};

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Element i of rank's input in call `number`. Sums wrap, so they are exact in any order.
constexpr std::uint32_t value_of(int rank, std::uint32_t number, std::size_t i) noexcept {
    return static_cast<std::uint32_t>(i) * 31 + static_cast<std::uint32_t>(rank) * 7919 + number * 1'000'003;
}

void fill(std::vector<std::uint32_t>& data, int rank, std::uint32_t number);
/// The first of the elements from `begin` on, every `stride`-th and the last, that is not the sum over `nranks` ranks;
/// data.size() if none.
std::size_t wrong_sum(const std::vector<std::uint32_t>& data, int nranks, std::uint32_t number, std::size_t begin,
                      std::size_t stride);

/// "all_reduce float 1000 sum 0" from the words of a line. Throws std::runtime_error.
Call parse_call(std::istream& words, std::uint32_t number);
Call draw_call(std::mt19937_64& random, int nranks, std::uint32_t number);
std::string text_of(const Call& call);

/// Sizes the buffers and writes the input.
void prepare(const Call& call, int rank, int nranks, Buffers& buffers);
rondoResult_t make(const Call& call, Buffers& buffers, rondoComm_t comm);
/// Index in the output of the first element that is wrong, or kNone.
std::size_t first_wrong(const Call& call, int rank, int nranks, const Buffers& buffers);

/// rondoCommShrink.
rondoResult_t shrink_comm(rondoComm_t comm, const std::vector<int>& excluded, rondoComm_t* smaller);

}  // namespace rondo::test
