#pragma once
// Element types and reductions as the programs name, convert and order them. Written independently of the library,
// so that a fault there cannot hide here.

#include <rondo/rondo.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace rondo::perf {

struct TypeInfo {
    rondoDataType_t type;
    std::string_view name;  ///< as nccl-tests prints and accepts it
    std::size_t size;       ///< bytes of an element
    bool floating;
};

struct OpInfo {
    rondoRedOp_t op;
    std::string_view name;
};

/// Every type, in the order in which `-d all` walks through them.
std::span<const TypeInfo> all_types() noexcept;
/// Every reduction, in the order in which `-o all` walks through them.
std::span<const OpInfo> all_ops() noexcept;

const TypeInfo& info_of(rondoDataType_t type);
const OpInfo& info_of(rondoRedOp_t op);
std::optional<rondoDataType_t> type_named(std::string_view name) noexcept;
std::optional<rondoRedOp_t> op_named(std::string_view name) noexcept;

/// The value of 16 bits of an IEEE-like format with `mantissa` stored mantissa bits.
double decode16(std::uint16_t bits, int mantissa) noexcept;
/// The nearest value (ties to even) of the 16-bit format with `mantissa` stored mantissa bits.
std::uint16_t encode16(double value, int mantissa) noexcept;

template <class T>
struct IntElement {
    using Value = T;
    using Bits = std::make_unsigned_t<T>;
    static constexpr bool kFloating = false;
};

/// Common to the floating types: `Mantissa` stored mantissa bits out of sizeof(B) * 8.
template <class B, int Mantissa>
struct FloatBits {
    using Bits = B;
    static constexpr bool kFloating = true;
    static constexpr int kMantissa = Mantissa;
    static constexpr int kSignificand = Mantissa + 1;  ///< integers to 2^kSignificand are exact
    static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(B) * 8 - 1));
    static constexpr Bits kMantissaMask = static_cast<Bits>((Bits{1} << Mantissa) - 1);
    static constexpr Bits kExponentMask = static_cast<Bits>(~(kSign | kMantissaMask));
    static constexpr Bits kOne = static_cast<Bits>((kExponentMask >> 1) & kExponentMask);

    /// Order of the finite values as unsigned integers; neighbours differ by 1, and -0 lies just below +0.
    static constexpr Bits ordered(Bits bits) noexcept {
        return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
    }
};

struct Float16Element : FloatBits<std::uint16_t, 10> {
    static double decode(Bits bits) noexcept { return decode16(bits, kMantissa); }
    static Bits encode(double value) noexcept { return encode16(value, kMantissa); }
};

struct Bfloat16Element : FloatBits<std::uint16_t, 7> {
    static double decode(Bits bits) noexcept { return decode16(bits, kMantissa); }
    static Bits encode(double value) noexcept { return encode16(value, kMantissa); }
};

struct Float32Element : FloatBits<std::uint32_t, 23> {
    static double decode(Bits bits) noexcept { return static_cast<double>(std::bit_cast<float>(bits)); }
    static Bits encode(double value) noexcept { return std::bit_cast<Bits>(static_cast<float>(value)); }
};

struct Float64Element : FloatBits<std::uint64_t, 52> {
    static double decode(Bits bits) noexcept { return std::bit_cast<double>(bits); }
    static Bits encode(double value) noexcept { return std::bit_cast<Bits>(value); }
};

/// Calls use.template operator()<Element>() with the element class of `type`.
template <class Use>
auto with_element(rondoDataType_t type, Use&& use) {
    switch (type) {
        case rondoInt8: return use.template operator()<IntElement<std::int8_t>>();
        case rondoUint8: return use.template operator()<IntElement<std::uint8_t>>();
        case rondoInt16: return use.template operator()<IntElement<std::int16_t>>();
        case rondoUint16: return use.template operator()<IntElement<std::uint16_t>>();
        case rondoInt32: return use.template operator()<IntElement<std::int32_t>>();
        case rondoUint32: return use.template operator()<IntElement<std::uint32_t>>();
        case rondoInt64: return use.template operator()<IntElement<std::int64_t>>();
        case rondoUint64: return use.template operator()<IntElement<std::uint64_t>>();
        case rondoFloat16: return use.template operator()<Float16Element>();
        case rondoBfloat16: return use.template operator()<Bfloat16Element>();
        case rondoFloat32: return use.template operator()<Float32Element>();
        case rondoFloat64: break;
    }
    return use.template operator()<Float64Element>();
}

}  // namespace rondo::perf
