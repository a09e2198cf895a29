#pragma once
// Where plans get their FIFOs from.

#include <cstddef>

#include "base/types.hpp"
#include "transport/memory/fifo.hpp"

namespace rondo::transport {

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
};

}  // namespace rondo::transport
