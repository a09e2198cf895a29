#include "driver/element.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace rondo::perf {

namespace {

constexpr std::array<TypeInfo, 12> kTypes{{{rondoInt8, "int8", 1, false},
                                           {rondoUint8, "uint8", 1, false},
                                           {rondoInt16, "int16", 2, false},
                                           {rondoUint16, "uint16", 2, false},
                                           {rondoInt32, "int32", 4, false},
                                           {rondoUint32, "uint32", 4, false},
                                           {rondoInt64, "int64", 8, false},
                                           {rondoUint64, "uint64", 8, false},
                                           {rondoFloat16, "half", 2, true},
                                           {rondoFloat32, "float", 4, true},
                                           {rondoFloat64, "double", 8, true},
                                           {rondoBfloat16, "bfloat16", 2, true}}};

constexpr std::array<OpInfo, 5> kOps{
    {{rondoSum, "sum"}, {rondoProd, "prod"}, {rondoMax, "max"}, {rondoMin, "min"}, {rondoAvg, "avg"}}};

}  // namespace

std::span<const TypeInfo> all_types() noexcept { return kTypes; }
std::span<const OpInfo> all_ops() noexcept { return kOps; }

const TypeInfo& info_of(rondoDataType_t type) {
    const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeInfo& t) { return t.type == type; });
    if (found == kTypes.end()) throw std::invalid_argument(fmt::format("no element type {}", static_cast<int>(type)));
    return *found;
}

const OpInfo& info_of(rondoRedOp_t op) {
    const auto found = std::find_if(kOps.begin(), kOps.end(), [&](const OpInfo& o) { return o.op == op; });
    if (found == kOps.end()) throw std::invalid_argument(fmt::format("no reduction {}", static_cast<int>(op)));
    return *found;
}

std::optional<rondoDataType_t> type_named(std::string_view name) noexcept {
    for (const TypeInfo& type : kTypes) {
        if (type.name == name) return type.type;
    }
    return std::nullopt;
}

std::optional<rondoRedOp_t> op_named(std::string_view name) noexcept {
    for (const OpInfo& op : kOps) {
        if (op.name == name) return op.op;
    }
    return std::nullopt;
}

double decode16(std::uint16_t bits, int mantissa) noexcept {
    const int exponent_bits = 15 - mantissa;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (bits >> mantissa) & ((1 << exponent_bits) - 1);
    const int fraction = bits & ((1 << mantissa) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    }
    const int significand = exponent == 0 ? fraction : fraction + (1 << mantissa);
    return sign * std::ldexp(significand, std::max(exponent, 1) - bias - mantissa);
}

std::uint16_t encode16(double value, int mantissa) noexcept {
    const int exponent_bits = 15 - mantissa;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 48) & 0x8000);
    const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa);
    if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | (1 << (mantissa - 1)));
    const int raw_exponent = static_cast<int>((bits >> 52) & 0x7ff);
    if (raw_exponent == 0) return sign;  // zero, or far below the smallest 16-bit value
    int exponent = raw_exponent - 1023 + bias;
    int shift = 52 - mantissa;
    if (exponent <= 0) {  // a subnormal of the 16-bit format
        shift += 1 - exponent;
        exponent = 1;
    }
    if (shift > 54) return sign;
    const std::uint64_t full = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
    const std::uint64_t rest = full & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    std::uint64_t rounded = full >> shift;
    if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
    // The implicit bit of `rounded`, where there is one, adds the 1 that was taken off the exponent field.
    const std::uint64_t packed = (static_cast<std::uint64_t>(exponent - 1) << mantissa) + rounded;
    return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(packed, infinity));
}

}  // namespace rondo::perf
