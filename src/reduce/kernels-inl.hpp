// The reduce-copy loop, compiled once for each instruction set (hence the toggled guard instead of #pragma once).
//
// Elements are taken in strips of four vectors: the accumulators stay in registers while all sources are read, then all
// destinations are written. So every input byte is read once and every output byte written once whatever the number of
// operands, and since a strip's loads all come before its stores, operands may share a range. What is left after the
// strips goes through the same operations with vectors of half the lanes, a quarter, and so on down to one lane: no
// second arithmetic that could round differently, no masked access, and no byte touched outside the operands.

#if defined(RONDO_REDUCE_KERNELS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_REDUCE_KERNELS_INL_HPP
#undef RONDO_REDUCE_KERNELS_INL_HPP
#else
#define RONDO_REDUCE_KERNELS_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/convert.hpp"
#include "reduce/reduce.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::reduce {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using VecOf = hn::Vec<D>;

// ---- Memory: vectors to and from bytes of any alignment

template <class D>
HWY_INLINE VecOf<D> load_bytes(D d, const std::uint8_t* from) {
#if HWY_TARGET == HWY_SCALAR
    hn::TFromD<D> lane;  // Highway's one-lane vectors would dereference a misaligned pointer
    std::memcpy(&lane, from, sizeof(lane));
    return hn::Set(d, lane);
#else
    const hn::Repartition<std::uint8_t, D> bytes;
    return hn::BitCast(d, hn::LoadU(bytes, from));
#endif
}

template <class D>
HWY_INLINE void store_bytes(D d, VecOf<D> v, std::uint8_t* to) {
#if HWY_TARGET == HWY_SCALAR
    (void)d;
    const hn::TFromD<D> lane = hn::GetLane(v);
    std::memcpy(to, &lane, sizeof(lane));
#else
    const hn::Repartition<std::uint8_t, D> bytes;
    hn::StoreU(hn::BitCast(bytes, v), bytes, to);
    (void)d;
#endif
}

/// `to` is a multiple of the vector's bytes, and those are at least HWY_STREAM_MULTIPLE.
template <class D>
HWY_INLINE void stream_bytes(D d, VecOf<D> v, std::uint8_t* to) {
#if HWY_TARGET == HWY_SCALAR
    store_bytes(d, v, to);
#else
    const hn::Repartition<std::uint8_t, D> bytes;
    hn::Stream(hn::BitCast(bytes, v), bytes, to);
    (void)d;
#endif
}

// ---- Formats: how elements lie in memory, and the type of the lanes in which they are reduced
//
// `Memory` is the vector in memory that belongs to a vector D of lanes.

template <class T>
struct Native {
    using Lane = T;
    using Element = T;
    template <class D>
    using Memory = D;

    template <class D>
    static HWY_INLINE VecOf<D> decode(D, VecOf<D> v) {
        return v;
    }
    template <class D>
    static HWY_INLINE VecOf<D> encode(D, VecOf<D> v) {
        return v;
    }
};

struct Brain {
    using Lane = float;
    using Element = std::uint16_t;
    template <class D>
    using Memory = hn::Rebind<std::uint16_t, D>;

    template <class D>
    static HWY_INLINE VecOf<D> decode(D d, VecOf<Memory<D>> v) {
        const hn::RebindToUnsigned<D> wide;
        return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, v)));
    }
    /// NaNs must be canonical: the rounding could carry another NaN's payload into the sign.
    template <class D>
    static HWY_INLINE VecOf<Memory<D>> encode(D, VecOf<D> v) {
        const hn::RebindToUnsigned<D> wide;
        const auto bits = hn::BitCast(wide, v);
        const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1u));
        const auto rounded = hn::Add(hn::Add(bits, hn::Set(wide, 0x7fffu)), odd);
        return hn::TruncateTo(Memory<D>(), hn::ShiftRight<16>(rounded));
    }
};

