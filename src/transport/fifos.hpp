#pragma once
// Where plans get their FIFOs and windows from.

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "transport/memory/fifo.hpp"

namespace rondo::transport {

/// Of each rank, by the size of the FIFOs.
constexpr std::size_t window_bytes(std::uint32_t slots, std::size_t slot_bytes) noexcept {
    return 4 * slots * slot_bytes;
}

class FifoSource {
public:
    FifoSource() = default;
    FifoSource(const FifoSource&) = delete;
    FifoSource& operator=(const FifoSource&) = delete;
    virtual ~FifoSource() = default;

    /// The FIFO with this identity, made at its first mention. For binding plans, not for running them.
    /// `long_messages`: its slots are needed too. Errors: SystemError where memory is short.
    virtual memory::Fifo& fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) = 0;

    /// Bytes of a slot.
    [[nodiscard]] virtual std::size_t slot_bytes() const noexcept = 0;

    /// The memory of `rank` that all ranks can address, window_bytes() of it, made at its first mention; nullptr where
    /// this rank cannot address it. For binding plans. Errors: SystemError where memory is short.
    virtual std::byte* window(Rank) { return nullptr; }

    [[nodiscard]] virtual std::size_t window_bytes() const noexcept { return 0; }
};

}  // namespace rondo::transport
