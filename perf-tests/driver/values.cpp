#include "driver/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace rondo::perf {

namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: spreads consecutive elements

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

constexpr std::uint64_t key_of(const Inputs& inputs, int rank) noexcept {
    return mix(inputs.seed + mix(inputs.iteration * kGolden + static_cast<std::uint64_t>(rank) + 1));
}

constexpr std::uint64_t hash_of(std::uint64_t key, std::size_t element) noexcept {
    return mix(key + (element + 1) * kGolden);
}

/// Largest power of two in limit / nranks; 0 when there are more ranks than `limit`.
constexpr std::uint64_t bound_of(std::uint64_t limit, int nranks) noexcept {
    return std::bit_floor(limit / static_cast<std::uint64_t>(nranks));
}

/// With more ranks than a type can add up, only `limit` of them contribute to an element, others in turn.
constexpr bool contributes(std::uint64_t limit, int nranks, int rank, std::size_t element) noexcept {
    const auto n = static_cast<std::size_t>(nranks);
    return (static_cast<std::size_t>(rank) + element) % n < limit;
}

/// A value of [-bound, bound), or for bound 0 of {-1, 0, 1}, nonzero only where the rank contributes.
constexpr std::int64_t signed_term(std::uint64_t hash, std::uint64_t bound, std::uint64_t limit, int nranks, int rank,
                                   std::size_t element) noexcept {
    if (bound == 0) {
        if (!contributes(limit, nranks, rank, element)) return 0;
        return (hash & 1) != 0 ? 1 : -1;
    }
    return static_cast<std::int64_t>(hash & (2 * bound - 1)) - static_cast<std::int64_t>(bound);
}

// One class per kind of data: term() makes the input of a rank, begin/add/end reduce the terms.

template <class Element>
struct Raw {
    using Bits = typename Element::Bits;
    explicit Raw(const Inputs&) noexcept {}
    [[nodiscard]] Bits input(int, std::uint64_t hash, std::size_t) const noexcept { return static_cast<Bits>(hash); }
};

template <class Element, rondoRedOp_t Op>
class IntReduction {
public:
    using Bits = typename Element::Bits;
    using Value = typename Element::Value;
    using Wide = std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>;

    explicit IntReduction(const Inputs& inputs) noexcept : inputs_(inputs), nranks_(inputs.nranks) {}

    [[nodiscard]] Bits input(int rank, std::uint64_t hash, std::size_t element) const noexcept {
        if constexpr (Op == rondoProd) return static_cast<Bits>(hash | 3);
        if constexpr (Op == rondoAvg) return static_cast<Bits>(average_term(rank, element));
        return static_cast<Bits>(hash);
    }

    template <class InputOf>
    [[nodiscard]] Bits reduce(const InputOf& input_of) const noexcept {
        // Unsigned 64-bit arithmetic wraps like every narrower type does once its low bits are taken.
        std::uint64_t total = widen(input_of(0));
        for (int rank = 1; rank < nranks_; ++rank) {
            const std::uint64_t term = widen(input_of(rank));
            if constexpr (Op == rondoProd) {
                total *= term;
            } else if constexpr (Op == rondoMax) {
                total = static_cast<Wide>(term) > static_cast<Wide>(total) ? term : total;
            } else if constexpr (Op == rondoMin) {
                total = static_cast<Wide>(term) < static_cast<Wide>(total) ? term : total;
            } else {
                total += term;
            }
        }
        if constexpr (Op == rondoAvg) return static_cast<Bits>(static_cast<Wide>(total) / static_cast<Wide>(nranks_));
        return static_cast<Bits>(total);
    }

private:
    static constexpr std::uint64_t kLimit = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());

    /// Sign- or zero-extended to 64 bits.
    static std::uint64_t widen(Bits bits) noexcept {
        return static_cast<std::uint64_t>(static_cast<Wide>(static_cast<Value>(bits)));
    }

    /// Truncation hides a lost term from a quotient, except where the sum is a multiple of n and the term has its sign.
    /// So neighbouring ranks have mean + x and mean - x, which sum up to n * mean; the sign belongs to the element.
    /// Every other element has something on top, so that there is a remainder to truncate.
    [[nodiscard]] std::uint64_t average_term(int rank, std::size_t element) const noexcept {
        const auto n = static_cast<std::uint64_t>(nranks_);
        const std::uint64_t largest = kLimit / n;
        if (largest == 0) return contributes(kLimit, nranks_, rank, element) ? 1 : 0;
        const std::uint64_t shared = hash_of(key_of(inputs_, -1), element);
        const std::uint64_t mean = 1 + (shared >> 1) % largest;
        std::uint64_t term = mean;
        if ((rank ^ 1) < nranks_) {
            const std::uint64_t x = hash_of(key_of(inputs_, -2 - rank / 2), element) % (mean + 1);
            term = (rank & 1) == 0 ? mean + x : mean - x;
        }
        const bool takes_rest = element % 2 == 1 && (static_cast<std::uint64_t>(rank) + element) % n == 0;
        if (takes_rest) term += (shared >> 32) % (std::min(n - 1, kLimit - n * mean) + 1);
        const bool negative = std::is_signed_v<Value> && (shared & 1) != 0;
        return negative ? 0 - term : term;
    }

    Inputs inputs_;
    int nranks_;
};

