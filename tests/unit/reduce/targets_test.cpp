// Instruction sets: they can be chosen, and they agree on every bit.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "reduce/reduce.hpp"
#include "reference.hpp"

namespace rondo::reduce::test {
namespace {

TEST(Targets, EachUsableOneIsReallyChosen) {
    std::set<std::string> names;
    std::set<Kernel> kernels;
    for (const std::int64_t target : usable_targets()) {
        const ForcedTarget forced(target);
        names.insert(target_name());
        kernels.insert(kernel_for(DataType::Float32, ReduceOp::Sum));
        if (target != 0) {
            EXPECT_STREQ(target_name(), hwy::TargetName(target));
        }
    }
    EXPECT_EQ(names.size(), usable_targets().size());
    EXPECT_EQ(kernels.size(), usable_targets().size());
}

/// Any bit patterns at all, every pair of 16-bit values among them often: the bits are those of portable code.
TEST(Targets, AgreeOnArbitraryBits) {
    constexpr std::size_t kBytes = 1 << 16;
    constexpr std::size_t kOperands = 4;
    std::array<std::vector<std::byte>, kOperands> inputs;
    std::array<const void*, kOperands> src{};
    for (std::size_t s = 0; s < kOperands; ++s) {
        inputs[s].resize(kBytes);
        src[s] = inputs[s].data();
    }
    for (std::uint64_t round = 0; round < 8; ++round) {
        for (std::size_t s = 0; s < kOperands; ++s) {
            for (std::size_t i = 0; i < kBytes; i += 8) {
                const std::uint64_t bits = mix(round << 40 | s << 32 | i);
                std::memcpy(inputs[s].data() + i, &bits, 8);
            }
        }
        for (const DataType type : kAllDataTypes) {
            for (const ReduceOp op : kAllReduceOps) {
                std::vector<std::byte> first;
                for (const std::int64_t target : usable_targets()) {
                    const ForcedTarget forced(target);
                    std::vector<std::byte> out(kBytes);
                    void* dst = out.data();
                    kernel_for(type, op)({.dst = &dst,
                                          .ndst = 1,
                                          .src = src.data(),
                                          .nsrc = 1 + static_cast<int>(round % kOperands),
                                          .count = kBytes / size_of(type),
                                          .divisor = static_cast<std::uint32_t>(2 + 1000 * round),
                                          .post = true});
                    if (first.empty()) first = out;
                    const std::size_t count = kBytes / size_of(type);
                    ASSERT_EQ(first_difference(out.data(), first.data(), count, size_of(type)), count)
                        << describe(type, op) << " round " << round;
                }
            }
        }
    }
}

/// All 65,536 values through float32 and back by a sum with -0, which changes no number.
TEST(Targets, NarrowTypesSurviveTheAccumulator) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    const std::vector<std::uint16_t> zeros(all.size(), 0x8000);
    const std::array<const void*, 2> src{all.data(), zeros.data()};
    for (const std::int64_t target : usable_targets()) {
        const ForcedTarget forced(target);
        for (const auto& [type, infinity, nan] :
             {std::tuple{DataType::Float16, 0x7c00, 0x7e00}, std::tuple{DataType::Bfloat16, 0x7f80, 0x7fc0}}) {
            std::vector<std::uint16_t> out(all.size());
            void* dst = out.data();
            kernel_for(type,
                       ReduceOp::Sum)({.dst = &dst, .ndst = 1, .src = src.data(), .nsrc = 2, .count = all.size()});
            for (std::size_t i = 0; i < all.size(); ++i) {
                const bool is_nan = (all[i] & 0x7fff) > infinity;
                ASSERT_EQ(out[i], is_nan ? nan : all[i]) << describe(type, ReduceOp::Sum);
            }
        }
    }
}

}  // namespace
}  // namespace rondo::reduce::test
