// Every type and operation on every instruction set, over numbers of operands, lengths, alignments and sharing.

#include "reduce/reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference.hpp"

namespace rondo::reduce::test {
namespace {

constexpr std::size_t kMaxCount = 4097;
constexpr std::array<std::size_t, 16> kCounts{0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 1000, kMaxCount};
constexpr std::array<int, 7> kSources{1, 2, 3, 4, 5, 8, 9};
constexpr std::array<int, 4> kDestinations{1, 2, 3, 8};
constexpr std::size_t kGuard = 128;
constexpr std::uint32_t kDivisor = 7;
constexpr std::byte kGuardByte{0xa7};

/// A 64-byte aligned buffer with room for an offset and guards around the operand in it.
class Buffer {
public:
    Buffer() : storage_(64 + kGuard + 64 + kMaxCount * 8 + kGuard) {
        base_ = storage_.data() + (64 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 64);
    }

    /// Places an operand of `bytes` bytes at `offset` (< 64) and refreshes its guards.
    std::byte* place(std::size_t offset, std::size_t bytes) {
        bytes_ = bytes;
        at_ = base_ + kGuard + offset;
        std::memset(at_ - kGuard, static_cast<int>(kGuardByte), kGuard);
        std::memset(at_ + bytes, static_cast<int>(kGuardByte), kGuard);
        return at_;
    }

    [[nodiscard]] bool guards_intact() const {
        const auto is_guard = [](std::byte b) { return b == kGuardByte; };
        return std::all_of(at_ - kGuard, at_, is_guard) && std::all_of(at_ + bytes_, at_ + bytes_ + kGuard, is_guard);
    }

private:
    std::vector<std::byte> storage_;
    std::byte* base_ = nullptr;
    std::byte* at_ = nullptr;
    std::size_t bytes_ = 0;
};

enum class Alignment { Full, Elements, OddBytes };
enum class Sharing {
    None,
    FirstWithFirst,  ///< dst[0] is src[0]
    LastWithLast,    ///< the last dst is the last src
    AllPairs,        ///< dst[i] is src[i]
    OneForAll,       ///< all destinations are one range
    SameSources,     ///< all sources are one range
};

std::size_t offset_of(Alignment alignment, std::size_t operand, std::size_t size) {
    switch (alignment) {
        case Alignment::Full: return 0;
        case Alignment::Elements: return ((operand + 1) * 3 * size) % 64;
        case Alignment::OddBytes: return (operand * 6 + 1) % 64;
    }
    return 0;
}

struct Shape {
    DataType type;
    ReduceOp op;
    int nsrc;
    int ndst;
};

/// Inputs and expected results of one type, kept over all the shapes that use them.
class Inputs {
public:
    explicit Inputs(DataType type) : type_(type) {
        for (std::uint64_t s = 0; s < 9; ++s) {
            sources_.emplace_back(kMaxCount * size_of(type));
            fill_inputs(type, s, sources_.back().data(), kMaxCount);
        }
    }

    [[nodiscard]] const std::byte* source(int index) const { return sources_[static_cast<std::size_t>(index)].data(); }

    /// The kMaxCount expected elements; `same` where all sources are source 0.
    const std::vector<std::byte>& result(ReduceOp op, int nsrc, bool same) {
        std::vector<std::byte>& kept = results_[{op, nsrc, same}];
        if (kept.empty()) {
            std::vector<const std::byte*> from;
            for (int s = 0; s < nsrc; ++s) from.push_back(source(same ? 0 : s));
            kept = expected(type_, op, from, kMaxCount, kDivisor, true);
        }
        return kept;
    }

private:
    struct Key {
        ReduceOp op;
        int nsrc;
        bool same;
        auto operator<=>(const Key&) const = default;
    };
    DataType type_;
    std::vector<std::vector<std::byte>> sources_;
    std::map<Key, std::vector<std::byte>> results_;
};

/// Operands of one call, laid out and shared as asked.
class Operands {
public:
    void lay_out(const Shape& shape, const Inputs& inputs, std::size_t count, Alignment alignment, Sharing sharing) {
        const std::size_t size = size_of(shape.type);
        bytes_ = count * size;
        placed_.clear();
        for (std::size_t s = 0; s < static_cast<std::size_t>(shape.nsrc); ++s) {
            placed_.push_back(sources_[s].place(offset_of(alignment, s, size), bytes_));
            std::memcpy(placed_[s], inputs.source(static_cast<int>(s)), bytes_);
        }
        src_.assign(placed_.begin(), placed_.end());
        dst_.clear();
        for (std::size_t d = 0; d < static_cast<std::size_t>(shape.ndst); ++d) {
            std::byte* const at = destinations_[d].place(offset_of(alignment, d + 5, size), bytes_);
            std::memset(at, 0x5d, bytes_);
            dst_.push_back(at);
        }
        share(sharing);
    }