struct Half {
    using Lane = float;
    using Element = std::uint16_t;
    template <class D>
    using Memory = hn::Rebind<std::uint16_t, D>;

// Highway's own conversions where they are the processor's (F16C). Elsewhere they are emulated without rounding to
// nearest even, so the scalar ones of convert.hpp do it lane by lane.
#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
    template <class D>
    static HWY_INLINE VecOf<D> decode(D d, VecOf<Memory<D>> v) {
        const hn::Rebind<hwy::float16_t, D> half;
        return hn::PromoteTo(d, hn::BitCast(half, v));
    }
    template <class D>
    static HWY_INLINE VecOf<Memory<D>> encode(D, VecOf<D> v) {
        const hn::Rebind<hwy::float16_t, D> half;
        return hn::BitCast(Memory<D>(), hn::DemoteTo(half, v));
    }
#else
    template <class D>
    static HWY_INLINE VecOf<D> decode(D d, VecOf<Memory<D>> v) {
        constexpr std::size_t kLanes = hn::MaxLanes(D());
        HWY_ALIGN std::uint16_t narrow[kLanes];
        HWY_ALIGN float wide[kLanes];
        hn::Store(v, Memory<D>(), narrow);
        for (std::size_t i = 0; i < kLanes; ++i) wide[i] = float16_to_float32(narrow[i]);
        return hn::Load(d, wide);
    }
    template <class D>
    static HWY_INLINE VecOf<Memory<D>> encode(D d, VecOf<D> v) {
        constexpr std::size_t kLanes = hn::MaxLanes(D());
        HWY_ALIGN std::uint16_t narrow[kLanes];
        HWY_ALIGN float wide[kLanes];
        hn::Store(v, d, wide);
        for (std::size_t i = 0; i < kLanes; ++i) narrow[i] = float32_to_float16(wide[i]);
        return hn::Load(Memory<D>(), narrow);
    }
#endif
};

// ---- Operations

struct Sum {
    template <class D>
    static HWY_INLINE VecOf<D> apply(D, VecOf<D> a, VecOf<D> b) {
        return hn::Add(a, b);
    }
};

struct Product {
    template <class D>
    static HWY_INLINE VecOf<D> apply(D d, VecOf<D> a, VecOf<D> b) {
        if constexpr (sizeof(hn::TFromD<D>) == 1) {
            return bytes(d, a, b);
        } else {
            return hn::Mul(a, b);
        }
    }

private:
    /// Products of bytes modulo 256, from multiplications of 16-bit lanes, of which only the low halves are kept.
    template <class D>
    static HWY_INLINE VecOf<D> bytes(D d, VecOf<D> a, VecOf<D> b) {
        if constexpr (hn::MaxLanes(D()) == 1) {
            const unsigned product = unsigned{hn::GetLane(a)} * unsigned{hn::GetLane(b)};
            return hn::Set(d, static_cast<std::uint8_t>(product));
        } else {
            const hn::Repartition<std::uint16_t, D> pair;
            const auto low_mask = hn::Set(pair, std::uint16_t{0x00ff});
            const auto a2 = hn::BitCast(pair, a);
            const auto b2 = hn::BitCast(pair, b);
            const auto low = hn::And(hn::Mul(a2, b2), low_mask);
            const auto high = hn::Mul(hn::ShiftRight<8>(a2), hn::AndNot(low_mask, b2));  // (a >> 8) * (b & 0xff00)
            return hn::BitCast(d, hn::Or(low, high));
        }
    }
};

/// Floats: the smaller; of equal ones (which differ at most in the sign of zero) the OR of the bits, so -0 if either is
/// -0; and if a or b is NaN, again the OR, which is a NaN too since its exponent and a payload bit survive.
struct Minimum {
    template <class D>
    static HWY_INLINE VecOf<D> apply(D, VecOf<D> a, VecOf<D> b) {
        if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
            const auto otherwise = hn::IfThenElse(hn::Lt(b, a), b, hn::Or(a, b));
            return hn::IfThenElse(hn::Lt(a, b), a, otherwise);
        } else {
            return hn::Min(a, b);
        }
    }
};

