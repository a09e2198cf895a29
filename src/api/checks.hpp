#pragma once
// Checks of the arguments of collective calls: everything that can be found without communication.

#include <cstddef>

#include "comm/call.hpp"
#include "rondo/rondo.h"

namespace rondo::api {

/// A collective call's arguments as the user gave them. Fields that a collective lacks keep their initial values.
struct Arguments {
    const char* function = "";
    plan::Collective collective = plan::Collective::Barrier;
    const void* input = nullptr;
    void* output = nullptr;
    std::size_t count = 0;
    rondoDataType_t type = rondoUint8;
    rondoRedOp_t op = rondoSum;
    int root = 0;
};

/// The checked call. Errors: InvalidArgument naming function, argument, value and what is allowed (type, op, root,
/// bytes past 2^63, null buffers, buffers that overlap other than the collective's in-place rule allows).
comm::Call check(const Arguments& arguments, Rank rank, Rank nranks);

/// The checked type. Errors: InvalidArgument.
DataType check_type(rondoDataType_t type, const char* function);

/// count * size_of(type) * blocks. Errors: InvalidArgument where that passes 2^63 - 1.
std::int64_t check_bytes(std::size_t count, DataType type, Rank blocks, const char* function);

}  // namespace rondo::api
