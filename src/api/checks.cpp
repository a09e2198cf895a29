#include "api/checks.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace rondo::api {

namespace {

using plan::Collective;

ReduceOp check_op(rondoRedOp_t op, const char* function) {
    const auto value = static_cast<int>(op);
    if (value < 0 || value >= static_cast<int>(kAllReduceOps.size())) {
        throw make_error(Code::InvalidArgument,
                         "{}: op {} is none; allowed: rondoSum 0, rondoProd 1, rondoMax 2, rondoMin "
                         "3, rondoAvg 4",
                         function, value);
    }
    return static_cast<ReduceOp>(value);
}

/// Bytes [begin, end) of a buffer; empty where the collective does not use it on this rank.
struct Span {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    [[nodiscard]] bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};

std::string text_of(const Span& span) { return fmt::format("[{:#x}, {:#x})", span.begin, span.end); }

Span span_of(const void* pointer, std::int64_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    return {begin, begin + static_cast<std::uintptr_t>(bytes)};
}

struct Blocks {
    Rank input = 0;
    Rank output = 0;
};

Blocks blocks_of(const Arguments& a, Rank rank, Rank nranks) {
    switch (a.collective) {
        case Collective::AllReduce: return {1, 1};
        case Collective::Reduce: return {1, rank == a.root ? 1 : 0};
        case Collective::Broadcast: return {rank == a.root ? 1 : 0, 1};
        case Collective::AllGather: return {1, nranks};
        case Collective::ReduceScatter: return {nranks, 1};
        case Collective::AllToAll: return {nranks, nranks};
        default: return {0, 0};
    }
}

/// Where in its larger buffer the smaller one lies in place, in bytes; -1: in place is not offered.
std::int64_t in_place_offset(const Arguments& a, Rank rank, std::int64_t block) {
    switch (a.collective) {
        case Collective::AllGather:
        case Collective::ReduceScatter: return rank * block;
        case Collective::AllToAll: return -1;
        default: return 0;
    }
}

const char* in_place_rule(Collective collective) {
    switch (collective) {
        case Collective::AllGather: return "sendbuff == recvbuff + rank*sendcount";
        case Collective::ReduceScatter: return "recvbuff == sendbuff + rank*recvcount";
        case Collective::AllToAll: return "none; give it two buffers";
        default: return "sendbuff == recvbuff";
    }
}

void check_buffers(const Arguments& a, Rank rank, Rank nranks, std::int64_t block) {
    if (block == 0) return;
    const Blocks blocks = blocks_of(a, rank, nranks);
    if (blocks.input > 0 && a.input == nullptr) {
        throw make_error(Code::InvalidArgument, "{}: sendbuff is null with count {}", a.function, a.count);
    }
    if (blocks.output > 0 && a.output == nullptr) {
        throw make_error(Code::InvalidArgument, "{}: recvbuff is null with count {}", a.function, a.count);
    }
    if (blocks.input == 0 || blocks.output == 0) return;
    const Span in = span_of(a.input, block * blocks.input);
    const Span out = span_of(a.output, block * blocks.output);
    if (!in.overlaps(out)) return;
    const std::int64_t offset = in_place_offset(a, rank, block);
    const bool input_is_larger = a.collective == Collective::ReduceScatter;
    const std::uintptr_t large = input_is_larger ? in.begin : out.begin;
    const std::uintptr_t small = input_is_larger ? out.begin : in.begin;
    if (offset >= 0 && small == large + static_cast<std::uintptr_t>(offset)) return;
    throw make_error(Code::InvalidArgument,
                     "{}: sendbuff {} and recvbuff {} overlap on rank {}; the one overlap allowed is {}", a.function,
                     text_of(in), text_of(out), rank, in_place_rule(a.collective));
}

}  // namespace

DataType check_type(rondoDataType_t type, const char* function) {
    const auto value = static_cast<int>(type);
    const bool known =
        value >= 0 && value <= std::numeric_limits<std::uint8_t>::max() && size_of(static_cast<DataType>(value)) != 0;
    if (!known) {
        throw make_error(Code::InvalidArgument, "{}: datatype {} is none; allowed: 0 to 9, 12 and 13 (rondoDataType_t)",
                         function, value);
    }
    return static_cast<DataType>(value);
}

std::int64_t check_bytes(std::size_t count, DataType type, Rank blocks, const char* function) {
    std::int64_t bytes = 0;
    std::int64_t all = 0;
    if (__builtin_mul_overflow(count, size_of(type), &bytes) || __builtin_mul_overflow(bytes, blocks, &all)) {
        throw make_error(Code::InvalidArgument, "{}: count {} of {} ({} bytes each, {} blocks) passes 2^63 - 1 bytes",
                         function, count, name_of(type), size_of(type), blocks);
    }
    return bytes;
}

comm::Call check(const Arguments& a, Rank rank, Rank nranks) {
    const DataType type = check_type(a.type, a.function);
    const ReduceOp op = check_op(a.op, a.function);
    if (a.root < 0 || a.root >= nranks) {
        throw make_error(Code::InvalidArgument, "{}: root {} is no rank; allowed: 0 to {}", a.function, a.root,
                         nranks - 1);
    }
    check_buffers(a, rank, nranks, check_bytes(a.count, type, nranks, a.function));
    return {.collective = a.collective,
            .type = type,
            .op = op,
            .root = a.root,
            .count = static_cast<std::int64_t>(a.count),
            .input = a.input,
            .output = a.output};
}

}  // namespace rondo::api