template <class Element, rondoRedOp_t Op>
class FloatReduction {
public:
    using Bits = typename Element::Bits;

    explicit FloatReduction(const Inputs& inputs) noexcept
        : nranks_(inputs.nranks), bound_(bound_of(kLimit, inputs.nranks)), shift_(inputs.iteration) {}

    [[nodiscard]] Bits input(int rank, std::uint64_t hash, std::size_t element) const noexcept {
        if constexpr (Op == rondoProd) return factor(rank, hash, element);
        if constexpr (Op == rondoMax || Op == rondoMin) return finite(static_cast<Bits>(hash));
        const std::int64_t term = signed_term(hash, bound_, kLimit, nranks_, rank, element);
        return Element::encode(static_cast<double>(term) * scale(element));
    }

    template <class InputOf>
    [[nodiscard]] Bits reduce(const InputOf& input_of) const noexcept {
        if constexpr (Op == rondoMax || Op == rondoMin) {
            Bits best = input_of(0);
            for (int rank = 1; rank < nranks_; ++rank) {
                const Bits other = input_of(rank);
                const bool greater = Element::ordered(other) > Element::ordered(best);
                if (greater == (Op == rondoMax)) best = other;
            }
            return best;
        } else {
            double total = Element::decode(input_of(0));
            for (int rank = 1; rank < nranks_; ++rank) {
                const double term = Element::decode(input_of(rank));
                total = Op == rondoProd ? total * term : total + term;
            }
            return Element::encode(Op == rondoAvg ? total / nranks_ : total);
        }
    }

private:
    static constexpr std::uint64_t kLimit = std::uint64_t{1} << Element::kSignificand;
    static constexpr std::size_t kPowers = 12;  // |exponent| of a partial product stays inside float16's -14..15
    static constexpr std::array<double, 8> kScales{0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8};

    [[nodiscard]] double scale(std::size_t element) const noexcept { return kScales[(element + shift_) & 7]; }

    [[nodiscard]] Bits factor(int rank, std::uint64_t hash, std::size_t element) const noexcept {
        const std::size_t turn = (static_cast<std::size_t>(rank) + element) % static_cast<std::size_t>(nranks_);
        const Bits sign = (hash >> 63) != 0 ? Element::kSign : Bits{0};
        Bits magnitude = Element::kOne;
        if (turn == 0) {
            magnitude = static_cast<Bits>(magnitude | (static_cast<Bits>(hash) & Element::kMantissaMask));
        } else if (turn <= kPowers) {
            constexpr Bits kExponentStep = static_cast<Bits>(Element::kMantissaMask + 1);
            magnitude = static_cast<Bits>((hash & 1) != 0 ? magnitude + kExponentStep : magnitude - kExponentStep);
        }
        return static_cast<Bits>(magnitude | sign);
    }

    static Bits finite(Bits bits) noexcept {
        constexpr Bits kTop = static_cast<Bits>(Element::kSign >> 1);
        if ((bits & Element::kExponentMask) == Element::kExponentMask) bits = static_cast<Bits>(bits ^ kTop);
        return bits == Element::kSign ? Bits{0} : bits;
    }

    int nranks_;
    std::uint64_t bound_;
    std::uint64_t shift_;
};

/// Calls use(generator, Element{}) with the class above that makes these inputs.
template <class Use>
void with_reduction(const Inputs& inputs, Use&& use) {
    with_element(inputs.type, [&]<class Element>() {
        const auto with_op = [&]<rondoRedOp_t Op>() {
            using Reduction = std::conditional_t<Element::kFloating, std::type_identity<FloatReduction<Element, Op>>,
                                                 std::type_identity<IntReduction<Element, Op>>>;
            use(typename Reduction::type(inputs));
        };
        switch (inputs.op) {
            case rondoSum: with_op.template operator()<rondoSum>(); return;
            case rondoProd: with_op.template operator()<rondoProd>(); return;
            case rondoMax: with_op.template operator()<rondoMax>(); return;
            case rondoMin: with_op.template operator()<rondoMin>(); return;
            case rondoAvg: with_op.template operator()<rondoAvg>(); return;
        }
    });
}

template <class Generator>
void write_inputs(const Generator& generator, std::uint64_t key, int rank, std::size_t first, std::size_t count,
                  std::byte* out) {
    using Bits = typename Generator::Bits;
    for (std::size_t i = 0; i < count; ++i) {
        const Bits bits = generator.input(rank, hash_of(key, first + i), first + i);
        std::memcpy(out + i * sizeof(Bits), &bits, sizeof(Bits));
    }
}

template <class Element>
typename Element::Bits load(const std::byte* data, std::size_t index) noexcept {
    typename Element::Bits bits;
    std::memcpy(&bits, data + index * sizeof(bits), sizeof(bits));
    return bits;
}

