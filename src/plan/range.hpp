#pragma once
// The one source of offsets and lengths. Executors, verifier, cost model and simulator call these functions and
// nothing else, so that both ends of a message agree on its length without exchanging it.

#include <algorithm>
#include <cstdint>

namespace rondo::plan {

/// Half-open range of elements [begin, end).
struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    [[nodiscard]] constexpr std::int64_t size() const noexcept { return end - begin; }
    [[nodiscard]] constexpr bool empty() const noexcept { return end <= begin; }
    constexpr bool operator==(const Range&) const = default;
};

/// `value / unit` rounded up; both non-negative, unit > 0.
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t unit) noexcept {
    return value / unit + (value % unit != 0 ? 1 : 0);
}

/// Part `index` of `extent` elements cut into `parts` equal parts whose length is a multiple of `align` (the last
/// non-empty part takes what is left; later ones are empty). Spans `width` neighbouring parts.
constexpr Range split(std::int64_t extent, std::int64_t parts, std::int64_t index, std::int64_t width,
                      std::int64_t align) noexcept {
    if (parts == 1) return index == 0 ? Range{0, extent} : Range{extent, extent};  // no division for the common case
    const std::int64_t each = ceil_div(ceil_div(extent, parts), align) * align;
    const std::int64_t begin = std::min(index * each, extent);
    return {begin, std::min(begin + width * each, extent)};
}

/// How an extent is cut: over channels first, each channel's share into tiles of `parts` x `chunk` elements, each
/// tile into `parts` parts. The last tile is split again over all parts, so that the tail stays parallel.
struct Cut {
    std::int64_t chunk = 1;  ///< elements of a part of a full tile; > 0 and a multiple of align
    std::int32_t parts = 1;
    std::int32_t channels = 1;
    std::int32_t align = 1;  ///< elements
};

/// The share of channel `channel` of an extent.
constexpr Range channel_share(std::int64_t extent, const Cut& cut, std::int32_t channel) noexcept {
    return cut.channels == 1 ? Range{0, extent} : split(extent, cut.channels, channel, 1, cut.align);
}

/// Number of tiles that a channel needs for its share of `extent`.
constexpr std::int64_t tile_count(std::int64_t extent, const Cut& cut, std::int32_t channel) noexcept {
    const std::int64_t share = channel_share(extent, cut, channel).size();
    const std::int64_t full = cut.chunk * cut.parts;
    if (share <= full) return share > 0 ? 1 : 0;
    return ceil_div(share, full);
}

/// Elements of the extent that `width` parts from `part` on hold in tile `tile` of channel `channel`. Empty beyond
/// the extent. Offsets count from the start of the extent.
constexpr Range range(std::int64_t extent, const Cut& cut, std::int32_t channel, std::int64_t tile, std::int64_t part,
                      std::int64_t width) noexcept {
    const Range share = channel_share(extent, cut, channel);
    const std::int64_t full = cut.chunk * cut.parts;
    const std::int64_t begin = std::min(share.begin + tile * full, share.end);
    const Range in_tile = split(std::min(full, share.end - begin), cut.parts, part, width, cut.align);
    return {begin + in_tile.begin, begin + in_tile.end};
}

}  // namespace rondo::plan
