#pragma once
// The machine that executes the plans of all ranks symbolically (verify.hpp says what it proves and how).
// machine.cpp: operations and lanes; machine_sync.cpp: FIFOs and counters; machine_move.cpp: data.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "plan/verify/clocks.hpp"
#include "plan/verify/expression.hpp"
#include "plan/verify/flat_index.hpp"
#include "plan/verify/memory.hpp"
#include "plan/verify/verify.hpp"

namespace rondo::plan::detail {

/// Thrown where a check fails; verify() turns it into a report.
struct Violation {
    PlanLocation where{};
    std::string what;
};

inline constexpr std::uint32_t kNone = 0xffffffffU;

struct Message {
    std::vector<Fragment> fragments{};  ///< sorted, without overlap
    std::int64_t length = 0;
    std::uint32_t next = kNone;
    std::int32_t operation = 0;
    std::int32_t hops = 0;
    Clocks::Snapshot posted = Clocks::kNone;
    Clocks::Snapshot released = Clocks::kNone;
};

/// A FIFO with `slots` slots. Its messages are a list: first those that were given back and whose slot nobody has taken
/// again (kept for their clocks), then those in flight, then the one being written.
struct Fifo {
    Rank source = 0;
    Rank target = 0;
    std::int16_t channel = 0;
    std::uint8_t tag = 0;
    bool writing = false;  ///< the producer has acquired a slot
    bool reading = false;  ///< the consumer has acquired the front message
    bool producer_waits = false;
    bool consumer_waits = false;
    std::int8_t producer_lane = -1;  ///< in operation producer_operation
    std::int8_t consumer_lane = -1;
    std::int32_t producer_operation = -1;
    std::int32_t consumer_operation = -1;
    std::uint32_t acquired = 0;  ///< slots taken so far
    std::uint32_t posted = 0;
    std::uint32_t consumed = 0;
    std::uint32_t listed = 0;  ///< messages in the list
    std::uint32_t head = kNone;
    std::uint32_t front = kNone;  ///< the next one to consume, or being read
    std::uint32_t tail = kNone;
    std::int64_t read_end = 0;  ///< of the front message
    std::int64_t elements = 0;  ///< posted so far
    std::uint64_t hash = 0;     ///< of all messages posted
    std::uint64_t lengths = 0;  ///< hash of their lengths
};

/// What one operation did with one counter.
struct CounterUse {
    struct PostRecord {
        Clocks::Snapshot clock = Clocks::kNone;
        std::int32_t hops = 0;
    };
    struct WaitRecord {
        std::int8_t lane = -1;  ///< that waits
        std::uint32_t done = 0;
    };
    std::int8_t lane = -1;      ///< that posts
    std::vector<Rank> peers{};  ///< that every post names, ascending
    std::vector<PostRecord> posts{};
    std::vector<WaitRecord> waits{};       ///< by rank; empty before the first wait
    std::vector<std::uint32_t> waiting{};  ///< lanes
};

struct Counter {
    Rank owner = 0;
    std::int16_t channel = 0;
    std::uint8_t tag = 0;
    std::vector<CounterUse> uses{};  ///< by operation
};

struct LaneState {
    Rank rank = 0;
    std::int32_t channel = 0;
    std::int32_t index = 0;
    std::int32_t operation = 0;
    const Lane* lane = nullptr;
    std::int64_t tiles = 0;
    std::int32_t loop = 0;
    std::int32_t loops = 1;
    // The step to execute next.
    When phase = When::Before;
    std::size_t block = 0;
    std::int64_t tile = 0;
    std::int32_t repeat = 0;
    std::size_t step = 0;
    std::size_t acquired = 0;  ///< operands of the step, fans counted, whose acquire or wait is done
    std::uint32_t thread = 0;
    std::int32_t hops = 0;
    bool running = false;
    /// The FIFO used last on each side, since most lanes have one neighbour on each. Sources first.
    struct LastFifo {
        Rank peer = -1;
        std::uint8_t tag = 0;
        std::uint32_t id = 0;
    };
    std::array<LastFifo, 2> last_fifo{};
    std::uint64_t trace = 0;
    std::uint64_t syncs = 0;
};

/// The user's buffers of one rank in one operation. Aliased: both are views of one memory.
struct UserBuffers {
    Memory first{0};
    Memory second{0};
    bool aliased = false;
    std::int64_t input_base = 0;
    std::int64_t output_base = 0;

