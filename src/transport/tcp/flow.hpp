#pragma once
// One connection of a link: a stream of frames in each direction, moved without blocking.

#include <sys/uio.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "base/process_descriptor.hpp"
#include "transport/tcp/ends.hpp"
#include "transport/tcp/frame.hpp"

namespace rondo::transport::tcp {

/// Where frames that arrive go.
class FrameSink {
public:
    FrameSink() = default;
    FrameSink(const FrameSink&) = delete;
    FrameSink& operator=(const FrameSink&) = delete;
    virtual ~FrameSink() = default;

    /// A header, unchecked. For data frames the place of the payload; nothing is written unless the result is an
    /// Arrival. Errors (thrown): SystemError where memory is short.
    virtual std::variant<Arrival, Fault> begin(const Frame& frame) = 0;
    /// The payload of a data frame is in its place.
    virtual std::optional<Fault> end(const Frame& frame, const Arrival& arrival) = 0;
};

class Flow {
public:
    /// `user_timeout`: as for Network. `unsent_bytes` > 0: the system is to call the connection writable only while
    /// less than that waits to be sent for the first time. Errors: SystemError where the socket cannot be used.
    Flow(ProcessDescriptor socket, std::chrono::milliseconds user_timeout, std::size_t unsent_bytes, Counts& counts);

    [[nodiscard]] int socket() const noexcept { return fd_; }
    /// "10.0.0.1:4000 to 10.0.0.2:5000", this rank's end first.
    [[nodiscard]] const std::string& addresses() const noexcept { return addresses_; }

    // What the poller found; true until the system says that there is nothing, or no room.

    bool readable = true;
    bool writable = true;
    bool ending = false;  ///< the end of the stream, or an error, is there, perhaps behind data

    // Output. After an error, or once the peer has said farewell, it takes nothing more.

    [[nodiscard]] bool open() const noexcept { return output_open_; }
    /// True where nothing waits to be sent.
    [[nodiscard]] bool idle() const noexcept { return pending_ == 0; }
    /// True where another piece may be appended to the batch, which is to have about `batch` bytes.
    [[nodiscard]] bool takes_more(std::size_t batch) const noexcept {
        return pending_ < batch && blocks_used_ + 2 <= kBlocks && headers_used_ + kMostCopied <= headers_.size();
    }
    /// Adds a frame to the batch. Short payloads are copied; a long one must stay until idle().
    void append(const Frame& frame, const std::byte* payload) noexcept;
    /// Sends what the system takes now. True if it took anything.
    bool send() noexcept;
    /// True once the other side's system has everything.
    [[nodiscard]] bool delivered() const noexcept;

    // Input.

    enum class Input : std::uint8_t {
        Nothing,  ///< nothing to read
        Moved,
        Ended,  ///< farewell and then the end of the stream: the connection has done its work
        Broken  ///< see failure()
    };
    Input receive(FrameSink& sink);
    /// True once the peer's farewell has arrived.
    [[nodiscard]] bool farewell() const noexcept { return farewell_; }
    /// Why the connection is broken.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

    bool said_farewell = false;  ///< this rank's is in the batch, or sent

private:
    static constexpr std::size_t kBlocks = 32;
    static constexpr std::size_t kCopied = 512;  // longest payload that is copied behind its header
    static constexpr std::size_t kMostCopied = kHeaderBytes + kCopied;
    static constexpr std::size_t kStageBytes = 8U << 10U;
    // Bytes that one receive() takes, about: the executor shall get its turn, and credits go out, while more come.
    static constexpr std::size_t kReadBudget = 256U << 10U;

    void add_block(std::byte* base, std::size_t bytes) noexcept;
    [[nodiscard]] std::ptrdiff_t send_some() noexcept;
    void close_output(int error) noexcept;
    [[nodiscard]] std::ptrdiff_t read_some(std::size_t& asked) noexcept;
    bool accept(std::size_t bytes, FrameSink& sink);
    bool parse(FrameSink& sink);
    bool finish_payload(FrameSink& sink);
    Input end_of_stream(int error);
    void fail(const Fault& fault);

    ProcessDescriptor socket_;
    const int fd_;
    Counts& counts_;
    std::string addresses_;

    // Output: a batch of frames as blocks of memory. Headers and short payloads lie in headers_.
    bool output_open_ = true;
    int output_error_ = 0;
    std::size_t pending_ = 0;
    std::size_t first_block_ = 0;
    std::size_t blocks_used_ = 0;
    std::size_t headers_used_ = 0;
    std::array<iovec, kBlocks> blocks_{};
    std::array<std::byte, kStageBytes> headers_;

    // Input: the rest of a payload goes to its place, what follows it to stage_.
    bool farewell_ = false;
    std::string failure_;
    Frame frame_{};
    Arrival arrival_{};
    std::size_t missing_ = 0;  // bytes of the payload
    std::size_t staged_ = 0;   // bytes in stage_: less than a header, between calls
    std::array<std::byte, kStageBytes> stage_;
};

}  // namespace rondo::transport::tcp