/// Floats: as Minimum, but of equal ones +0 if either is: the OR with the signs inverted before and after.
struct Maximum {
    template <class D>
    static HWY_INLINE VecOf<D> apply(D d, VecOf<D> a, VecOf<D> b) {
        if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
            const auto sign = hn::SignBit(d);
            const auto merged = hn::Xor(hn::Or(hn::Xor(a, sign), hn::Xor(b, sign)), sign);
            const auto otherwise = hn::IfThenElse(hn::Lt(b, a), a, merged);
            return hn::IfThenElse(hn::Lt(a, b), b, otherwise);
        } else {
            return hn::Max(a, b);
        }
    }
};

// ---- Finishes: what happens to the accumulator before it is stored

struct Keep {
    template <class D>
    HWY_INLINE VecOf<D> apply(D, VecOf<D> v) const {
        return v;
    }
};

/// Every NaN becomes the canonical one. Which payload and sign a sum of NaNs has differs between processors, and
/// compilers may swap the operands of an addition.
struct CanonicalNan {
    template <class D>
    HWY_INLINE VecOf<D> apply(D d, VecOf<D> v) const {
        using T = hn::TFromD<D>;
        return hn::IfThenElse(hn::IsNaN(v), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), v);
    }
};

template <class Lane>
struct DivideFloat {
    Lane divisor;

    explicit DivideFloat(std::uint32_t by) : divisor(static_cast<Lane>(by)) {}

    template <class D>
    HWY_INLINE VecOf<D> apply(D d, VecOf<D> v) const {
        return CanonicalNan().apply(d, hn::Div(v, hn::Set(d, divisor)));
    }
};

/// Quotients of T, truncated toward zero, of lanes that hold T's bits as unsigned. 64 bits: integer division. Less: the
/// division of a floating type F with p bits of precision, p = 24 up to 16 bits, p = 53 for 32. That is exact: n < 2^p
/// and n / d is either an integer, which F holds, or at least 1 / d away from the next one, which is more than the
/// rounding error of at most (n / d) * 2^-p. A divisor that F must round exceeds 2^p: the quotient is below 1 anyway.
template <class T>
struct DivideInteger {
    using Lane = std::make_unsigned_t<T>;
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    using Quotient = std::conditional_t<sizeof(T) == 8, Wide, std::conditional_t<sizeof(T) == 4, double, float>>;

    Quotient divisor;

    explicit DivideInteger(std::uint32_t by) : divisor(static_cast<Quotient>(by)) {}

    template <class D>
    HWY_INLINE VecOf<D> apply(D d, VecOf<D> v) const {
        constexpr std::size_t kLanes = hn::MaxLanes(D());
        HWY_ALIGN Lane lanes[kLanes];
        hn::Store(v, d, lanes);
        for (std::size_t i = 0; i < kLanes; ++i) {
            const auto dividend = static_cast<Quotient>(static_cast<T>(lanes[i]));
            lanes[i] = static_cast<Lane>(static_cast<T>(dividend / divisor));
        }
        return hn::Load(d, lanes);
    }
};

// ---- The loop

template <class Format, class Op, class Finish>
struct Loop {
    using Full = hn::ScalableTag<typename Format::Lane>;
    static constexpr std::size_t kSize = sizeof(typename Format::Element);
    static constexpr std::size_t kLanes = hn::MaxLanes(Full());
    static constexpr std::size_t kVectorBytes = kLanes * kSize;  ///< in memory
    static constexpr std::size_t kStripBytes = 4 * kVectorBytes;
    static constexpr bool kCanStream = kVectorBytes >= HWY_STREAM_MULTIPLE;

    const ReduceCopy& call;
    const Finish finish;

    HWY_INLINE const std::uint8_t* source(int index) const { return static_cast<const std::uint8_t*>(call.src[index]); }
    HWY_INLINE std::uint8_t* destination(int index) const { return static_cast<std::uint8_t*>(call.dst[index]); }

    template <class D>
    static HWY_INLINE VecOf<D> load(D d, const std::uint8_t* from) {
        return Format::decode(d, load_bytes(typename Format::template Memory<D>(), from));
    }

