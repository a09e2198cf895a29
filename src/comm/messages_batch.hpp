#pragma once
// Tagged sends and receives that were called together. Whoever is in the seat moves them (messages.hpp); the thread
// that waits for them can tell at any time whether they come on, and what is open.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"
#include "comm/call.hpp"

namespace rondo::comm {

class MessageBatch;

/// A send or receive under way. Only the one in the seat changes it. What others may read is atomic, or is written
/// before the stage that it belongs to and never after.
struct MessageRequest {
    enum class Stage : std::uint8_t {
        Waiting,    ///< a send before its first message; a receive without a match
        Announced,  ///< a send: waits for its receive
        Cleared,    ///< a send: its data is going
        Receiving,  ///< a receive: matched, its data is coming
        Written,    ///< a send: its last message is posted, and perhaps still on its way out of this process
        Over,
    };

    Message call;
    MessageBatch* batch = nullptr;
    std::atomic<Stage> stage{Stage::Waiting};  ///< see enter()
    std::atomic<std::int64_t> moved{0};        ///< bytes of data sent or received; see move()
    std::uint64_t id = 0;
    std::uint64_t peer_id = 0;  ///< of the receive that a cleared send feeds
    Rank source = 0;            ///< of the message that a receive has matched; with its tag and length:
    std::int32_t tag = 0;
    std::int64_t length = 0;

    [[nodiscard]] bool at(Stage is) const noexcept { return stage.load(std::memory_order_relaxed) == is; }
    [[nodiscard]] std::int64_t bytes_moved() const noexcept { return moved.load(std::memory_order_relaxed); }
    inline void enter(Stage next) noexcept;
    inline void move(std::int64_t bytes) noexcept;
};

/// Over when all of its messages are.
class MessageBatch {
public:
    explicit MessageBatch(const std::vector<Message>& calls);
    MessageBatch(const MessageBatch&) = delete;
    MessageBatch& operator=(const MessageBatch&) = delete;

    /// From any thread. What the messages wrote is then visible.
    [[nodiscard]] bool over() const noexcept { return open_.load(std::memory_order_acquire) == 0; }
    /// For a list of batches; its owner's.
    MessageBatch* next = nullptr;
    /// Of the first receive that had no room for its message. Once over, and once.
    [[nodiscard]] Failure take_failure() noexcept { return std::exchange(failure_, {}); }

    // For the watch over the wait for it, from any thread.

    /// Another number each time that any of its messages has come on.
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }
    /// Ranks that its open messages wait for, among `nranks`; for a receive from any source all but `self`.
    [[nodiscard]] std::vector<Rank> awaited(Rank self, Rank nranks) const;
    /// "tagged receive of up to 40 bytes from rank 1 (tag 7) and 2 more".
    [[nodiscard]] std::string current() const;
    /// "send_tagged" or "recv_tagged".
    [[nodiscard]] std::string operation() const;

private:
    friend class Messages;
    friend struct MessageRequest;

    void step() noexcept { steps_.store(steps() + 1, std::memory_order_relaxed); }
    /// The first open send, else the first open receive, those without a match before others; null when all are over.
    [[nodiscard]] const MessageRequest* first_open(std::size_t& open) const noexcept;

    std::vector<MessageRequest> requests_;
    std::atomic<std::size_t> open_;
    std::atomic<std::uint64_t> steps_{0};
    Failure failure_;
};

inline void MessageRequest::enter(Stage next) noexcept {
    stage.store(next, std::memory_order_release);
    batch->step();
}

inline void MessageRequest::move(std::int64_t bytes) noexcept {
    moved.store(bytes_moved() + bytes, std::memory_order_relaxed);
    batch->step();
}

}  // namespace rondo::comm
