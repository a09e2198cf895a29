// Properties of the range function over random extents and cuts: parts cover their tile, tiles their channel's share
// and shares the extent, each element once and in order; both ends of a message agree; tails stay parallel.

#include "plan/range.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rondo::plan {
namespace {

struct Sample {
    std::int64_t extent = 0;
    Cut cut{};
};

std::vector<Sample> samples() {
    std::vector<Sample> all;
    std::mt19937 random(20240607);
    const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
    for (int i = 0; i < 4000; ++i) {
        Sample sample;
        sample.cut.align = static_cast<std::int32_t>(1 + below(4));
        sample.cut.chunk = sample.cut.align * (1 + below(6));
        sample.cut.parts = static_cast<std::int32_t>(1 + below(9));
        sample.cut.channels = static_cast<std::int32_t>(1 + below(4));
        sample.extent = i % 3 == 0 ? below(12) : below(600);
        all.push_back(sample);
    }
    return all;
}

std::string text(const Sample& sample) {
    return "extent " + std::to_string(sample.extent) + " chunk " + std::to_string(sample.cut.chunk) + " parts " +
           std::to_string(sample.cut.parts) + " channels " + std::to_string(sample.cut.channels) + " align " +
           std::to_string(sample.cut.align);
}

TEST(Range, CoversEveryElementOnceAndInOrder) {
    for (const Sample& sample : samples()) {
        SCOPED_TRACE(text(sample));
        std::int64_t next = 0;
        for (std::int32_t channel = 0; channel < sample.cut.channels; ++channel) {
            EXPECT_EQ(channel_share(sample.extent, sample.cut, channel).begin, next);
            const std::int64_t tiles = tile_count(sample.extent, sample.cut, channel);
            for (std::int64_t tile = 0; tile < tiles; ++tile) {
                for (std::int32_t part = 0; part < sample.cut.parts; ++part) {
                    const Range got = range(sample.extent, sample.cut, channel, tile, part, 1);
                    ASSERT_EQ(got.begin, next);
                    ASSERT_GE(got.size(), 0);
                    next = got.end;
                }
            }
            EXPECT_EQ(channel_share(sample.extent, sample.cut, channel).end, next);
        }
        EXPECT_EQ(next, sample.extent);
    }
}

TEST(Range, IsEmptyBeyondTheLastTileOnly) {
    for (const Sample& sample : samples()) {
        SCOPED_TRACE(text(sample));
        for (std::int32_t channel = 0; channel < sample.cut.channels; ++channel) {
            const std::int64_t tiles = tile_count(sample.extent, sample.cut, channel);
            for (std::int64_t tile = 0; tile < tiles + 3; ++tile) {
                // Part 0 is the longest, so where it is empty all parts are; after an empty part come empty parts only.
                EXPECT_EQ(range(sample.extent, sample.cut, channel, tile, 0, 1).empty(), tile >= tiles);
                std::int64_t before = range(sample.extent, sample.cut, channel, tile, 0, 1).size();
                for (std::int32_t part = 1; part < sample.cut.parts; ++part) {
                    const std::int64_t size = range(sample.extent, sample.cut, channel, tile, part, 1).size();
                    EXPECT_LE(size, before);
                    before = size;
                }
            }
        }
    }
}

// One end may send a span in one message and the other take it apart, or the other way round: same elements, and piece
// k of the message is where `k times the longest part` says.
TEST(Range, AgreesBetweenSpansAndTheirParts) {
    for (const Sample& sample : samples()) {
        SCOPED_TRACE(text(sample));
        for (std::int64_t tile = 0; tile < tile_count(sample.extent, sample.cut, 0); ++tile) {
            const std::int64_t longest = range(sample.extent, sample.cut, 0, tile, 0, 1).size();
            for (std::int32_t first = 0; first < sample.cut.parts; ++first) {
                for (std::int32_t width = 1; first + width <= sample.cut.parts; ++width) {
                    const Range span = range(sample.extent, sample.cut, 0, tile, first, width);
                    std::int64_t length = 0;
                    for (std::int32_t k = 0; k < width; ++k) {
                        const Range part = range(sample.extent, sample.cut, 0, tile, first + k, 1);
                        if (!part.empty()) {
                            ASSERT_EQ(part.begin - span.begin, k * longest);
                        }
                        length += part.size();
                    }
                    ASSERT_EQ(span.size(), length);
                    ASSERT_LE(length, width * longest);
                }
            }
        }
    }
}

TEST(Range, KeepsPartsWithinAChunkAndAligned) {
    for (const Sample& sample : samples()) {
        SCOPED_TRACE(text(sample));
        const std::int64_t full = sample.cut.chunk * sample.cut.parts;
        for (std::int32_t channel = 0; channel < sample.cut.channels; ++channel) {
            const Range share = channel_share(sample.extent, sample.cut, channel);
            for (std::int64_t tile = 0; tile < tile_count(sample.extent, sample.cut, channel); ++tile) {
                const bool whole = (tile + 1) * full <= share.size();
                for (std::int32_t part = 0; part < sample.cut.parts; ++part) {
                    const Range got = range(sample.extent, sample.cut, channel, tile, part, 1);
                    ASSERT_LE(got.size(), sample.cut.chunk);
                    if (whole) {
                        ASSERT_EQ(got.size(), sample.cut.chunk);
                    }
                    if (!got.empty()) {
                        ASSERT_EQ(got.begin % sample.cut.align, 0);
                    }
                    // Every part but the last non-empty one is as long as the first.
                    if (got.end < share.end && !got.empty()) {
                        ASSERT_EQ(got.size() % sample.cut.align, 0);
                    }
                }
            }
        }
    }
}

TEST(Range, SplitsATailOverAllParts) {
    for (const Sample& sample : samples()) {
        SCOPED_TRACE(text(sample));
        for (std::int32_t channel = 0; channel < sample.cut.channels; ++channel) {
            const std::int64_t tiles = tile_count(sample.extent, sample.cut, channel);
            if (tiles == 0) continue;
            const Range tail = range(sample.extent, sample.cut, channel, tiles - 1, 0, sample.cut.parts);
            // As long as there is one aligned unit for each, no part is more than one unit above the even share.
            const std::int64_t longest = range(sample.extent, sample.cut, channel, tiles - 1, 0, 1).size();
            EXPECT_LT(longest, ceil_div(tail.size(), sample.cut.parts) + sample.cut.align);
        }
    }
}

TEST(Range, SplitsEvenlyWhereItCan) {
    EXPECT_EQ(split(12, 4, 0, 1, 1), (Range{0, 3}));
    EXPECT_EQ(split(12, 4, 3, 1, 1), (Range{9, 12}));
    EXPECT_EQ(split(12, 4, 1, 2, 1), (Range{3, 9}));
    EXPECT_EQ(split(10, 4, 3, 1, 1), (Range{9, 10}));
    EXPECT_EQ(split(10, 4, 0, 1, 4), (Range{0, 4}));
    EXPECT_EQ(split(10, 4, 2, 1, 4), (Range{8, 10}));
    EXPECT_TRUE(split(10, 4, 3, 1, 4).empty());
    EXPECT_TRUE(split(0, 4, 0, 1, 1).empty());
}

TEST(Range, CountsInSixtyFourBits) {
    const std::int64_t extent = (std::int64_t{1} << 40) + 5;
    const Cut cut{.chunk = 1 << 20, .parts = 8192, .channels = 1, .align = 1};
    const std::int64_t tiles = tile_count(extent, cut, 0);
    EXPECT_EQ(tiles, 129);
    EXPECT_EQ(range(extent, cut, 0, 128, 4, 1), (Range{extent - 1, extent}));
    EXPECT_TRUE(range(extent, cut, 0, 128, 5, 1).empty());
}

}  // namespace
}  // namespace rondo::plan