    [[nodiscard]] Memory& memory(Buffer buffer) { return aliased || buffer == Buffer::Input ? first : second; }
    [[nodiscard]] const Memory& memory(Buffer buffer) const {
        return aliased || buffer == Buffer::Input ? first : second;
    }
    [[nodiscard]] std::int64_t base(Buffer buffer) const { return buffer == Buffer::Input ? input_base : output_base; }
};

struct RankState {
    std::int32_t operation = -1;  ///< running or finished last
    std::int32_t lanes_running = 0;
    std::uint32_t thread = 0;  ///< of the rank itself
    std::int32_t hops = 0;
    std::int64_t sent = 0;
    std::int64_t peer = 0;
    std::vector<Moment> begun{};      ///< by operation
    std::vector<UserBuffers> user{};  ///< by operation
    std::vector<Memory> scratch{};    ///< by channel
};

class Machine {
public:
    Machine(std::span<const Operation> operations, const VerifyOptions& options, Report& report);
    /// Throws Violation. Afterwards the buffers hold what the plans computed.
    void run();

    [[nodiscard]] const Expressions& expressions() const { return expressions_; }
    [[nodiscard]] const UserBuffers& user(std::int32_t operation, Rank rank) const {
        return ranks_[static_cast<std::size_t>(rank)].user[static_cast<std::size_t>(operation)];
    }

private:
    // machine.cpp
    void make_threads();
    void make_memory();
    void fill_input(UserBuffers& user, const Plan& plan, const Launch& launch, ExprId leaf) const;
    void begin_operation(Rank rank);
    void end_operation(Rank rank);
    void check_barrier(Rank rank) const;
    void run_lane(std::uint32_t id);
    /// Moves the lane to the next step that exists; false at its end.
    static bool settle(LaneState& lane);
    static void advance(LaneState& lane);
    /// Counts the lane's step against the limit on operands.
    void spend(const LaneState& lane);
    /// Executes the lane's step; false if it has to wait.
    bool execute(std::uint32_t id);
    void wake(std::uint32_t lane) { runnable_.push_back(lane); }
    [[noreturn]] void report_deadlock() const;
    void finish_report();
    void note_fifo(const Fifo& fifo);
    [[nodiscard]] std::string waits_for(const LaneState& lane) const;
    [[nodiscard]] std::uint32_t lane_id(Rank rank, std::int32_t channel, std::int32_t lane) const {
        return static_cast<std::uint32_t>(rank) * lanes_per_rank_ +
               static_cast<std::uint32_t>(lane_base_[static_cast<std::size_t>(channel)] + lane);
    }
    [[nodiscard]] const Plan& plan_of(std::int32_t operation, Rank rank) const {
        return operations_[static_cast<std::size_t>(operation)].plans[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] const Plan& plan_of(const LaneState& lane) const { return plan_of(lane.operation, lane.rank); }
    [[nodiscard]] const Launch& launch_of(const LaneState& lane) const {
        return operations_[static_cast<std::size_t>(lane.operation)].launch;
    }
    [[nodiscard]] static PlanLocation location(const LaneState& lane);
    [[noreturn]] static void refuse(const LaneState& lane, std::string what);
    [[nodiscard]] std::string describe(Moment moment) const;

    // machine_sync.cpp
    std::uint32_t fifo_id(std::int32_t channel, Rank source, Rank target, std::uint8_t tag);
    std::uint32_t fifo_of(LaneState& lane, const Operand& operand, std::int64_t peer);
    /// Acquires what the step's operands ask for; false if it has to wait, to go on from lane.acquired.
    bool acquire(std::uint32_t id, const Step& step);
    bool acquire_slot(LaneState& lane, Fifo& fifo);
    bool acquire_message(LaneState& lane, Fifo& fifo);
    void publish(LaneState& lane, const Step& step);
    void post_message(LaneState& lane, Fifo& fifo, Clocks::Snapshot& snapshot);
    void release_slot(LaneState& lane, Fifo& fifo, Clocks::Snapshot& snapshot);
    Clocks::Snapshot take_snapshot(const LaneState& lane, Clocks::Snapshot& shared);
    std::uint32_t new_message();
    void free_message(std::uint32_t id);
    /// What the lane's operation does with the counter.
    CounterUse& use_of(const LaneState& lane, Rank owner, std::uint8_t tag);
    void post(LaneState& lane, const Step& step);
    void post_counter(LaneState& lane, std::uint8_t tag, std::vector<Rank> peers, Clocks::Snapshot& snapshot);
    bool wait(std::uint32_t id, const Step& step);
    bool wait_for(std::uint32_t id, const Operand& operand, Rank owner);
    void check_fifos();
    void check_counters() const;
    void check_use(const Counter& counter, std::int32_t operation) const;
    static void note_syncs(LaneState& lane, const Step& step);

    // machine_move.cpp
    /// Where one operand of one row is: a buffer, or a message.
    struct Spot {
        const Operand* operand = nullptr;
        Rank peer = 0;             ///< the owner of the buffer, or the other end of the FIFO
        Memory* memory = nullptr;  ///< null: a message, or the buffers of all ranks (multicast)
        std::uint32_t fifo = kNone;
        std::int64_t begin = 0;  ///< in the memory, in the message, or in each rank's buffer (multicast)
    };
    struct Row {
        std::int64_t extent = 0;
        Range range{};
        std::int64_t tile_begin = 0;
        std::int64_t stride = 0;  ///< between the pieces of a message
    };
    [[nodiscard]] Row row_of(const LaneState& lane, const Step& step, std::int64_t j) const;
    [[nodiscard]] std::int64_t extent_of(const LaneState& lane, const Step& step, std::int64_t j) const;
    /// Computes row_ for a step of one row, and whether all rows are empty.
    [[nodiscard]] bool empty(const LaneState& lane, const Step& step);
    void move(LaneState& lane, const Step& step);
    void move_row(LaneState& lane, const Step& step, const Row& row, std::int64_t j);
    void locate_all(LaneState& lane, const Step& step, const Row& row, std::int64_t j, bool sources);
    void locate_buffer(const LaneState& lane, const Row& row, std::int64_t block, Spot& spot);
    void check_multicast(const LaneState& lane, Buffer buffer, std::int64_t block) const;
    void locate_message(LaneState& lane, const Step& step, const Row& row, std::int64_t piece, bool source, Spot& spot);
    [[nodiscard]] Memory& memory_of(const LaneState& lane, Buffer buffer, Rank rank);
    [[nodiscard]] std::int64_t base_of(const LaneState& lane, Buffer buffer, Rank rank) const;
    void drop_copies_onto_themselves(const Step& step);
    void check_overlaps(const LaneState& lane, std::int64_t length);
    void count_peers(const LaneState& lane, std::int64_t length);
    void note_row(LaneState& lane, const Step& step, std::int64_t length);
    void move_data(LaneState& lane, const Step& step, std::int64_t skip, std::int64_t length);
    void check_widening(const LaneState& lane);
    void load(LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t length, std::vector<Fragment>& into);
    void load_message(const Spot& spot, std::int64_t begin, std::int64_t length, std::vector<Fragment>& into) const;
    void load_multicast(LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t length,
                        std::vector<Fragment>& into);
    void check_loaded(const LaneState& lane, const Spot& spot, std::int64_t begin, std::vector<Fragment>& loaded);
    void store(LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t length);
    void store_message(const LaneState& lane, const Spot& spot, std::int64_t begin);
    void touch(const LaneState& lane, Memory& memory, const Spot& spot, std::int64_t begin, std::int64_t length,
               bool writes);
    /// Reduces lists of fragments, all covering [0, length); one multicast load if `multicast`.
    void combine(const LaneState& lane, std::span<const std::vector<Fragment>> lists, bool multicast,
                 std::vector<Fragment>& into);
    [[nodiscard]] std::string text(const LaneState& lane, const Spot& spot, std::int64_t begin, std::int64_t end) const;

    std::span<const Operation> operations_;
    const VerifyOptions& options_;
    Report& report_;
    Rank nranks_;
    ExprId empty_;  ///< what unwritten elements hold
    Expressions expressions_;
    std::optional<Clocks> clocks_;
    std::vector<std::uint32_t> thread_of_entry_{};
    std::vector<std::int32_t> lane_base_{};  ///< by channel
    std::uint32_t lanes_per_rank_ = 0;
    std::vector<RankState> ranks_;
    std::vector<LaneState> lanes_;
    std::deque<std::uint32_t> runnable_;
    std::int64_t operands_spent_ = 0;

    FlatIndex fifo_index_;
    std::deque<Fifo> fifos_;
    std::deque<Message> messages_;
    std::vector<std::uint32_t> free_messages_;
    FlatIndex counter_index_;
    std::deque<Counter> counters_;

    // Kept between steps to save allocations.
    Row row_;
    std::vector<Spot> sources_;
    std::vector<Spot> targets_;
    std::vector<const Spot*> by_place_;
    std::vector<std::vector<Fragment>> loaded_;
    std::vector<Fragment> result_;
    std::vector<ExprId> operands_;
    std::vector<std::size_t> cursors_;
};

}  // namespace rondo::plan::detail
