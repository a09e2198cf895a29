#pragma once
// The vocabulary that every room shares: element types, reductions, ranks and sizes.
// Numeric values of DataType and ReduceOp are those of the public C header (include/rondo/rondo.h) and never change.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rondo {

using Rank = std::int32_t;

enum class DataType : std::uint8_t {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Bfloat16 = 9,
    Int16 = 12,
    Uint16 = 13,
};

enum class ReduceOp : std::uint8_t { Sum = 0, Prod = 1, Max = 2, Min = 3, Avg = 4 };

/// Every DataType, in the order in which programs and tests walk through them.
inline constexpr std::array kAllDataTypes{DataType::Int8,    DataType::Uint8,    DataType::Int16,   DataType::Uint16,
                                          DataType::Int32,   DataType::Uint32,   DataType::Int64,   DataType::Uint64,
                                          DataType::Float16, DataType::Bfloat16, DataType::Float32, DataType::Float64};

/// Every ReduceOp, in numeric order.
inline constexpr std::array kAllReduceOps{ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Avg};

/// Bytes of one element; 0 for a value that is no DataType.
constexpr std::size_t size_of(DataType type) noexcept {
    switch (type) {
        case DataType::Int8:
        case DataType::Uint8: return 1;
        case DataType::Int16:
        case DataType::Uint16:
        case DataType::Float16:
        case DataType::Bfloat16: return 2;
        case DataType::Int32:
        case DataType::Uint32:
        case DataType::Float32: return 4;
        case DataType::Int64:
        case DataType::Uint64:
        case DataType::Float64: return 8;
    }
    return 0;
}

constexpr bool is_floating(DataType type) noexcept {
    return type == DataType::Float16 || type == DataType::Bfloat16 || type == DataType::Float32 ||
           type == DataType::Float64;
}

/// The names that nccl-tests prints and accepts ("float", "half", "int32", ...); "?" for a value that is no DataType.
constexpr std::string_view name_of(DataType type) noexcept {
    switch (type) {
        case DataType::Int8: return "int8";
        case DataType::Uint8: return "uint8";
        case DataType::Int16: return "int16";
        case DataType::Uint16: return "uint16";
        case DataType::Int32: return "int32";
        case DataType::Uint32: return "uint32";
        case DataType::Int64: return "int64";
        case DataType::Uint64: return "uint64";
        case DataType::Float16: return "half";
        case DataType::Bfloat16: return "bfloat16";
        case DataType::Float32: return "float";
        case DataType::Float64: return "double";
    }
    return "?";
}

constexpr std::string_view name_of(ReduceOp op) noexcept {
    switch (op) {
        case ReduceOp::Sum: return "sum";
        case ReduceOp::Prod: return "prod";
        case ReduceOp::Max: return "max";
        case ReduceOp::Min: return "min";
        case ReduceOp::Avg: return "avg";
    }
    return "?";
}

}  // namespace rondo