    /// The whole call.
    HWY_INLINE void run() const {
        const std::size_t end = call.count * kSize;
        std::size_t at = 0;
        if (end >= kStripBytes) {
            if (kCanStream && call.stream) {
                const std::size_t head = head_bytes();
                halves(hn::Half<Full>(), 0, head);
                at = strips<true>(head, end);
                // Non-temporal stores are weakly ordered even on x86: without the fence a later release store, which
                // is an ordinary one there, could tell another thread about data that are still on their way.
                hwy::FlushStream();
            } else {
                at = strips<false>(0, end);
            }
        }
        tail(at, end);
    }

private:
    /// Bytes up to the first vector boundary of the first destination; 0 if its elements never fall on one.
    HWY_INLINE std::size_t head_bytes() const {
        const auto address = reinterpret_cast<std::uintptr_t>(call.dst[0]);
        return address % kSize != 0 ? 0 : (kVectorBytes - address % kVectorBytes) % kVectorBytes;
    }

    template <bool kStream>
    HWY_INLINE std::size_t strips(std::size_t at, std::size_t end) const {
        if (call.nsrc == 2) {
            const std::uint8_t* const a = source(0);
            const std::uint8_t* const b = source(1);
            for (; end - at >= kStripBytes; at += kStripBytes) strip_of_two<kStream>(a + at, b + at, at);
        } else {
            for (; end - at >= kStripBytes; at += kStripBytes) strip<kStream>(at);
        }
        return at;
    }

    template <bool kStream>
    HWY_INLINE void strip_of_two(const std::uint8_t* a, const std::uint8_t* b, std::size_t at) const {
        const Full d;
        const auto v0 = Op::apply(d, load(d, a), load(d, b));
        const auto v1 = Op::apply(d, load(d, a + kVectorBytes), load(d, b + kVectorBytes));
        const auto v2 = Op::apply(d, load(d, a + 2 * kVectorBytes), load(d, b + 2 * kVectorBytes));
        const auto v3 = Op::apply(d, load(d, a + 3 * kVectorBytes), load(d, b + 3 * kVectorBytes));
        store_strip<kStream>(v0, v1, v2, v3, at);
    }

    template <bool kStream>
    HWY_INLINE void strip(std::size_t at) const {
        const Full d;
        const std::uint8_t* from = source(0) + at;
        auto v0 = load(d, from);
        auto v1 = load(d, from + kVectorBytes);
        auto v2 = load(d, from + 2 * kVectorBytes);
        auto v3 = load(d, from + 3 * kVectorBytes);
        for (int s = 1; s < call.nsrc; ++s) {
            from = source(s) + at;
            v0 = Op::apply(d, v0, load(d, from));
            v1 = Op::apply(d, v1, load(d, from + kVectorBytes));
            v2 = Op::apply(d, v2, load(d, from + 2 * kVectorBytes));
            v3 = Op::apply(d, v3, load(d, from + 3 * kVectorBytes));
        }
        store_strip<kStream>(v0, v1, v2, v3, at);
    }

    template <bool kStream>
    HWY_INLINE void store_strip(VecOf<Full> v0, VecOf<Full> v1, VecOf<Full> v2, VecOf<Full> v3, std::size_t at) const {
        const Full d;
        const typename Format::template Memory<Full> memory;
        const auto m0 = Format::encode(d, finish.apply(d, v0));
        const auto m1 = Format::encode(d, finish.apply(d, v1));
        const auto m2 = Format::encode(d, finish.apply(d, v2));
        const auto m3 = Format::encode(d, finish.apply(d, v3));
        for (int i = 0; i < call.ndst; ++i) {
            std::uint8_t* const to = destination(i) + at;
            // Only the first destination was brought to a boundary; others may stand differently.
            if (kStream && reinterpret_cast<std::uintptr_t>(to) % kVectorBytes == 0) {
                stream_bytes(memory, m0, to);
                stream_bytes(memory, m1, to + kVectorBytes);
                stream_bytes(memory, m2, to + 2 * kVectorBytes);
                stream_bytes(memory, m3, to + 3 * kVectorBytes);
            } else {
                store_bytes(memory, m0, to);
                store_bytes(memory, m1, to + kVectorBytes);
                store_bytes(memory, m2, to + 2 * kVectorBytes);
                store_bytes(memory, m3, to + 3 * kVectorBytes);
            }
        }
    }

