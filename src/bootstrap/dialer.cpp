#include "bootstrap/dialer.hpp"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "bootstrap/interfaces.hpp"

namespace rondo::bootstrap {

namespace {

constexpr double kStaggerSeconds = 0.25;  // then the next address is tried as well
constexpr double kConnectSeconds = 3;     // long enough for the kernel's second try
constexpr double kHandshakeSeconds = 5;
constexpr double kFirstPauseSeconds = 0.02;
constexpr double kLongestPauseSeconds = 0.5;
constexpr std::size_t kMostTargets = 32;

bool no_way(int error) {
    return error == ECONNREFUSED || error == ENETUNREACH || error == EHOSTUNREACH || error == EADDRNOTAVAIL ||
           error == EAFNOSUPPORT || error == EACCES || error == EPERM || error == EINVAL;
}

}  // namespace

std::vector<SocketAddress> targets_of(const Contact& contact) {
    std::vector<SocketAddress> targets;
    for (const Address& address : contact.addresses) {
        if (targets.size() == kMostTargets) break;
        if (!address.v6 || !address.link_local()) {
            targets.push_back(SocketAddress::tcp(address, contact.port));
            continue;
        }
        for (const Interface& interface : list_interfaces()) {
            if (interface.up && interface.address.v6 && interface.address.link_local()) {
                targets.push_back(SocketAddress::tcp(address, contact.port, interface.index));
            }
        }
    }
    return targets;
}

std::shared_ptr<Dialer> Dialer::start(std::shared_ptr<Loop> loop, Call call, Callback callback) {
    auto dialer = std::make_shared<Dialer>(std::move(loop), std::move(call), std::move(callback));
    if (!dialer->call_.deadline.is_never()) {
        const std::chrono::duration<double> left = dialer->call_.deadline.remaining();
        dialer->deadline_timer_ = dialer->loop_->after(left.count(), [dialer] {
            dialer->deadline_timer_ = 0;
            dialer->fail(Code::Timeout,
                         fmt::format("no connection to {} in time: tried {}", dialer->call_.whom, dialer->outcomes()));
        });
    }
    // Later, so that the callback never comes before the caller has its dialer.
    dialer->round_timer_ = dialer->loop_->after(0, [dialer] { dialer->begin_round(); });
    return dialer;
}

Dialer::Dialer(std::shared_ptr<Loop> loop, Call call, Callback callback)
    : loop_(std::move(loop)), call_(std::move(call)), callback_(std::move(callback)) {
    for (const SocketAddress& address : call_.targets) targets_.push_back({address, Outcome::Open, {}, {}});
}

void Dialer::cancel() {
    const auto self = shared_from_this();  // timers and watches may hold the last reference
    callback_ = nullptr;
    for (Loop::TimerId* timer : {&stagger_timer_, &round_timer_, &deadline_timer_}) {
        loop_->cancel(std::exchange(*timer, 0));
    }
    while (!attempts_.empty()) remove(attempts_.begin());
}

bool Dialer::answered() const noexcept {
    return std::any_of(attempts_.begin(), attempts_.end(), [](const Attempt& attempt) { return attempt.connected; });
}

std::string Dialer::outcomes() const {
    std::string all;
    for (const Target& target : targets_) {
        all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", target.address.text,
                           target.text.empty() ? "no answer yet" : target.text);
    }
    return all.empty() ? "no address" : all;
}

void Dialer::begin_round() {
    round_timer_ = 0;
    next_ = 0;
    for (Target& target : targets_) target.outcome = Outcome::Open;
    begin_next();
}

void Dialer::begin_next() {
    const auto self = shared_from_this();
    loop_->cancel(std::exchange(stagger_timer_, 0));
    while (callback_ && next_ < targets_.size()) {
        const std::size_t index = next_++;
        Target& target = targets_[index];
        ProcessDescriptor socket = begin_connect(target.address);
        if (!socket) {
            target.outcome = no_way(errno) ? Outcome::NoListener : Outcome::Passing;
            target.code = Code::RemoteError;
            target.text = errno_text(errno);
            continue;
        }
        const int fd = socket.get();
        attempts_.emplace_back(index, std::move(socket), call_.hello, call_.secret);
        const auto place = std::prev(attempts_.end());
        loop_->watch(fd, EPOLLOUT, [self, place](std::uint32_t) { self->advance(place); });
        place->timer = loop_->after(kConnectSeconds, [self, place] {
            place->timer = 0;
            self->give_up(place, Outcome::Passing, Code::RemoteError, "no answer within 3 s");
        });
        if (next_ < targets_.size()) {
            stagger_timer_ = loop_->after(kStaggerSeconds, [self] {
                self->stagger_timer_ = 0;
                self->begin_next();
            });
        }
        return;
    }
    if (attempts_.empty()) end_round();
}

