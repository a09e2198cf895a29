// No byte outside an operand is touched: operands that begin right after, or end right before, an inaccessible page.

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reduce/reduce.hpp"
#include "reference.hpp"

namespace rondo::reduce::test {
namespace {

/// Pages of memory between two inaccessible ones.
class FencedPages {
public:
    explicit FencedPages(std::size_t bytes)
        : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), inner_((bytes + page_ - 1) / page_ * page_) {
        base_ = mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        usable_ = base_ != MAP_FAILED && mprotect(begin(), inner_, PROT_READ | PROT_WRITE) == 0;
    }
    ~FencedPages() {
        if (base_ != MAP_FAILED) munmap(base_, inner_ + 2 * page_);
    }
    FencedPages(const FencedPages&) = delete;
    FencedPages& operator=(const FencedPages&) = delete;

    [[nodiscard]] bool usable() const { return usable_; }
    [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(base_) + page_; }
    /// An operand of `bytes` bytes against the first fence or the last.
    [[nodiscard]] std::byte* place(std::size_t bytes, bool at_end) const {
        return at_end ? begin() + inner_ - bytes : begin();
    }

private:
    std::size_t page_;
    std::size_t inner_;
    void* base_ = MAP_FAILED;
    bool usable_ = false;
};

constexpr std::size_t kMaxBytes = 3 * 4096;
constexpr int kMaxSources = 3;

class Fenced : public testing::TestWithParam<DataType> {
protected:
    void SetUp() override {
        for (const FencedPages& pages : pages_) ASSERT_TRUE(pages.usable()) << "cannot map fenced pages";
    }

    /// Bit i of `ends`: where operand i lies. Operands 0..2 are sources, 3..4 destinations.
    void check(ReduceOp op, int nsrc, int ndst, std::size_t count, unsigned ends, bool stream) {
        const DataType type = GetParam();
        const std::size_t bytes = count * size_of(type);
        std::array<const void*, 3> src{};
        std::array<void*, 2> dst{};
        std::vector<const std::byte*> from;
        for (std::size_t i = 0; i < 5; ++i) {
            std::byte* const at = pages_[i].place(bytes, (ends >> i & 1u) != 0);
            if (i < 3) {
                src[i] = at;
                fill_inputs(type, i, at, count);
                if (i < static_cast<std::size_t>(nsrc)) from.push_back(at);
            } else {
                dst[i - 3] = at;
            }
        }
        const std::vector<std::byte> want = expected(type, op, from, count, 3, true);
        kernel_for(type, op)({.dst = dst.data(),
                              .ndst = ndst,
                              .src = src.data(),
                              .nsrc = nsrc,
                              .count = count,
                              .divisor = 3,
                              .post = true,
                              .stream = stream});
        for (std::size_t d = 0; d < static_cast<std::size_t>(ndst); ++d) {
            const auto* got = static_cast<const std::byte*>(dst[d]);
            ASSERT_EQ(first_difference(got, want.data(), count, size_of(type)), count)
                << describe(type, op) << " nsrc " << nsrc << " ndst " << ndst << " count " << count << " ends " << ends;
        }
    }

    const std::array<FencedPages, 5> pages_{FencedPages(kMaxBytes), FencedPages(kMaxBytes), FencedPages(kMaxBytes),
                                            FencedPages(kMaxBytes), FencedPages(kMaxBytes)};
};

TEST_P(Fenced, TouchesNothingOutside) {
    for (const std::int64_t target : usable_targets()) {
        const ForcedTarget forced(target);
        for (const ReduceOp op : kAllReduceOps) {
            for (std::size_t count = 0; count <= 150; ++count) {
                for (const unsigned ends : {0b00000u, 0b11111u, 0b01001u, 0b10110u}) {
                    const int nsrc = 1 + static_cast<int>(count) % kMaxSources;
                    check(op, nsrc, 1 + static_cast<int>(count) % 2, count, ends, count % 4 < 2);
                }
            }
            for (const unsigned ends : {0b00000u, 0b11111u, 0b01001u}) {
                for (const bool stream : {false, true}) check(op, 2, 2, kMaxBytes / 8 - 1, ends, stream);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Reduce, Fenced, testing::ValuesIn(kAllDataTypes),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace rondo::reduce::test
