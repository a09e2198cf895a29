#include "transport/tcp/flow.hpp"

#include <fmt/core.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace rondo::transport::tcp {

namespace {

std::string address_text(const sockaddr_storage& address, socklen_t bytes) {
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    if ((address.ss_family != AF_INET && address.ss_family != AF_INET6) ||
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), bytes, host.data(), host.size(), port.data(),
                      port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return "a local socket";
    }
    return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host.data(), port.data())
                                         : fmt::format("{}:{}", host.data(), port.data());
}

std::string addresses_of(int fd) {
    sockaddr_storage own{};
    sockaddr_storage peer{};
    socklen_t own_bytes = sizeof(own);
    socklen_t peer_bytes = sizeof(peer);
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0 ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) != 0) {
        throw make_system_error(errno, "a connection was handed over that is not connected");
    }
    return address_text(own, own_bytes) + " to " + address_text(peer, peer_bytes);
}

void set(int fd, int level, int option, int value) {
    if (::setsockopt(fd, level, option, &value, sizeof(value)) != 0) {
        throw make_system_error(errno, "setting option {} of a connection to {}", option, value);
    }
}

void configure(int fd, std::chrono::milliseconds user_timeout, std::size_t unsent_bytes) {
    int domain = 0;
    socklen_t bytes = sizeof(domain);
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0) {
        throw make_system_error(errno, "asking for the kind of a connection");
    }
    if (domain != AF_INET && domain != AF_INET6) return;
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (unsent_bytes > 0) set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(unsent_bytes));
    if (user_timeout.count() <= 0) return;
    const auto timeout = static_cast<int>(std::min<std::int64_t>(user_timeout.count(), 2'000'000'000));
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout);
    // The user timeout alone sees only a sender: a rank that just waits would never learn of a cut wire.
    const int idle = std::clamp(timeout / 2000, 1, 32767);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, idle / 3));
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Flow::Flow(ProcessDescriptor socket, std::chrono::milliseconds user_timeout, std::size_t unsent_bytes, Counts& counts)
    : socket_(std::move(socket)), fd_(socket_.get()), counts_(counts), addresses_(addresses_of(fd_)) {
    configure(fd_, user_timeout, unsent_bytes);
}

// --- Output ----------------------------------------------------------------------------------------------------------

void Flow::add_block(std::byte* base, std::size_t bytes) noexcept {
    if (blocks_used_ > 0) {
        iovec& last = blocks_[blocks_used_ - 1];
        if (static_cast<std::byte*>(last.iov_base) + last.iov_len == base) {
            last.iov_len += bytes;
            return;
        }
    }
    blocks_[blocks_used_++] = {base, bytes};
}

void Flow::append(const Frame& frame, const std::byte* payload) noexcept {
    std::byte* header = headers_.data() + headers_used_;
    encode(frame, header);
    std::size_t copied = kHeaderBytes;
    if (frame.length > 0 && frame.length <= kCopied) {
        std::memcpy(header + kHeaderBytes, payload, frame.length);
        copied += frame.length;
    }
    headers_used_ += copied;
    add_block(header, copied);
    // sendmsg() does not write to what it sends.
    if (frame.length > kCopied) add_block(const_cast<std::byte*>(payload), frame.length);
    pending_ += kHeaderBytes + frame.length;
}

std::ptrdiff_t Flow::send_some() noexcept {
    constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
    const iovec& first = blocks_[first_block_];
    if (blocks_used_ - first_block_ == 1) return ::send(fd_, first.iov_base, first.iov_len, kFlags);
    msghdr message{};
    message.msg_iov = blocks_.data() + first_block_;
    message.msg_iovlen = blocks_used_ - first_block_;
    return ::sendmsg(fd_, &message, kFlags);
}

bool Flow::send() noexcept {
    bool moved = false;
    while (pending_ > 0 && writable && output_open_) {
        const std::ptrdiff_t sent = send_some();
        if (sent < 0) {
            if (errno == EINTR) continue;
            if (would_block(errno)) {
                writable = false;
            } else if (errno != ENOBUFS && errno != ENOMEM) {  // those pass, but no event says when
                close_output(errno);
            }
            break;
        }
        moved = true;
        ++counts_.sends;
        auto left = static_cast<std::size_t>(sent);
        counts_.bytes_sent += left;
        pending_ -= left;
        while (left > 0) {
            iovec& block = blocks_[first_block_];
            const std::size_t part = std::min(left, block.iov_len);
            block.iov_base = static_cast<std::byte*>(block.iov_base) + part;
            block.iov_len -= part;
            left -= part;
            if (block.iov_len == 0) ++first_block_;
        }
    }
    if (pending_ == 0) first_block_ = blocks_used_ = headers_used_ = 0;
    return moved;
}

