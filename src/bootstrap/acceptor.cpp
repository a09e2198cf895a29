#include "bootstrap/acceptor.hpp"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/runtime.hpp"
#include "bootstrap/registry.hpp"
#include "bootstrap/sockets.hpp"

namespace rondo::bootstrap {

namespace {

constexpr int kAcceptsAtOnce = 64;
constexpr double kPauseSeconds = 0.1;
constexpr std::chrono::seconds kBetweenComplaints{10};

}  // namespace

Acceptor::Acceptor(Loop& loop, Registry& registry, const AcceptLimits& limits)
    : loop_(loop), registry_(registry), limits_(limits) {}

void Acceptor::add(ProcessDescriptor listener) {
    const int fd = listener.get();
    loop_.watch(fd, paused_ ? 0U : std::uint32_t{EPOLLIN}, [this, fd](std::uint32_t) { accept_all(fd); });
    listeners_[fd] = std::move(listener);
}

std::shared_ptr<void> Acceptor::share_port(std::uint16_t port, bool loopback, const std::vector<Address>& addresses) {
    const std::pair place(port, loopback);
    if (std::shared_ptr<void> held = shared_ports_[place].lock()) return held;
    TcpListeners listeners;
    if (addresses.empty()) {
        if (TcpListener one = listen_at(port, loopback); one.socket) listeners.sockets.push_back(std::move(one.socket));
    } else {
        listeners = listen_on(addresses, port);
    }
    if (listeners.sockets.empty()) return nullptr;
    std::vector<int> fds;
    for (ProcessDescriptor& socket : listeners.sockets) {
        fds.push_back(socket.get());
        add(std::move(socket));
    }
    std::shared_ptr<void> lease(this, [this, fds](void*) {
        for (const int fd : fds) close_listener(fd);
    });
    shared_ports_[place] = lease;
    return lease;
}

void Acceptor::close_listener(int listener) {
    loop_.forget(listener);
    listeners_.erase(listener);
}

void Acceptor::clear() {
    for (const auto& [fd, listener] : listeners_) loop_.forget(fd);
    listeners_.clear();
    for (const Waiting& waiting : waiting_) loop_.forget(waiting.socket.get());
    waiting_.clear();
}

void Acceptor::accept_all(int listener) {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
        if (waiting_.size() >= limits_.unauthenticated) {
            // The others wait in the kernel's queue until these have proved themselves or are out of time.
            pause();
            arm_timer();
            return;
        }
        std::string peer;
        ProcessDescriptor socket = accept_from(listener, peer);
        if (socket) {
            take(std::move(socket), std::move(peer));
        } else if (errno == EAGAIN) {
            return;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            complain("the system", fmt::format("no connection can be accepted: {}", errno_text(errno)));
            pause();
            loop_.cancel(resume_timer_);
            resume_timer_ = loop_.after(kPauseSeconds, [this] { resume(); });
            return;
        }
        // Any other error is that of a connection that has gone already.
    }
}

void Acceptor::take(ProcessDescriptor socket, std::string peer) {
    const int fd = socket.get();
    waiting_.emplace_back(std::move(socket), std::move(peer),
                          [this](const Hello& hello) { return registry_.look_up(hello); });
    const auto place = std::prev(waiting_.end());
    loop_.watch(fd, EPOLLIN, [this, place](std::uint32_t) { advance(place); });
    if (timer_ == 0) arm_timer();
}

void Acceptor::advance(Place place) {
    std::array<char, kMostHelloBytes> buffer;  // NOLINT: only what was read is used
    ServerHandshake& handshake = place->handshake;
    while (handshake.state() == ServerHandshake::State::Running) {
        const std::size_t most = std::min(handshake.wanted(), buffer.size());
        const ssize_t got = ::recv(place->socket.get(), buffer.data(), most, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {
            drop(place, got < 0 ? errno_text(errno)
                        : handshake.challenged()
                            ? fmt::format("it (rank {}) went away instead of proving that it knows the "
                                          "secret: its own may be another one",
                                          handshake.hello().source)
                            : "it closed the connection before it had proved anything");
            return;
        }
        handshake.feed({buffer.data(), static_cast<std::size_t>(got)});
        if (!send_output(*place)) {
            drop(place, "it does not read its answer");
            return;
        }
    }
    finish(place);
}

/// A new connection has room for all that a handshake says.
bool Acceptor::send_output(Waiting& waiting) {
    const std::string output = waiting.handshake.take_output();
    return output.empty() || ::send(waiting.socket.get(), output.data(), output.size(), MSG_NOSIGNAL) ==
                                 static_cast<ssize_t>(output.size());
}

void Acceptor::finish(Place place) {
    switch (place->handshake.state()) {
        case ServerHandshake::State::Done: {
            loop_.forget(place->socket.get());
            ProcessDescriptor socket = std::move(place->socket);
            const Hello hello = place->handshake.hello();
            const std::string peer = place->peer;
            waiting_.erase(place);
            if (paused_) resume();
            registry_.deliver(std::move(socket), hello, peer);
            return;
        }
        case ServerHandshake::State::WrongSecret:
            drop(place, "it does not know the secret of the communicator");
            return;
        case ServerHandshake::State::Garbage: drop(place, "it sent no hello of this library"); return;
        case ServerHandshake::State::Refused:
        case ServerHandshake::State::Running: drop(place, ""); return;
    }
}

void Acceptor::drop(Place place, const std::string& reason) {
    if (!reason.empty()) complain(place->peer, reason);
    loop_.forget(place->socket.get());
    waiting_.erase(place);
    if (paused_) resume();
}

void Acceptor::pause() {
    if (std::exchange(paused_, true)) return;
    for (const auto& [fd, listener] : listeners_) loop_.change(fd, 0);
}

void Acceptor::resume() {
    if (!std::exchange(paused_, false)) return;
    for (const auto& [fd, listener] : listeners_) loop_.change(fd, EPOLLIN);
}

double Acceptor::patience() const {
    return waiting_.size() >= limits_.unauthenticated ? limits_.crowded_seconds : limits_.hello_seconds;
}

void Acceptor::arm_timer() {
    loop_.cancel(timer_);
    timer_ = 0;
    if (waiting_.empty()) return;
    const std::chrono::duration<double> waited = Loop::Clock::now() - waiting_.front().since;
    timer_ = loop_.after(patience() - waited.count(), [this] { drop_late(); });
}

void Acceptor::drop_late() {
    timer_ = 0;
    while (!waiting_.empty()) {
        const std::chrono::duration<double> waited = Loop::Clock::now() - waiting_.front().since;
        if (waited.count() < patience()) break;
        drop(waiting_.begin(), fmt::format("it said nothing that counts within {}", seconds_text(waited.count())));
    }
    arm_timer();
}

/// One line in ten seconds, so that a scanner cannot fill the log.
void Acceptor::complain(const std::string& peer, const std::string& reason) {
    const auto now = Loop::Clock::now();
    if (said_ != Loop::Clock::time_point{} && now - said_ < kBetweenComplaints) {
        ++unsaid_;
        return;
    }
    said_ = now;
    const std::string more = unsaid_ == 0 ? "" : fmt::format(" ({} more since the last such line)", unsaid_);
    unsaid_ = 0;
    Runtime::get().logger().warn(Logger::kNoRank, "connection from {} dropped: {}{}", peer, reason, more);
}

}  // namespace rondo::bootstrap
