#pragma once
// The host executor: runs the lanes of a bound plan on the calling thread, each as far as it goes, in turn. A step that
// lacks a message, a free slot or a counter leaves its lane where it is; nothing blocks here. Waiting is the caller's.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/line_vector.hpp"
#include "host/bound_plan.hpp"
#include "reduce/reduce.hpp"
#include "transport/memory/domain.hpp"

namespace rondo::host {

/// A block of a buffer whose blocks have their own places and extents: v-forms and groups.
struct BlockExtent {
    std::byte* data = nullptr;
    std::int64_t extent = 0;      ///< elements
    std::uint64_t signature = 0;  ///< of messages that carry this block
};

/// What is bound late: everything that the plan does not know.
struct Launch {
    std::uint64_t sequence = 0;   ///< of the collective call; counters are derived from it
    std::uint64_t signature = 0;  ///< of every message, where blocks have none of their own
    std::int64_t count = 0;       ///< elements of a block
    std::size_t element_bytes = 1;
    plan::Cut cut{};
    reduce::Kernel kernel = nullptr;
    std::uint32_t divisor = 1;  ///< for steps with `post`; 1: nothing to divide
    bool stream = false;        ///< outputs are large: write them past the caches
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* scratch = nullptr;
    std::span<const BlockExtent> input_blocks{};   ///< not empty: Input is addressed by these
    std::span<const BlockExtent> output_blocks{};  ///< likewise for Output
};

/// Bytes and messages to each peer, counted as they move.
struct Traffic {
    LineVector<std::uint64_t> sent_bytes;
    LineVector<std::uint64_t> sent_messages;
    LineVector<std::uint64_t> direct_bytes;

    explicit Traffic(Rank nranks)
        : sent_bytes(static_cast<std::size_t>(nranks)),
          sent_messages(static_cast<std::size_t>(nranks)),
          direct_bytes(static_cast<std::size_t>(nranks)) {}
};

/// Where two ranks turned out to make different calls.
struct Disagreement {
    Rank peer = -1;
    std::uint64_t expected = 0;  ///< signature of this rank's call or transfer
    std::uint64_t received = 0;  ///< signature that the peer's message or record carries
};

/// A copy out of another process that failed.
struct Unread {
    Rank peer = -1;
    int error = 0;  ///< an errno value
    std::size_t bytes = 0;
};

enum class State : std::uint8_t {
    Running,
    Done,
    Mismatch,    ///< a peer's message or record carries another signature: the ranks disagree on the call
    Unreadable,  ///< a peer's buffer, in another process, could not be copied from
};

/// One operation of one rank. Reused from operation to operation; allocates only when a plan is wider than any before.
class Execution {
public:
    /// `patient`: the step of an only lane that lacks something looks for it a few times more before progress()
    /// returns. It may come from another core at any moment, and a short loop sees it earlier than the caller's long
    /// one; no good where the other rank needs this core.
    Execution(transport::memory::Domain& domain, Rank rank, Traffic& traffic, bool patient)
        : domain_(domain), rank_(rank), traffic_(traffic), polls_(patient ? kPolls : 0), pid_(::getpid()) {}

    /// What the next start() will launch, and after it what is being launched. Changed between operations only.
    [[nodiscard]] Launch& launch() noexcept { return launch_; }
    [[nodiscard]] const Launch& launch() const noexcept { return launch_; }

    /// Makes `plan` current with launch(). `plan` must outlive the operation. Runs nothing yet.
    void start(const BoundPlan& plan);

    /// Runs every lane as far as it goes. Returns true if any step ran.
    bool progress();

    [[nodiscard]] State state() const noexcept { return state_; }
    /// Only in state Mismatch.
    [[nodiscard]] const Disagreement& disagreement() const noexcept { return disagreement_; }

    /// Only in state Unreadable.
    [[nodiscard]] const Unread& unread() const noexcept { return unread_; }

    /// The ranks that the blocked lanes wait for, in order, each once. For error texts: allocates.
    [[nodiscard]] std::vector<Rank> awaited() const;

private:
    enum class Outcome : std::uint8_t { Ran, Blocked, Failed };

