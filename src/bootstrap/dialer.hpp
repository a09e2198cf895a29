#pragma once
// Getting through to another process: its addresses in order, the next one before the last has given up, the handshake,
// and again until the deadline where that may help. On the service thread alone.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/process_descriptor.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/loop.hpp"
#include "bootstrap/sockets.hpp"

namespace rondo::bootstrap {

struct Call {
    std::vector<SocketAddress> targets;
    Hello hello;
    Secret secret{};
    Deadline deadline = Deadline::never();
    bool wait_for_id = false;        ///< the process may not know the communicator yet
    bool wait_for_listener = false;  ///< nobody may listen yet
    std::string whom;                ///< "the root", for messages
};

/// The addresses of a contact as targets. A link-local one is tried on each interface of this machine that has such an
/// address: its scope is the caller's own.
std::vector<SocketAddress> targets_of(const Contact& contact);

class Dialer : public std::enable_shared_from_this<Dialer> {
public:
    /// Gets a socket that has proved itself and the peer's text, or the failure. Not after cancel().
    using Callback = std::function<void(ProcessDescriptor, const std::string& peer, const Failure&)>;

    static std::shared_ptr<Dialer> start(std::shared_ptr<Loop> loop, Call call, Callback callback);
    Dialer(std::shared_ptr<Loop> loop, Call call, Callback callback);
    Dialer(const Dialer&) = delete;
    Dialer& operator=(const Dialer&) = delete;

    void cancel();
    /// A connection is there, and its handshake under way.
    [[nodiscard]] bool answered() const noexcept;

    /// "10.0.0.1:4711 (Connection refused), 127.0.0.1:4711 (no answer yet)".
    [[nodiscard]] std::string outcomes() const;

private:
    enum class Outcome : std::uint8_t {
        Open,
        Passing,     ///< another try may do
        NoListener,  ///< nobody listens, or there is no way
        UnknownId,
        Final,  ///< another try would end the same
    };
    struct Target {
        SocketAddress address;
        Outcome outcome = Outcome::Open;
        Code code = Code::RemoteError;
        std::string text;
    };
    struct Attempt {
        Attempt(std::size_t index, ProcessDescriptor fd, const Hello& hello, const Secret& secret)
            : target(index), socket(std::move(fd)), handshake(hello, secret) {}
        std::size_t target;
        ProcessDescriptor socket;
        ClientHandshake handshake;
        bool connected = false;
        Loop::TimerId timer = 0;
    };
    using Place = std::list<Attempt>::iterator;

    void begin_round();
    void begin_next();
    void advance(Place place);
    void connected(Place place);
    bool send_output(Attempt& attempt);
    void judge(Place place);
    void give_up(Place place, Outcome outcome, Code code, const std::string& text);
    void end_round();
    void succeed(Place place);
    void fail(Code code, const std::string& text);
    void remove(Place place);

    const std::shared_ptr<Loop> loop_;
    const Call call_;
    Callback callback_;
    std::vector<Target> targets_;
    std::list<Attempt> attempts_;
    std::size_t next_ = 0;
    double pause_ = 0;
    Loop::TimerId stagger_timer_ = 0;
    Loop::TimerId round_timer_ = 0;
    Loop::TimerId deadline_timer_ = 0;
};

}  // namespace rondo::bootstrap