    [[nodiscard]] ReduceCopy call(std::size_t count, bool stream) const {
        return {.dst = dst_.data(),
                .ndst = static_cast<int>(dst_.size()),
                .src = src_.data(),
                .nsrc = static_cast<int>(src_.size()),
                .count = count,
                .divisor = kDivisor,
                .post = true,
                .stream = stream};
    }

    [[nodiscard]] const std::byte* destination(std::size_t d) const { return static_cast<const std::byte*>(dst_[d]); }
    [[nodiscard]] std::size_t destinations() const { return dst_.size(); }

    [[nodiscard]] bool guards_intact() const {
        bool intact = true;
        for (std::size_t s = 0; s < src_.size(); ++s) intact = intact && sources_[s].guards_intact();
        for (std::size_t d = 0; d < dst_.size(); ++d) intact = intact && destinations_[d].guards_intact();
        return intact;
    }

    /// Sources that are no destination still hold their inputs.
    [[nodiscard]] bool sources_intact(const Inputs& inputs) const {
        for (std::size_t s = 0; s < placed_.size(); ++s) {
            if (std::find(dst_.begin(), dst_.end(), placed_[s]) != dst_.end()) continue;
            if (std::memcmp(placed_[s], inputs.source(static_cast<int>(s)), bytes_) != 0) return false;
        }
        return true;
    }

private:
    void share(Sharing sharing) {
        switch (sharing) {
            case Sharing::None: break;
            case Sharing::FirstWithFirst: dst_.front() = placed_.front(); break;
            case Sharing::LastWithLast: dst_.back() = placed_.back(); break;
            case Sharing::AllPairs:
                std::copy_n(placed_.begin(), std::min(placed_.size(), dst_.size()), dst_.begin());
                break;
            case Sharing::OneForAll: std::fill(dst_.begin(), dst_.end(), dst_[0]); break;
            case Sharing::SameSources: std::fill(src_.begin(), src_.end(), src_[0]); break;
        }
    }

    std::array<Buffer, 9> sources_;
    std::array<Buffer, 8> destinations_;
    std::vector<std::byte*> placed_;  ///< sources before sharing
    std::vector<const void*> src_;
    std::vector<void*> dst_;
    std::size_t bytes_ = 0;
};

class EveryType : public testing::TestWithParam<DataType> {
protected:
    EveryType() : inputs_(GetParam()) {}

    void check(const Shape& shape, std::size_t count, Alignment alignment, Sharing sharing, bool stream) {
        const std::vector<std::byte>& want = inputs_.result(shape.op, shape.nsrc, sharing == Sharing::SameSources);
        operands_.lay_out(shape, inputs_, count, alignment, sharing);
        kernel_for(shape.type, shape.op)(operands_.call(count, stream));
        const auto where = [&] {
            return describe(shape.type, shape.op) + " nsrc " + std::to_string(shape.nsrc) + " ndst " +
                   std::to_string(shape.ndst) + " count " + std::to_string(count) + " alignment " +
                   std::to_string(static_cast<int>(alignment)) + " sharing " +
                   std::to_string(static_cast<int>(sharing)) + (stream ? " stream" : "");
        };
        for (std::size_t d = 0; d < operands_.destinations(); ++d) {
            const std::byte* const got = operands_.destination(d);
            ASSERT_EQ(first_difference(got, want.data(), count, size_of(shape.type)), count) << where() << " dst " << d;
        }
        ASSERT_TRUE(operands_.guards_intact()) << where();
        ASSERT_TRUE(operands_.sources_intact(inputs_)) << where();
    }

