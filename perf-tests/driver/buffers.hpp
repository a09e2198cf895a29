#pragma once
// Memory of one rank: slots of equal size, each between guard bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace rondo::perf {

inline constexpr std::size_t kGuardBytes = 64;
inline constexpr std::byte kGuard{0xA5};
/// What an output buffer holds before a checked run.
inline constexpr std::byte kPoison{0x5A};

/// How one buffer of a row is repeated in memory: slot s has its data at offset(s) and guards on both sides.
struct SlotLayout {
    std::size_t bytes = 0;         ///< of data
    std::size_t misalignment = 0;  ///< data begins that far behind a multiple of 64
    std::size_t slots = 1;

    [[nodiscard]] constexpr std::size_t stride() const noexcept {
        return (kGuardBytes + misalignment + bytes + kGuardBytes + 63) / 64 * 64;
    }
    [[nodiscard]] constexpr std::size_t offset(std::size_t slot) const noexcept {
        return slot * stride() + kGuardBytes + misalignment;
    }
    [[nodiscard]] constexpr std::size_t total() const noexcept { return slots * stride(); }
};

/// Page-aligned memory. The constructor writes every page, so that no page fault is timed and the pages belong to the
/// node of the thread that makes, and then uses, the arena.
class Arena {
public:
    Arena() = default;
    /// Throws std::bad_alloc.
    explicit Arena(std::size_t bytes);

    void lay_out(const SlotLayout& layout) noexcept { layout_ = layout; }
    [[nodiscard]] const SlotLayout& layout() const noexcept { return layout_; }
    [[nodiscard]] std::byte* slot(std::size_t index) const noexcept { return memory_.get() + layout_.offset(index); }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Fills the 64 bytes before and behind the slot's data.
    void write_guards(std::size_t index) const noexcept;
    /// Number of guard bytes of the slot that are no longer what write_guards wrote.
    [[nodiscard]] std::uint64_t broken_guards(std::size_t index) const noexcept;

private:
    struct Free {
        void operator()(std::byte* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t capacity_ = 0;
    SlotLayout layout_{};
};

}  // namespace rondo::perf