template <class Element>
bool close_enough(typename Element::Bits expected, typename Element::Bits actual, int tolerance) noexcept {
    if (expected == actual) return true;
    if constexpr (Element::kFloating) {
        const auto a = Element::ordered(expected);
        const auto b = Element::ordered(actual);
        return static_cast<std::uint64_t>(std::max(a, b) - std::min(a, b)) <= static_cast<std::uint64_t>(tolerance);
    }
    return false;
}

}  // namespace

void fill(const Inputs& inputs, int rank, std::size_t first, std::size_t count, std::byte* out) {
    const std::uint64_t key = key_of(inputs, rank);
    if (!inputs.reduces) {
        with_element(inputs.type,
                     [&]<class Element>() { write_inputs(Raw<Element>(inputs), key, rank, first, count, out); });
        return;
    }
    with_reduction(inputs, [&](const auto& generator) { write_inputs(generator, key, rank, first, count, out); });
}

void fill_reduced(const Inputs& inputs, std::size_t first, std::size_t count, std::byte* out) {
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(inputs.nranks));
    for (int rank = 0; rank < inputs.nranks; ++rank) keys[static_cast<std::size_t>(rank)] = key_of(inputs, rank);
    with_reduction(inputs, [&](const auto& generator) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t element = first + i;
            const auto bits = generator.reduce([&](int rank) {
                return generator.input(rank, hash_of(keys[static_cast<std::size_t>(rank)], element), element);
            });
            std::memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
        }
    });
}

int tolerance_of(const Inputs& inputs) noexcept {
    const bool rounds = inputs.reduces && inputs.op == rondoAvg &&
                        with_element(inputs.type, []<class Element>() { return Element::kFloating; });
    return rounds && !std::has_single_bit(static_cast<unsigned>(inputs.nranks)) ? 1 : 0;
}

Comparison compare(rondoDataType_t type, int tolerance, const std::byte* expected, const std::byte* actual,
                   std::size_t count) {
    Comparison result;
    with_element(type, [&]<class Element>() {
        constexpr std::size_t kSize = sizeof(typename Element::Bits);
        constexpr std::size_t kTile = 4096 / kSize;
        for (std::size_t begin = 0; begin < count; begin += kTile) {
            const std::size_t end = std::min(begin + kTile, count);
            if (std::memcmp(expected + begin * kSize, actual + begin * kSize, (end - begin) * kSize) == 0) continue;
            for (std::size_t i = begin; i < end; ++i) {
                const auto want = load<Element>(expected, i);
                const auto got = load<Element>(actual, i);
                if (close_enough<Element>(want, got, tolerance)) continue;
                if (result.wrong++ == 0) {
                    result.first = i;
                    result.expected = want;
                    result.actual = got;
                }
            }
        }
    });
    return result;
}

Comparison compare_with_input(const Inputs& inputs, int rank, std::size_t first, std::size_t count,
                              const std::byte* actual) {
    alignas(64) std::array<std::byte, 16384> tile;
    const std::size_t size = info_of(inputs.type).size;
    const std::size_t step = tile.size() / size;
    Comparison result;
    for (std::size_t begin = 0; begin < count; begin += step) {
        const std::size_t length = std::min(step, count - begin);
        fill(inputs, rank, first + begin, length, tile.data());
        Comparison part = compare(inputs.type, 0, tile.data(), actual + begin * size, length);
        if (part.wrong == 0) continue;
        part.first += begin;
        part.wrong += result.wrong;
        if (result.wrong == 0) {
            result = part;
        } else {
            result.wrong = part.wrong;
        }
    }
    return result;
}

std::uint64_t bytes_unlike(std::byte value, const std::byte* actual, std::size_t bytes) noexcept {
    return static_cast<std::uint64_t>(std::count_if(actual, actual + bytes, [=](std::byte b) { return b != value; }));
}

void flip_bit(rondoDataType_t type, std::byte* data, std::size_t index) {
    with_element(type, [&]<class Element>() {
        using Bits = typename Element::Bits;
        // The top exponent bit: in floats a factor of at least 2^8, or 2 in place of 0.
        const auto bits = static_cast<Bits>(load<Element>(data, index) ^ (Bits{1} << (sizeof(Bits) * 8 - 2)));
        std::memcpy(data + index * sizeof(Bits), &bits, sizeof(Bits));
    });
}

std::string text_of(rondoDataType_t type, std::uint64_t bits) {
    return with_element(type, [&]<class Element>() {
        const auto narrow = static_cast<typename Element::Bits>(bits);
        if constexpr (Element::kFloating) {
            return fmt::format("{:.9g} (0x{:x})", Element::decode(narrow), narrow);
        } else {
            using Wide = std::conditional_t<std::is_signed_v<typename Element::Value>, std::int64_t, std::uint64_t>;
            const Wide value{static_cast<typename Element::Value>(narrow)};
            return fmt::format("{} (0x{:x})", value, narrow);
        }
    });
}

}  // namespace rondo::perf
