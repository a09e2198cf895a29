// Connections from those who have no business here: during init, and afterwards.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "base/error.hpp"
#include "bootstrap/session.hpp"
#include "bootstrap/sockets.hpp"
#include "unit/bootstrap/members.hpp"
#include "unit/bootstrap/resources.hpp"

namespace rondo::bootstrap {
namespace {

/// A client that speaks no protocol.
class Stranger {
public:
    explicit Stranger(const Service& service, bool local = false) {
        const SocketAddress to = local ? SocketAddress::abstract_unix(service.unix_name())
                                       : SocketAddress::tcp(Address::v4_loopback(), service.port());
        fd_ = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
        connected_ = ::connect(fd_, to.get(), to.size) == 0;
    }
    Stranger(Stranger&& other) noexcept : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}
    Stranger(const Stranger&) = delete;
    ~Stranger() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] bool connected() const { return connected_; }
    void say(const std::string& bytes) const {
        static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == 0);
    }
    /// Waits until the other side has closed, and returns what it said before.
    [[nodiscard]] std::string listen(double seconds) const {
        timeval time{};
        time.tv_sec = static_cast<time_t>(seconds);
        time.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(time.tv_sec)) * 1e6);
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
        std::string said;
        char buffer[256];
        while (true) {
            const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
            if (got == 0 || (got < 0 && errno == ECONNRESET)) return said;
            if (got < 0) return said + "<open>";
            said.append(buffer, static_cast<std::size_t>(got));
        }
    }

private:
    int fd_ = -1;
    bool connected_ = false;
};