/// Reading goes on: what the peer said before the connection broke may be its farewell.
void Flow::close_output(int error) noexcept {
    output_open_ = false;
    output_error_ = error;
    pending_ = first_block_ = blocks_used_ = headers_used_ = 0;
    readable = true;
}

bool Flow::delivered() const noexcept {
    int queued = 0;
    return pending_ == 0 && (!output_open_ || ::ioctl(fd_, SIOCOUTQ, &queued) != 0 || queued == 0);
}

// --- Input -----------------------------------------------------------------------------------------------------------

Flow::Input Flow::receive(FrameSink& sink) {
    std::size_t budget = kReadBudget;
    bool moved = false;
    while (readable && budget > 0) {
        std::size_t asked = 0;
        const std::ptrdiff_t got = read_some(asked);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && would_block(errno)) {
            readable = false;
            break;
        }
        if (got <= 0) return end_of_stream(got < 0 ? errno : 0);
        const auto bytes = static_cast<std::size_t>(got);
        moved = true;
        ++counts_.receives;
        counts_.bytes_received += bytes;
        // Fewer bytes than asked for: there were no more, and what comes after them is another event. The end of the
        // stream has none of its own if it was there when the poller looked.
        if (bytes < asked && !ending) readable = false;
        budget -= std::min(budget, bytes);
        if (!accept(bytes, sink)) return Input::Broken;
    }
    return moved ? Input::Moved : Input::Nothing;
}

/// Into the place of the payload that is under way, and what follows into the stage. Behind a long payload only as much
/// as the next header, so that another long payload goes to its place at once.
std::ptrdiff_t Flow::read_some(std::size_t& asked) noexcept {
    constexpr std::size_t kLong = 4096;
    const std::size_t room = missing_ >= kLong ? kHeaderBytes : stage_.size() - staged_;
    asked = missing_ + room;
    if (missing_ == 0) return ::recv(fd_, stage_.data() + staged_, room, MSG_DONTWAIT);
    std::array<iovec, 2> blocks{{{arrival_.place, missing_}, {stage_.data() + staged_, room}}};
    msghdr message{};
    message.msg_iov = blocks.data();
    message.msg_iovlen = blocks.size();
    return ::recvmsg(fd_, &message, MSG_DONTWAIT);
}

bool Flow::accept(std::size_t bytes, FrameSink& sink) {
    if (missing_ > 0) {
        const std::size_t part = std::min(bytes, missing_);
        arrival_.place += part;
        missing_ -= part;
        bytes -= part;
        if (missing_ > 0) return true;
        if (!finish_payload(sink)) return false;
    }
    staged_ += bytes;
    return parse(sink);
}

bool Flow::parse(FrameSink& sink) {
    std::size_t at = 0;
    while (missing_ == 0 && staged_ - at >= kHeaderBytes) {
        frame_ = decode(stage_.data() + at);
        at += kHeaderBytes;
        if (farewell_) {
            failure_ = "it sent another frame after its last";
            return false;
        }
        const std::variant<Arrival, Fault> begun = sink.begin(frame_);
        if (const auto* fault = std::get_if<Fault>(&begun)) {
            fail(*fault);
            return false;
        }
        if (frame_.kind() == FrameKind::Farewell) {
            farewell_ = true;
            close_output(0);
        }
        if (frame_.kind() != FrameKind::Data) continue;
        arrival_ = std::get<Arrival>(begun);
        const std::size_t part = std::min<std::size_t>(frame_.length, staged_ - at);
        if (part > 0) std::memcpy(arrival_.place, stage_.data() + at, part);
        at += part;
        arrival_.place += part;
        missing_ = frame_.length - part;
        if (missing_ == 0 && !finish_payload(sink)) return false;
    }
    staged_ -= at;
    if (at > 0 && staged_ > 0) std::memmove(stage_.data(), stage_.data() + at, staged_);
    return true;
}

bool Flow::finish_payload(FrameSink& sink) {
    if (const auto fault = sink.end(frame_, arrival_)) {
        fail(*fault);
        return false;
    }
    return true;
}

Flow::Input Flow::end_of_stream(int error) {
    readable = false;
    if (farewell_) return Input::Ended;
    if (error == 0) error = output_error_;
    if (error != 0) {
        failure_ = fmt::format("it broke: {}", errno_text(error));
    } else if (missing_ > 0 || staged_ > 0) {
        failure_ = "the other side closed it in the middle of a message";
    } else {
        failure_ = "the other side closed it";
    }
    return Input::Broken;
}

void Flow::fail(const Fault& fault) { failure_ = "a frame came that cannot be right: " + text_of(fault); }

}  // namespace rondo::transport::tcp
