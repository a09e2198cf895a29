#pragma once
// Vector clocks over the lanes of watched ranks (C. Fidge, "Timestamps in message-passing systems", 1988; the
// epoch comparison is that of C. Flanagan and S. Freund, "FastTrack", PLDI 2009).
//
// A thread is a lane, or the rank itself between its operations. Every thread has a clock, with one entry for each
// watched thread: the epoch of that thread that happened before. Watching fewer ranks projects all clocks onto their
// entries; order between watched accesses is found all the same, since clocks pass through unwatched threads unchanged.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rondo::plan::detail {

inline constexpr std::uint32_t kUnwatched = 0xffffffffU;

/// A moment of a watched thread.
struct Moment {
    std::uint32_t entry = kUnwatched;
    std::uint32_t epoch = 0;
};

class Clocks {
public:
    using Snapshot = std::uint32_t;
    static constexpr Snapshot kNone = 0xffffffffU;

    /// `entries`: the number of watched threads. entry_of[thread]: the thread's own entry, or kUnwatched.
    Clocks(std::vector<std::uint32_t> entry_of, std::size_t entries)
        : entry_of_(std::move(entry_of)), entries_(entries), clock_(entry_of_.size() * entries, 0) {
        for (std::uint32_t thread = 0; thread < entry_of_.size(); ++thread) tick(thread);
    }

    [[nodiscard]] bool watches(std::uint32_t thread) const { return entry_of_[thread] != kUnwatched; }
    [[nodiscard]] std::size_t entries() const { return entries_; }

    [[nodiscard]] Moment now(std::uint32_t thread) const {
        const std::uint32_t entry = entry_of_[thread];
        return entry == kUnwatched ? Moment{} : Moment{entry, at(thread)[entry]};
    }
    /// True if `moment` happened before what `thread` does now, or is the thread's own. True for moments of no thread.
    [[nodiscard]] bool ordered(Moment moment, std::uint32_t thread) const {
        return moment.entry == kUnwatched || at(thread)[moment.entry] >= moment.epoch;
    }

    /// What `thread` has done so far, for others to join. Ends the thread's epoch. Release each use with drop().
    Snapshot publish(std::uint32_t thread) {
        Snapshot snapshot = kNone;
        if (free_.empty()) {
            snapshot = static_cast<Snapshot>(uses_.size());
            uses_.push_back(0);
            from_.emplace_back();
            stored_.resize(stored_.size() + entries_);
        } else {
            snapshot = free_.back();
            free_.pop_back();
        }
        uses_[snapshot] = 1;
        from_[snapshot] = now(thread);
        std::copy_n(at(thread), entries_, stored_.data() + snapshot * entries_);
        tick(thread);
        return snapshot;
    }
    void share(Snapshot snapshot, std::uint32_t more) { uses_[snapshot] += more; }
    void drop(Snapshot snapshot) {
        if (--uses_[snapshot] == 0) free_.push_back(snapshot);
    }

    /// `thread` comes after the snapshot.
    void join(std::uint32_t thread, Snapshot snapshot) {
        // A clock that has the publisher's epoch has all that the publisher knew then.
        if (from_[snapshot].entry != kUnwatched && ordered(from_[snapshot], thread)) return;
        merge(at(thread), stored_.data() + snapshot * entries_);
    }
    /// `thread` comes after all that `other` did so far.
    void join_thread(std::uint32_t thread, std::uint32_t other) {
        merge(at(thread), at(other));
        tick(other);
    }

private:
    [[nodiscard]] std::uint32_t* at(std::uint32_t thread) { return clock_.data() + thread * entries_; }
    [[nodiscard]] const std::uint32_t* at(std::uint32_t thread) const { return clock_.data() + thread * entries_; }
    void tick(std::uint32_t thread) {
        if (entry_of_[thread] != kUnwatched) ++at(thread)[entry_of_[thread]];
    }
    void merge(std::uint32_t* into, const std::uint32_t* from) const {
        for (std::size_t i = 0; i < entries_; ++i) into[i] = std::max(into[i], from[i]);
    }

    std::vector<std::uint32_t> entry_of_;
    std::size_t entries_;
    std::vector<std::uint32_t> clock_;
    std::vector<std::uint32_t> uses_;
    std::vector<Moment> from_;
    std::vector<std::uint32_t> stored_;
    std::vector<Snapshot> free_;
};

}  // namespace rondo::plan::detail
