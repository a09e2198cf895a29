#include "bootstrap/link.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "bootstrap/sockets.hpp"
#include "bootstrap/wire.hpp"

namespace rondo::bootstrap {

namespace {

constexpr std::size_t kHeadBytes = 5;
constexpr std::size_t kReadBytes = 16U << 10U;
constexpr int kReadsAtOnce = 16;
constexpr int kPartsAtOnce = 16;
constexpr double kLingerSeconds = 2;

class LocalLink final : public Link, public std::enable_shared_from_this<LocalLink> {
public:
    explicit LocalLink(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}

    void set_peer(const std::shared_ptr<LocalLink>& peer) { peer_ = peer; }

    void send(FrameType type, Payload payload) override {
        if (closed_) return;
        executor_->post([peer = peer_, type, payload = std::move(payload)] {
            const std::shared_ptr<LocalLink> to = peer.lock();
            if (!to || to->closed_) return;
            const OnFrame on_frame = to->on_frame_;
            on_frame(type, *payload);
        });
    }

    void close() override {
        if (std::exchange(closed_, true)) return;
        executor_->post([peer = peer_] {
            const std::shared_ptr<LocalLink> to = peer.lock();
            if (!to || std::exchange(to->closed_, true)) return;
            const OnClosed on_closed = std::move(to->on_closed_);
            on_closed("the other side closed it");
        });
    }

    void set_silence_limit(double) override {}
    [[nodiscard]] bool over_network() const noexcept override { return false; }
    [[nodiscard]] const std::string& peer() const noexcept override { return peer_text_; }

private:
    const std::shared_ptr<Executor> executor_;
    const std::string peer_text_ = "this process";
    std::weak_ptr<LocalLink> peer_;
    bool closed_ = false;
};

class SocketLink final : public Link, public std::enable_shared_from_this<SocketLink> {
public:
    SocketLink(std::shared_ptr<Loop> loop, ProcessDescriptor socket, std::string peer)
        : loop_(std::move(loop)), socket_(std::move(socket)), peer_text_(std::move(peer)) {}
    ~SocketLink() override { end(); }

    /// The loop holds the link only until end().
    void start() {
        loop_->watch(socket_.get(), EPOLLIN, [weak = weak_from_this()](std::uint32_t events) {
            if (const auto self = weak.lock()) self->on_events(events);
        });
    }

    void send(FrameType type, Payload payload) override {
        if (closed_ || !socket_) return;
        Writer head;
        head.u32(static_cast<std::uint32_t>(payload->size()));
        head.u8(static_cast<std::uint8_t>(type));
        output_.push_back(make_payload(head.take()));
        if (!payload->empty()) output_.push_back(std::move(payload));
        flush();
    }

    void close() override {
        if (std::exchange(closed_, true) || !socket_) return;
        // The peer closes when it has read everything; closing first could cost it what is under way.
        linger_timer_ = loop_->after(kLingerSeconds, [self = shared_from_this()] { self->end(); });
        if (output_.empty()) ::shutdown(socket_.get(), SHUT_WR);
    }

    void set_silence_limit(double seconds) override {
        if (socket_) bootstrap::set_silence_limit(socket_.get(), seconds);
    }
    [[nodiscard]] bool over_network() const noexcept override { return true; }
    [[nodiscard]] const std::string& peer() const noexcept override { return peer_text_; }

private:
    void on_events(std::uint32_t events) {
        const auto self = shared_from_this();
        if ((events & EPOLLOUT) != 0) flush();
        if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && socket_) read();
    }

    void read() {
        std::array<char, kReadBytes> buffer;  // NOLINT: only what was read is used
        for (int i = 0; i < kReadsAtOnce && socket_; ++i) {
            const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
            if (got > 0) {
                if (!closed_) input_.append(buffer.data(), static_cast<std::size_t>(got));
                take_frames();
                if (static_cast<std::size_t>(got) < buffer.size()) return;
            } else if (got == 0) {
                fail("it closed the connection");
            } else if (errno == EAGAIN) {
                return;
            } else if (errno != EINTR) {
                fail(errno_text(errno));
            }
        }
    }

    void take_frames() {
        std::size_t at = 0;
        while (!closed_ && socket_ && input_.size() - at >= kHeadBytes) {
            Reader in(std::string_view(input_).substr(at));
            const std::size_t size = in.u32();
            const auto type = static_cast<FrameType>(in.u8());
            if (size > limit_) {
                fail(fmt::format("malformed message: {} bytes, at most {} may come now", size, limit_));
                return;
            }
            if (in.left() < size) break;
            on_frame_(type, in.raw(size));
            at += kHeadBytes + size;
        }
        input_.erase(0, at);
        if (input_.empty() && input_.capacity() > 4 * kReadBytes) input_.shrink_to_fit();
    }

    void flush() {
        while (!output_.empty() && socket_) {
            std::array<iovec, kPartsAtOnce> parts{};
            std::size_t count = 0;
            std::size_t skipped = sent_of_first_;
            for (const Payload& payload : output_) {
                if (count == parts.size()) break;
                parts[count++] = {const_cast<char*>(payload->data()) + skipped, payload->size() - skipped};
                skipped = 0;
            }
            msghdr message{};
            message.msg_iov = parts.data();
            message.msg_iovlen = count;
            const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent < 0 && errno == EAGAIN) break;
            if (sent < 0) {
                // Whatever the peer had to say first is read yet: its end says why.
                output_.clear();
                sent_of_first_ = 0;
                break;
            }
            drop_sent(static_cast<std::size_t>(sent));
        }
        if (!socket_) return;
        const bool waits = !output_.empty();
        if (waits != waits_to_send_) loop_->change(socket_.get(), waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
        waits_to_send_ = waits;
        if (output_.empty() && closed_) ::shutdown(socket_.get(), SHUT_WR);
    }

    void drop_sent(std::size_t sent) {
        while (sent != 0) {
            const std::size_t left = output_.front()->size() - sent_of_first_;
            if (sent < left) {
                sent_of_first_ += sent;
                return;
            }
            sent -= left;
            sent_of_first_ = 0;
            output_.pop_front();
        }
    }

    void fail(const std::string& reason) {
        const bool told = closed_;
        const OnClosed on_closed = std::move(on_closed_);
        closed_ = true;
        end();
        if (!told) on_closed(reason);
    }

    void end() {
        if (!socket_) return;
        const std::shared_ptr<SocketLink> self = weak_from_this().lock();  // the timer may hold the last reference
        loop_->forget(socket_.get());
        socket_.reset();
        output_.clear();
        loop_->cancel(linger_timer_);
    }

    const std::shared_ptr<Loop> loop_;
    ProcessDescriptor socket_;
    const std::string peer_text_;
    std::string input_;
    std::deque<Payload> output_;
    std::size_t sent_of_first_ = 0;
    bool waits_to_send_ = false;
    bool closed_ = false;
    Loop::TimerId linger_timer_ = 0;  // holds the link between close() and the peer's end
};

}  // namespace

std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_local_links(std::shared_ptr<Executor> executor) {
    const auto a = std::make_shared<LocalLink>(executor);
    const auto b = std::make_shared<LocalLink>(std::move(executor));
    a->set_peer(b);
    b->set_peer(a);
    return {a, b};
}

std::shared_ptr<Link> make_socket_link(std::shared_ptr<Loop> loop, ProcessDescriptor socket, std::string peer) {
    auto link = std::make_shared<SocketLink>(std::move(loop), std::move(socket), std::move(peer));
    link->start();
    return link;
}

}  // namespace rondo::bootstrap
