#pragma once
// A two-way pipe of frames between a process and the root: a socket, or, within a process, a queue.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/process_descriptor.hpp"
#include "bootstrap/executor.hpp"
#include "bootstrap/loop.hpp"
#include "bootstrap/messages.hpp"

namespace rondo::bootstrap {

using Payload = std::shared_ptr<const std::string>;

inline Payload make_payload(std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); }

/// One end. All functions and callbacks on the executor.
class Link {
public:
    using OnFrame = std::function<void(FrameType, std::string_view)>;
    using OnClosed = std::function<void(const std::string& reason)>;

    Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    virtual ~Link() = default;

    /// Who is told what comes in. `on_closed` comes once, last, and not after close().
    void receive(OnFrame on_frame, OnClosed on_closed) {
        on_frame_ = std::move(on_frame);
        on_closed_ = std::move(on_closed);
    }

    /// Bytes that an incoming frame may have.
    void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }

    virtual void send(FrameType type, Payload payload) = 0;
    void send(FrameType type, std::string payload) { send(type, make_payload(std::move(payload))); }
    /// Nothing comes in any more; what was sent before is delivered yet.
    virtual void close() = 0;
    /// A peer that is silent for so long is taken for dead.
    virtual void set_silence_limit(double seconds) = 0;
    /// False within a process.
    [[nodiscard]] virtual bool over_network() const noexcept = 0;
    /// "10.0.0.1:4711" or "this process".
    [[nodiscard]] virtual const std::string& peer() const noexcept = 0;

protected:
    OnFrame on_frame_;
    OnClosed on_closed_;
    std::size_t limit_ = kMostMemberFrame;
};

/// The two ends of a pipe within a process.
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_local_links(std::shared_ptr<Executor> executor);

/// Over a connected socket that has proved itself. Frames are a length of 4 bytes, a type of one, and the payload.
std::shared_ptr<Link> make_socket_link(std::shared_ptr<Loop> loop, ProcessDescriptor socket, std::string peer);

}  // namespace rondo::bootstrap
