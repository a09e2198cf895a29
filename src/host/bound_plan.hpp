#pragma once
// A plan bound to the memory of its communicator: FIFOs, windows and counters looked up once, blocks sorted by when
// they run. Made when a plan enters the cache; running it looks nothing up and allocates nothing.

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "plan/range.hpp"
#include "transport/fifos.hpp"

namespace rondo::host {

struct BoundOperand {
    plan::Operand op;
    transport::memory::Fifo* const* fifos = nullptr;  ///< by peer rank; Inbox and Outbox only
};

/// One end of a FIFO, and the rank at the other.
struct Port {
    transport::memory::Fifo* fifo = nullptr;
    Rank peer = 0;
};

/// The FIFO ends of a step that one thing is done to, looked up for every repetition s.
class Ports {
public:
    [[nodiscard]] std::span<const Port> at(std::int32_t s) const noexcept {
        return {all_.data() + static_cast<std::size_t>(s) * stride_, each_};
    }
    void set(std::vector<Port> all, std::int32_t repeat, bool constant) {
        all_ = std::move(all);
        each_ = constant ? all_.size() : all_.size() / static_cast<std::size_t>(repeat);
        stride_ = constant ? 0 : each_;
    }

private:
    std::vector<Port> all_;
    std::size_t each_ = 0;
    std::size_t stride_ = 0;  // 0: the same in every repetition
};

struct BoundStep {
    plan::Kind kind = plan::Kind::Move;
    bool post = false;
    bool reads_peer = false;  ///< a source is a peer's user buffer
    Ports awaited{};          ///< receiving ends whose next message the step needs
    Ports granted{};          ///< sending ends that the step needs room in
    Ports posted{};           ///< sending ends whose message is whole after the step
    Ports released{};         ///< receiving ends whose message the step is the last to read
    std::int32_t rows = 1;
    std::int32_t width = 1;
    plan::Index part{};
    std::vector<BoundOperand> dsts{};
    std::vector<BoundOperand> srcs{};
    const BoundOperand* sizing = nullptr;  ///< the operand that gives the extent; null: the launch's count
};

struct BoundBlock {
    std::int32_t repeat = 1;
    std::vector<BoundStep> steps{};
};

struct BoundLane {
    int channel = 0;
    std::vector<BoundBlock> before{};
    std::vector<std::vector<BoundBlock>> loops{};  ///< the blocks of each tile loop
    std::vector<BoundBlock> after{};
};

class BoundPlan {
public:
    /// Binds `plan` to the FIFOs of `source` for launches with parts of `chunk_bytes`.
    /// Errors: InvalidUsage where the host cannot run the plan (multicast, accumulator elements, too many channels, a
    /// message longer than a slot), with the reason.
    BoundPlan(plan::Plan plan, std::int64_t chunk_bytes, transport::FifoSource& source);
    BoundPlan(const BoundPlan&) = delete;
    BoundPlan& operator=(const BoundPlan&) = delete;

    [[nodiscard]] const plan::Plan& plan() const noexcept { return plan_; }
    [[nodiscard]] std::int64_t chunk_bytes() const noexcept { return chunk_bytes_; }
    [[nodiscard]] const std::vector<BoundLane>& lanes() const noexcept { return lanes_; }
    /// True where the plan addresses its peers' user buffers.
    [[nodiscard]] bool uses_peers() const noexcept { return uses_peers_; }
    /// True where all that the plan does with them is to copy from one of them to one place.
    [[nodiscard]] bool copies_from_peers_only() const noexcept { return copies_only_; }
    /// By rank: where its scratch lies. Empty where scratch is this rank's own affair.
    [[nodiscard]] std::span<std::byte* const> windows() const noexcept { return windows_; }
    /// True where short messages may travel in their lines (no edge is forced to protocol Simple).
    [[nodiscard]] bool inlines() const noexcept { return inlines_; }
    [[nodiscard]] bool uses_counters() const noexcept { return uses_counters_; }
    /// Most operands on one side of a step, fans counted.
    [[nodiscard]] std::size_t widest() const noexcept { return widest_; }

private:
    using FifoTable = std::vector<transport::memory::Fifo*>;

    BoundLane bind_lane(const plan::Lane& lane, int channel, transport::FifoSource& source);
    BoundStep bind_step(const plan::Step& step, int channel, std::int32_t repeat, transport::FifoSource& source);
    BoundOperand bind_operand(const plan::Operand& operand, int channel, std::int32_t repeat,
                              transport::FifoSource& source);
    void bind_windows(transport::FifoSource& source);
    FifoTable& table(bool inbox, int channel, int tag);

    plan::Plan plan_;
    std::int64_t chunk_bytes_;
    bool inlines_;
    bool long_messages_;
    bool uses_peers_ = false;
    bool copies_only_ = true;
    bool uses_counters_ = false;
    std::size_t widest_ = 1;
    std::vector<std::byte*> windows_;
    std::vector<BoundLane> lanes_;
    struct TableEntry {
        bool inbox;
        int channel;
        int tag;
        FifoTable fifos;
    };
    std::deque<TableEntry> tables_;  // a deque: operands point into its elements
};

}  // namespace rondo::host