    Inputs inputs_;
    Operands operands_;
};

void for_each_shape(DataType type, const std::function<void(const Shape&)>& visit) {
    for (const std::int64_t target : usable_targets()) {
        const ForcedTarget forced(target);
        for (const ReduceOp op : kAllReduceOps) {
            for (const int nsrc : kSources) {
                for (const int ndst : kDestinations) {
                    visit({type, op, nsrc, ndst});
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST_P(EveryType, GivesTheExpectedBits) {
    for_each_shape(GetParam(), [this](const Shape& shape) {
        for (const std::size_t count : kCounts) {
            for (const Alignment alignment : {Alignment::Full, Alignment::Elements, Alignment::OddBytes}) {
                for (const bool stream : {false, true}) check(shape, count, alignment, Sharing::None, stream);
            }
        }
    });
}

TEST_P(EveryType, WorksInPlace) {
    for_each_shape(GetParam(), [this](const Shape& shape) {
        for (const std::size_t count : {1u, 7u, 65u, 1000u}) {
            for (const Sharing sharing : {Sharing::FirstWithFirst, Sharing::LastWithLast, Sharing::AllPairs,
                                          Sharing::OneForAll, Sharing::SameSources}) {
                for (const bool stream : {false, true}) {
                    check(shape, count, stream ? Alignment::Elements : Alignment::OddBytes, sharing, stream);
                }
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Reduce, EveryType, testing::ValuesIn(kAllDataTypes),
                         [](const auto& p) { return std::string(name_of(p.param)); });

/// Far more operands than any specialisation: 200 sources into 70 destinations.
TEST(Reduce, TakesAnyNumberOfOperands) {
    constexpr std::size_t kCount = 777;
    constexpr int kMany = 200;
    std::vector<std::vector<std::int32_t>> sources(kMany, std::vector<std::int32_t>(kCount));
    std::vector<std::vector<std::int32_t>> destinations(70, std::vector<std::int32_t>(kCount));
    std::vector<const void*> src;
    std::vector<void*> dst;
    for (std::size_t s = 0; s < kMany; ++s) {
        for (std::size_t i = 0; i < kCount; ++i) sources[s][i] = static_cast<std::int32_t>(i * 1000 + s);
        src.push_back(sources[s].data());
    }
    for (auto& destination : destinations) dst.push_back(destination.data());
    kernel_for(DataType::Int32,
               ReduceOp::Sum)({.dst = dst.data(), .ndst = 70, .src = src.data(), .nsrc = kMany, .count = kCount});
    for (const auto& destination : destinations) {
        for (std::size_t i = 0; i < kCount; ++i) {
            ASSERT_EQ(destination[i], static_cast<std::int32_t>(i * 1000 * kMany + kMany * (kMany - 1) / 2));
        }
    }
}

TEST(Reduce, CopiesBytes) {
    Buffer from;
    std::array<Buffer, 3> to;
    for (const std::size_t bytes : {0u, 1u, 5u, 63u, 64u, 255u, 256u, 257u, 4099u, 20001u}) {
        for (const int ndst : {1, 2, 3}) {
            for (const bool stream : {false, true}) {
                std::byte* const src = from.place(3, bytes);
                fill_inputs(DataType::Uint8, bytes, src, bytes);
                std::array<void*, 3> dst{};
                for (std::size_t d = 0; d < 3; ++d) dst[d] = to[d].place(d * 11, bytes);
                copy(dst.data(), ndst, src, bytes, stream);
                for (std::size_t d = 0; d < static_cast<std::size_t>(ndst); ++d) {
                    ASSERT_EQ(std::memcmp(dst[d], src, bytes), 0) << bytes << " to " << d << " of " << ndst;
                    ASSERT_TRUE(to[d].guards_intact());
                }
                ASSERT_TRUE(from.guards_intact());
            }
        }
    }
}

TEST(Reduce, HasAKernelForEveryTypeAndOperation) {
    for (const DataType type : kAllDataTypes) {
        for (const ReduceOp op : kAllReduceOps) EXPECT_NE(kernel_for(type, op), nullptr) << describe(type, op);
    }
}

}  // namespace
}  // namespace rondo::reduce::test