std::string nonsense(int kind, std::mt19937& random) {
    std::string bytes;
    switch (kind % 5) {
        case 0: return {};
        case 1:
            for (auto n = 1 + random() % 7; n > 0; --n) bytes += static_cast<char>(random());
            return bytes;
        case 2: return "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        case 3: return "RNDO" + std::string("\x01\x00\xff\xff", 4) + std::string(1000, 'x');
        default:
            for (int n = 0; n < 20'000; ++n) bytes += static_cast<char>(random());
            return bytes;
    }
}

/// Short deadlines, so that the tests are short.
AcceptLimits hurried() { return {.hello_seconds = 0.5, .crowded_seconds = 0.1, .unauthenticated = 64}; }

TEST(Strangers, AThousandScannersDelayNobody) {
    Service root(hurried());
    std::mt19937 random(1);
    for (const bool after_init : {false, true}) {
        SCOPED_TRACE(after_init ? "after init" : "during init");
        Service service;
        Member first;
        Member second;
        const UniqueId fresh = make_unique_id(root, Settings{});
        first.open(options_for(&root, fresh, 2));
        first.join(0);
        if (after_init) {
            second.open(options_for(&service, fresh, 2));
            second.join(1);
            ASSERT_TRUE(first.owner.await_roster());
        }
        for (int i = 0; i < 1000; ++i) {
            const Stranger stranger(root, i % 10 == 0);
            stranger.say(nonsense(i, random));
        }
        const auto start = std::chrono::steady_clock::now();
        if (!after_init) {
            second.open(options_for(&service, fresh, 2));
            second.join(1);
        }
        ASSERT_TRUE(first.owner.await_roster());
        ASSERT_TRUE(second.owner.await_roster());
        for (Member* member : {&first, &second}) member->session->report("");
        EXPECT_TRUE(first.owner.await_go() && second.owner.await_go());
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
        EXPECT_EQ(first.owner.failures_ + second.owner.failures_, 0);
    }
}

TEST(Strangers, SilentOnesAreCutOffAndDelayNobodyForLong) {
    Service root(hurried());
    const UniqueId id = make_unique_id(root, Settings{});
    std::vector<Stranger> silent;
    for (int i = 0; i < 200; ++i) silent.emplace_back(root, i % 2 == 0);  // more than may wait at once
    Service service;
    Member first;
    Member second;
    first.open(options_for(&root, id, 2));
    first.join(0);
    const auto start = std::chrono::steady_clock::now();
    second.open(options_for(&service, id, 2));
    second.join(1);
    EXPECT_TRUE(second.owner.await_roster(5));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
    for (const Stranger& stranger : silent) EXPECT_EQ(stranger.listen(2), "");
}

TEST(Strangers, EachIsDroppedByItself) {
    Service root(hurried());
    root.start(Settings{});
    std::mt19937 random(2);
    for (const bool local : {false, true}) {
        for (int kind = 0; kind < 5; ++kind) {
            const Stranger stranger(root, local);
            ASSERT_TRUE(stranger.connected());
            stranger.say(nonsense(kind, random));
            EXPECT_EQ(stranger.listen(2), "") << kind;
        }
    }
    // One that knows the protocol but no communicator hears a refusal, 4 bytes.
    ClientHandshake client(Hello{}, Secret{});
    const Stranger stranger(root);
    stranger.say(client.take_output());
    client.feed(stranger.listen(2));
    EXPECT_EQ(client.state(), ClientHandshake::State::Refused);
    EXPECT_EQ(client.refusal(), Refusal::UnknownId);
}

TEST(Strangers, AReplayedHelloIsNoRank) {
    Service root(hurried());
    const UniqueId id = make_unique_id(root, Settings{});
    const Identity identity = decode(id);
    Hello hello;
    hello.key = identity.key;
    hello.source = 1;
    ClientHandshake real(hello, identity.secret);
    const std::string first = real.take_output();
    const Stranger owner(root);
    owner.say(first);
    // The replay of the same bytes, and a proof for another nonce.
    const Stranger replay(root);
    replay.say(first);
    replay.say(std::string(32, 'p'));
    EXPECT_EQ(replay.listen(2).size(), 65U);  // a challenge, then the end
    Service service;
    Member members[2];
    for (Rank rank = 0; rank < 2; ++rank) {
        members[rank].open(options_for(rank == 0 ? &root : &service, id, 2));
        members[rank].join(rank);
    }
    EXPECT_TRUE(members[1].owner.await_roster(5));
}

TEST(Strangers, ASlowHelloIsTakenAsLongAsItIsInTime) {
    Service root;
    const UniqueId id = make_unique_id(root, Settings{});
    const Identity identity = decode(id);
    Hello hello;
    hello.key = identity.key;
    ClientHandshake client(hello, identity.secret);
    const Stranger slow(root);
    for (const char byte : client.take_output()) {
        slow.say(std::string(1, byte));
        ::usleep(500);
    }
    ::usleep(20'000);
    char buffer[65];
    ::usleep(20'000);
    std::string challenge = slow.listen(0.1);
    EXPECT_EQ(challenge.size(), 65U + 6U);  // and "<open>": it waits for the proof
    client.feed(challenge.substr(0, sizeof buffer));
    slow.say(client.take_output());
    EXPECT_EQ(slow.listen(0.1), std::string("\x03<open>"));
}

/// A member that has proved itself and then speaks nonsense.
TEST(Members, ThatSpeakNonsenseAreNamed) {
    std::mt19937 random(3);
    for (int kind = 0; kind < 6; ++kind) {
        Service root;
        const UniqueId id = make_unique_id(root, Settings{});
        const Identity identity = decode(id);
        Member first;
        first.open(options_for(&root, id, 2));
        first.join(0);
        Hello hello;
        hello.key = identity.key;
        ClientHandshake client(hello, identity.secret);
        const Stranger odd(root);
        odd.say(client.take_output());
        client.feed(odd.listen(0.1).substr(0, 65));
        odd.say(client.take_output());
        switch (kind) {
            case 0: odd.say(std::string("\xff\xff\xff\xff\x01", 5)); break;     // 4 GiB
            case 1: odd.say(std::string("\x00\x00\x00\x00\x02", 5)); break;     // a join without an introduction
            case 2: odd.say(std::string("\x03\x00\x00\x00\x01zzz", 8)); break;  // an introduction cut off
            case 3: odd.say(std::string("\x00\x00\x00\x00\x77", 5)); break;     // no such message
            case 4: odd.say(std::string("\x00\x00\x00\x00\x06", 5)); break;     // goodbye before hello
            default: odd.say(std::string("\x00\x00\x02\x00\x01", 5)); break;    // more than may come before the roster
        }
        static_cast<void>(odd.listen(kind == 5 || kind == 0 ? 0.3 : 2));
        if (kind == 0 || kind == 5) {
            // The link is closed by the limit alone; nobody had joined over it, so nobody fails.
            EXPECT_EQ(first.owner.await_failure(0.1).code, Code::Success);
        } else {
            const Cause cause = first.owner.await_failure(2);
            EXPECT_EQ(cause.code, Code::RemoteError) << kind;
            EXPECT_NE(cause.text.find("sent what makes no sense"), std::string::npos) << cause.text;
            EXPECT_NE(cause.text.find("127.0.0.1:"), std::string::npos) << cause.text;
        }
    }
}

}  // namespace
}  // namespace rondo::bootstrap