    /// The elements that a step covers, and what follows from them.
    struct Extent {
        plan::Range range{};
        std::int64_t tile_begin = 0;
        std::int64_t longest_span = 0;  ///< elements of the step's range for part 0
        std::uint64_t signature = 0;
        bool inlined = false;  ///< messages of this tile travel in their lines
    };

    /// Where a lane stands, and how its current tile is cut (for uniform extents).
    struct Cursor {
        const BoundLane* lane = nullptr;
        const std::vector<BoundBlock>* list = nullptr;
        std::size_t loop = 0;
        std::size_t block = 0;
        std::size_t step = 0;
        std::int32_t s = 0;
        std::int64_t tile = 0;
        std::int64_t tiles = 0;
        plan::Range tile_range{};
        std::int64_t longest = 0;  ///< elements of the tile's longest part
        Extent extent{};           ///< of the current step's first row, once `sized`
        bool sized = false;
        bool done = false;
    };

    bool run_lane(Cursor& cursor);
    void enter_list(Cursor& cursor);
    void next_tile(Cursor& cursor);
    void enter_tile(Cursor& cursor);
    void advance(Cursor& cursor);
    void enter_lane(Cursor& cursor, const BoundLane& lane);
    std::int64_t tiles_of(int channel) const;

    Outcome run_step(Cursor& cursor, const BoundStep& step);
    Outcome run_move(Cursor& cursor, const BoundStep& step);
    Outcome run_wait(const Cursor& cursor, const BoundStep& step);
    void run_post(const Cursor& cursor, const BoundStep& step);

    Extent extent_of(const Cursor& cursor, const BoundStep& step, std::int64_t row) const;
    void size_row(const Cursor& cursor, const BoundStep& step, std::int64_t row, Extent& extent) const;
    bool has_elements(const Cursor& cursor, const BoundStep& step) const;
    static bool ready(const BoundStep& step, std::int32_t s, bool inlined);
    bool agreed(const BoundStep& step, std::int32_t s, std::uint64_t signature);
    void reduce_row(const Cursor& cursor, const BoundStep& step, const Extent& extent, std::int64_t row);
    [[nodiscard]] pid_t process_read(const Cursor& cursor, const BoundStep& step, std::int64_t row) const;
    void pull_row(pid_t process, Rank peer, std::size_t bytes);
    void publish(const BoundStep& step, std::int32_t s, const Extent& extent);
    std::byte* place(const Cursor& cursor, const BoundOperand& operand, const Extent& extent, std::int64_t row,
                     std::int64_t f);
    std::byte* scratch_base(Rank owner, const Extent& extent);
    void count_direct(Rank peer, const Extent& extent) noexcept;
    std::byte* user_place(const std::byte* base, std::span<const BlockExtent> blocks, std::int64_t block,
                          std::int64_t begin) const;
    [[nodiscard]] transport::memory::Fifo& fifo(const BoundOperand& operand, std::int32_t s, std::int64_t f) const {
        return *operand.fifos[operand.op.peer.at(s, 0, f)];
    }
    [[nodiscard]] std::size_t wait_index(int channel, int tag, Rank owner) const noexcept;
    /// True where the post that this rank awaits next on the counter has come.
    [[nodiscard]] bool has_posted(int channel, int tag, Rank owner) const noexcept;
    void disagree(const Disagreement& found) noexcept;

    static constexpr int kPolls = 16;

    transport::memory::Domain& domain_;
    const Rank rank_;
    Traffic& traffic_;
    const int polls_;  // in vain, of one step
    const pid_t pid_;  // other processes' buffers are copied from, not loaded from
    const BoundPlan* plan_ = nullptr;
    Launch launch_{};
    State state_ = State::Done;
    Disagreement disagreement_{};
    Unread unread_{};
    std::size_t cursors_in_use_ = 0;
    LineVector<Cursor> cursors_;
    LineVector<void*> dsts_;
    LineVector<const void*> srcs_;
    // How often this rank has posted on each of its counters, and awaited each peer's, in this operation.
    LineVector<std::uint32_t> posts_;
    LineVector<std::uint32_t> waits_;
};

}  // namespace rondo::host