void Dialer::advance(Place place) {
    if (!place->connected) {
        connected(place);
        return;
    }
    std::array<char, kMostHelloBytes> buffer;  // NOLINT: only what was read is used
    ClientHandshake& handshake = place->handshake;
    while (handshake.state() == ClientHandshake::State::Running) {
        const std::size_t most = std::min(handshake.wanted(), buffer.size());
        const ssize_t got = ::recv(place->socket.get(), buffer.data(), most, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {
            give_up(place, Outcome::Passing, Code::RemoteError,
                    got == 0 ? "it closed the connection before the handshake was over" : errno_text(errno));
            return;
        }
        handshake.feed({buffer.data(), static_cast<std::size_t>(got)});
        if (!send_output(*place)) {
            give_up(place, Outcome::Passing, Code::RemoteError, errno_text(errno));
            return;
        }
    }
    judge(place);
}

void Dialer::connected(Place place) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(place->socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        give_up(place, no_way(error) ? Outcome::NoListener : Outcome::Passing, Code::RemoteError, errno_text(error));
        return;
    }
    place->connected = true;
    if (!send_output(*place)) {
        give_up(place, Outcome::Passing, Code::RemoteError, errno_text(errno));
        return;
    }
    loop_->change(place->socket.get(), EPOLLIN);
    loop_->cancel(place->timer);
    place->timer = loop_->after(kHandshakeSeconds, [self = shared_from_this(), place] {
        place->timer = 0;
        self->give_up(place, Outcome::Passing, Code::RemoteError, "it does not answer the hello");
    });
}

/// A new connection has room for all that a handshake says.
bool Dialer::send_output(Attempt& attempt) {
    const std::string output = attempt.handshake.take_output();
    return output.empty() || ::send(attempt.socket.get(), output.data(), output.size(), MSG_NOSIGNAL) ==
                                 static_cast<ssize_t>(output.size());
}

void Dialer::judge(Place place) {
    const ClientHandshake& handshake = place->handshake;
    switch (handshake.state()) {
        case ClientHandshake::State::Done: succeed(place); return;
        case ClientHandshake::State::WrongSecret:
            give_up(place, Outcome::Final, Code::InvalidUsage,
                    "the process there has another secret; RONDO_COMM_SECRET must be the same on all ranks");
            return;
        case ClientHandshake::State::Garbage:
            give_up(place, Outcome::NoListener, Code::RemoteError, "another program listens there");
            return;
        case ClientHandshake::State::Running: return;
        case ClientHandshake::State::Refused: break;
    }
    switch (handshake.refusal()) {
        case Refusal::UnknownId:
            give_up(place, Outcome::UnknownId, Code::RemoteError, "no communicator with this unique id there");
            return;
        case Refusal::UsedId:
            give_up(place, Outcome::Final, Code::InvalidUsage,
                    "the unique id has already been used; make a new one for each communicator");
            return;
        case Refusal::Version:
            give_up(place, Outcome::Final, Code::InvalidUsage,
                    fmt::format("the process there speaks version {} of the protocol, this one {}; use one version of "
                                "the library on all ranks",
                                handshake.server_version(), kWireVersion));
            return;
    }
}

void Dialer::give_up(Place place, Outcome outcome, Code code, const std::string& text) {
    const auto self = shared_from_this();
    Target& target = targets_[place->target];
    target.outcome = outcome;
    target.code = code;
    target.text = text;
    remove(place);
    if (next_ < targets_.size()) {
        begin_next();
    } else if (attempts_.empty()) {
        end_round();
    }
}

void Dialer::end_round() {
    const auto final = std::find_if(targets_.begin(), targets_.end(),
                                    [](const Target& target) { return target.outcome == Outcome::Final; });
    if (final != targets_.end()) {
        fail(final->code, fmt::format("{} at {}: {}", call_.whom, final->address.text, final->text));
        return;
    }
    const bool hope = std::any_of(targets_.begin(), targets_.end(), [this](const Target& target) {
        return target.outcome == Outcome::Passing || (target.outcome == Outcome::UnknownId && call_.wait_for_id) ||
               (target.outcome == Outcome::NoListener && call_.wait_for_listener);
    });
    if (!hope) {
        std::string interfaces = "unknown";
        try {
            interfaces = describe(list_interfaces());
        } catch (const Error&) {
            // Then they stay unknown: the addresses below matter more.
        }
        fail(Code::RemoteError,
             fmt::format("no connection to {}: tried {}; interfaces here: {}; see that its process is alive and one of "
                         "its addresses can be reached (RONDO_SOCKET_IFNAME there chooses them)",
                         call_.whom, outcomes(), interfaces));
        return;
    }
    pause_ = pause_ == 0 ? kFirstPauseSeconds : std::min(2 * pause_, kLongestPauseSeconds);
    round_timer_ = loop_->after(pause_, [self = shared_from_this()] { self->begin_round(); });
}

void Dialer::succeed(Place place) {
    const auto self = shared_from_this();
    loop_->forget(place->socket.get());
    auto socket = std::make_shared<ProcessDescriptor>(std::move(place->socket));
    const std::string peer = targets_[place->target].address.text;
    const Callback callback = std::move(callback_);
    cancel();
    callback(std::move(*socket), peer, {});
}

void Dialer::fail(Code code, const std::string& text) {
    const auto self = shared_from_this();
    const Callback callback = std::move(callback_);
    cancel();
    if (callback) callback({}, {}, {code, text});
}

void Dialer::remove(Place place) {
    loop_->cancel(place->timer);
    if (place->socket) loop_->forget(place->socket.get());
    attempts_.erase(place);
}

}  // namespace rondo::bootstrap
