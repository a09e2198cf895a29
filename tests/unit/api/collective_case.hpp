#pragma once
// One collective call of every rank, checked element by element and byte by byte.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm_ranks.hpp"
#include "element.hpp"
#include "plan/plan.hpp"
#include "rondo/rondo.h"

namespace rondo::api::test {

using plan::Collective;

struct Case {
    Collective collective = Collective::AllReduce;
    rondoDataType_t type = rondoInt32;
    rondoRedOp_t op = rondoSum;
    int root = 0;
    std::size_t count = 0;
    bool in_place = false;
    std::size_t offset = 0;  ///< bytes by which buffers miss their natural alignment
};

std::string describe(const Case& given);

/// Makes the call `given` describes with buffers of exactly the right size.
rondoResult_t call(const Case& given, const void* input, void* output, rondoComm_t comm,
                   rondoStream_t stream = nullptr);

/// Elements of the user's buffers, as the collective defines them for this rank; 0 where it has none.
std::size_t input_elements(const Case& given, int rank, int nranks);
std::size_t output_elements(const Case& given, int rank, int nranks);

/// The input of `rank` and its expected output, as bytes.
std::vector<std::byte> input_of(const Case& given, int rank, int nranks);
std::vector<std::byte> expected_of(const Case& given, int rank, int nranks);

/// Runs the case on this rank with guarded buffers: what is wrong with result, output, input or guards; "" if nothing.
std::string run_case(const Case& given, int rank, int nranks, rondoComm_t comm, rondoStream_t stream = nullptr);

}  // namespace rondo::api::test
