#pragma once
// A hash table from 64-bit keys to 32-bit numbers, open addressing with linear probing, no removal. Several entries may
// share a key: the caller decides which one it meant (hash-consing compares the full objects).

#include <bit>
#include <cstdint>
#include <vector>

namespace rondo::plan::detail {

class FlatIndex {
public:
    /// The number stored under `key` for which `same(number)` holds; otherwise stores `fresh()` and returns it.
    template <class Same, class Fresh>
    std::uint32_t find_or_add(std::uint64_t key, Same same, Fresh fresh) {
        if ((used_ + 1) * 4 > entries_.size() * 3) grow();
        std::size_t at = slot(key);
        while (entries_[at].number != kFree) {
            if (entries_[at].key == key && same(entries_[at].number)) return entries_[at].number;
            at = (at + 1) & (entries_.size() - 1);
        }
        const std::uint32_t number = fresh();
        entries_[at] = {key, number};
        ++used_;
        return number;
    }

private:
    struct Entry {
        std::uint64_t key = 0;
        std::uint32_t number = kFree;
    };
    static constexpr std::uint32_t kFree = 0xffffffffU;

    [[nodiscard]] std::size_t slot(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> (64 - std::bit_width(entries_.size() - 1)));
    }

    void grow() {
        std::vector<Entry> old(entries_.empty() ? 64 : entries_.size() * 2);
        old.swap(entries_);
        for (const Entry& entry : old) {
            if (entry.number == kFree) continue;
            std::size_t at = slot(entry.key);
            while (entries_[at].number != kFree) at = (at + 1) & (entries_.size() - 1);
            entries_[at] = entry;
        }
    }

    std::vector<Entry> entries_;
    std::size_t used_ = 0;
};

}  // namespace rondo::plan::detail