    template <class D>
    HWY_INLINE void vector(D d, std::size_t at) const {
        auto v = load(d, source(0) + at);
        for (int s = 1; s < call.nsrc; ++s) v = Op::apply(d, v, load(d, source(s) + at));
        const auto m = Format::encode(d, finish.apply(d, v));
        const typename Format::template Memory<D> memory;
        for (int i = 0; i < call.ndst; ++i) store_bytes(memory, m, destination(i) + at);
    }

    /// Fewer bytes than a strip.
    HWY_INLINE void tail(std::size_t at, std::size_t end) const {
        for (; end - at >= kVectorBytes; at += kVectorBytes) vector(Full(), at);
        halves(hn::Half<Full>(), at, end);
    }

    /// Fewer bytes than a vector of twice the lanes of D.
    template <class D>
    HWY_INLINE void halves(D d, std::size_t at, std::size_t end) const {
        constexpr std::size_t kBytes = hn::MaxLanes(D()) * kSize;
        if constexpr (kLanes > 1) {
            if (end - at >= kBytes) {
                vector(d, at);
                at += kBytes;
            }
            if constexpr (hn::MaxLanes(D()) > 1) halves(hn::Half<D>(), at, end);
        }
    }
};

/// Kernel of the copy of unsigned `Element`s. The C library copies long ranges best; the strips serve several
/// destinations and streaming; and for a few bytes they cost less than the library's call.
template <class Element>
HWY_NOINLINE void copy_kernel(const ReduceCopy& call) noexcept {
    constexpr std::size_t kShortBytes = 256;
    const std::size_t bytes = call.count * sizeof(Element);
    if (bytes > kShortBytes && call.ndst == 1 && !call.stream) {
        if (call.dst[0] != call.src[0]) std::memcpy(call.dst[0], call.src[0], bytes);
        return;
    }
    Loop<Native<Element>, Sum, Keep>{call, Keep()}.run();
}

/// Kernel of the operation without division.
template <class Format, class Op>
void reduce(const ReduceCopy& call) noexcept {
    using Finish = std::conditional_t<std::is_floating_point_v<typename Format::Lane>, CanonicalNan, Keep>;
    if (call.nsrc == 1) {
        copy_kernel<hwy::MakeUnsigned<typename Format::Element>>(call);
    } else {
        Loop<Format, Op, Finish>{call, Finish()}.run();
    }
}

/// Kernel of the average.
template <class Format, class Divide>
void average(const ReduceCopy& call) noexcept {
    if (!call.post || call.divisor == 1) {
        reduce<Format, Sum>(call);
        return;
    }
    Loop<Format, Sum, Divide>{call, Divide(call.divisor)}.run();
}

/// Signed sums and products are those of the unsigned type: the same bits, and wrapping is defined.
template <class T>
Kernel integer_kernel(ReduceOp op) noexcept {
    using Unsigned = Native<std::make_unsigned_t<T>>;
    switch (op) {
        case ReduceOp::Sum: return &reduce<Unsigned, Sum>;
        case ReduceOp::Prod: return &reduce<Unsigned, Product>;
        case ReduceOp::Max: return &reduce<Native<T>, Maximum>;
        case ReduceOp::Min: return &reduce<Native<T>, Minimum>;
        case ReduceOp::Avg: return &average<Unsigned, DivideInteger<T>>;
    }
    return nullptr;
}

template <class Format>
Kernel floating_kernel(ReduceOp op) noexcept {
    switch (op) {
        case ReduceOp::Sum: return &reduce<Format, Sum>;
        case ReduceOp::Prod: return &reduce<Format, Product>;
        case ReduceOp::Max: return &reduce<Format, Maximum>;
        case ReduceOp::Min: return &reduce<Format, Minimum>;
        case ReduceOp::Avg: return &average<Format, DivideFloat<typename Format::Lane>>;
    }
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo::reduce
HWY_AFTER_NAMESPACE();

#endif  // RONDO_REDUCE_KERNELS_INL_HPP
