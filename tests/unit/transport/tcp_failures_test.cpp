// What a rank does when the other side of a connection ends, breaks, leaves, or sends what no rank would send: it says
// who and what, and goes on with the others.

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tcp_networks.hpp"

namespace rondo::transport::tcp::test {

namespace {

using memory::Fifo;

constexpr std::uint32_t kSlots = 4;
constexpr std::size_t kSlotBytes = 2 * kPieceBytes + 100;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class NoDialer final : public Dialer {
public:
    void dial(Rank, int) override {}
};

/// A rank whose peer, rank 1, is the test: bytes in, bytes out.
struct Victim {
    explicit Victim(Wire wire = Wire::SocketPair, int flows = 1)
        : network(0, 3, kSlots, kSlotBytes, bell, dialer, flows) {
        in = &network.fifo(0, 1, 0, 0, true);
        out = &network.fifo(0, 0, 1, 0, true);
        auto [mine, theirs] = connected(wire);
        other = std::move(theirs);
        network.deliver(1, 0, std::move(mine));
        network.progress();
    }

    void send(const void* data, std::size_t bytes) const {
        ASSERT_EQ(::send(other.get(), data, bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
    }
    void send(const Frame& frame, std::size_t payload = 0) const {
        std::vector<std::byte> bytes(kHeaderBytes + payload, std::byte{9});
        encode(frame, bytes.data());
        send(bytes.data(), bytes.size());
    }
    /// Drives until the peer is lost; its text, or "" after a second.
    std::string loss() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        while (!network.lost() && std::chrono::steady_clock::now() < end) {
            if (!network.progress()) network.wait(std::chrono::milliseconds(10));
        }
        if (!network.lost()) return "";
        EXPECT_EQ(network.lost()->peer, 1);
        EXPECT_TRUE(has(network.lost()->text, "rank 1")) << network.lost()->text;
        return network.lost()->text;
    }

    Doorbell bell;
    NoDialer dialer;
    Network network;
    Fifo* in = nullptr;
    Fifo* out = nullptr;
    ProcessDescriptor other;
};

/// Drives all ranks until `done`; false after five seconds.
bool drive(Networks& networks, const std::vector<Rank>& ranks, const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!done()) {
        for (const Rank rank : ranks) networks[rank].progress();
        if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
}

void post(Fifo& fifo, std::size_t bytes, int value) {
    const bool inlined = bytes <= memory::kInline;
    std::memset(fifo.write_place(inlined), value, bytes);
    fifo.extend(bytes);
    fifo.post(inlined, static_cast<std::uint64_t>(value));
}

bool take(Fifo& fifo, std::size_t bytes, int value) {
    const bool inlined = bytes <= memory::kInline;
    const std::byte* place = fifo.read_place(inlined);
    const bool right = fifo.read_length() == bytes && fifo.read_signature() == static_cast<std::uint64_t>(value) &&
                       std::all_of(place, place + bytes, [&](std::byte b) { return b == std::byte(value); });
    fifo.release(inlined);
    return right;
}

}  // namespace

TEST(TcpFailures, EndOfStreamIsALossThatNamesThePeer) {
    for (const Wire wire : {Wire::SocketPair, Wire::Loopback}) {
        Victim victim(wire);
        EXPECT_EQ(victim.network.lost(), std::nullopt);
        victim.other.reset();
        EXPECT_TRUE(has(victim.loss(), "the other side closed it"));
        EXPECT_FALSE(victim.network.progress());
        EXPECT_TRUE(victim.network.flushed()) << "nothing can be moved any more";
    }
    Victim victim(Wire::Loopback);
    victim.other.reset();
    EXPECT_TRUE(has(victim.loss(), "(127.0.0.1:")) << victim.loss();
}

TEST(TcpFailures, EndWithinAFrameIsNamedAsSuch) {
    for (const std::size_t bytes : {std::size_t{1}, kHeaderBytes - 1, kHeaderBytes, kHeaderBytes + 999}) {
        Victim victim;
        std::vector<std::byte> data(kHeaderBytes + 1000, std::byte{7});
        encode({.length = 1000, .slot = 0, .sequence = 1, .total = 1000}, data.data());
        victim.send(data.data(), bytes);
        victim.other.reset();
        EXPECT_TRUE(has(victim.loss(), "in the middle of a message")) << bytes;
        EXPECT_FALSE(victim.in->readable());
    }
}

TEST(TcpFailures, WhatCameBeforeTheEndIsThere) {
    Victim victim;
    victim.send({.length = 8, .sequence = 1, .total = 8}, 8);
    victim.other.reset();
    EXPECT_NE(victim.loss(), "");
    EXPECT_TRUE(victim.in->readable());
}

TEST(TcpFailures, ResetIsNamedWithTheSystemsWords) {
    for (const bool sends : {false, true}) {
        Victim victim(Wire::Loopback);
        const linger hard{.l_onoff = 1, .l_linger = 0};
        ASSERT_EQ(::setsockopt(victim.other.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
        victim.other.reset();
        if (sends) {
            for (std::uint32_t i = 0; i < kSlots; ++i) post(*victim.out, kSlotBytes, 1);
        }
        const std::string text = victim.loss();
        EXPECT_TRUE(has(text, "Connection reset by peer") || has(text, "Broken pipe")) << text;
    }
}

TEST(TcpFailures, EachBadFrameIsALossThatSaysWhat) {
    const std::vector<std::pair<Frame, std::string>> frames{
        {{.mark = 0x20544547}, "mark"},  // "GET "
        {{.mark = mark_of(FrameKind::Data) + 7}, "kind is 8"},
        {{.channel = 99}, "channel is 99, allowed are 0 to 31"},
        {{.tag = 200}, "tag is 200"},
        {{.slot = 4}, "slot is 4, allowed are 0 to 3"},
        {{.length = 0x7fffffff, .slot = 0, .sequence = 1, .total = 0x7fffffff}, "message length is 2147483647"},
        {{.length = 0xffffffffU, .slot = 0, .sequence = 1, .total = 10}, "payload length is 4294967295"},
        {{.length = 4, .sequence = 40, .total = 4}, "message number is 40, allowed are 1 to 16"},
        {{.mark = mark_of(FrameKind::Credit), .sequence = 3}, "count of released messages is 3"},
        {{.mark = mark_of(FrameKind::Credit), .channel = 9}, "count of released messages"}};
    for (const auto& [frame, part] : frames) {
        Victim victim;
        victim.send(frame);
        const std::string text = victim.loss();
        EXPECT_TRUE(has(text, "a frame came that cannot be right") && has(text, part)) << part << ": " << text;
        EXPECT_FALSE(victim.in->readable());
        // The connection is closed: the other side sees it.
        pollfd ended{.fd = victim.other.get(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&ended, 1, 1000), 1);
    }
}

TEST(TcpFailures, NothingFollowsAFarewell) {
    Victim victim;
    victim.send({.mark = mark_of(FrameKind::Farewell)});
    victim.send({.length = 8, .sequence = 1, .total = 8}, 8);
    EXPECT_TRUE(has(victim.loss(), "it sent another frame after its last"));
}

// A good stream with bytes changed, cut out, doubled or cut off, in chunks of every size.
TEST(TcpFailures, SpoiledStreamsNeverHangOrHarm) {
    int lost = 0;
    for (std::uint32_t seed = 1; seed <= 400; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::byte> stream;
        std::uint8_t slot = 0;
        for (std::uint32_t sequence = 1; sequence <= 12; ++sequence) {
            const bool long_message = random() % 3 == 0;
            const auto total = static_cast<std::uint32_t>(long_message ? 113 + random() % 3000 : random() % 113);
            const Frame frame{.length = total,
                              .slot = long_message ? slot : kInLine,
                              .sequence = sequence,
                              .signature = 4,
                              .total = total};
            if (long_message) slot = static_cast<std::uint8_t>((slot + 1) % kSlots);
            const std::size_t at = stream.size();
            stream.resize(at + kHeaderBytes + total, static_cast<std::byte>(sequence));
            encode(frame, stream.data() + at);
        }
        for (std::uint64_t n = random() % 4; n > 0; --n) {
            const auto at = static_cast<std::ptrdiff_t>(random() % stream.size());
            const auto length = static_cast<std::ptrdiff_t>(random() % 40);
            const auto end = std::min(at + length, static_cast<std::ptrdiff_t>(stream.size()));
            switch (random() % 4) {
                case 0: stream[static_cast<std::size_t>(at)] ^= std::byte{1} << (random() % 8); break;
                case 1: stream.erase(stream.begin() + at, stream.begin() + end); break;
                case 2: {
                    const std::vector<std::byte> doubled(stream.begin() + at, stream.begin() + end);
                    stream.insert(stream.begin() + at, doubled.begin(), doubled.end());
                    break;
                }
                default: stream.resize(static_cast<std::size_t>(at) + 1); break;
            }
        }
        Victim victim;
        std::size_t at = 0;
        while (at < stream.size() && !victim.network.lost()) {
            const std::size_t part = std::min<std::size_t>(1 + random() % 700, stream.size() - at);
            if (::send(victim.other.get(), stream.data() + at, part, MSG_NOSIGNAL) < 0) break;
            at += part;
            victim.network.progress();
            while (victim.in->readable()) victim.in->release(victim.in->read_length() <= memory::kInline);
        }
        victim.other.reset();
        ASSERT_NE(victim.loss(), "") << "seed " << seed << ": the end of the stream was missed";
        lost += has(victim.network.lost()->text, "cannot be right") ? 1 : 0;
    }
    EXPECT_GT(lost, 50);
}

TEST(TcpFailures, GarbageIsALoss) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        Victim victim(seed % 2 == 0 ? Wire::SocketPair : Wire::Loopback);
        std::vector<std::byte> bytes(kHeaderBytes + random() % 20'000);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        victim.send(bytes.data(), bytes.size());
        ASSERT_TRUE(has(victim.loss(), "cannot be right")) << seed;
    }
}

TEST(TcpFailures, OthersGoOnWhenOneIsLost) {
    Networks networks(3, kSlots, kSlotBytes, 2, Wire::Loopback);
    std::array<std::array<Fifo*, 3>, 3> out{};
    std::array<std::array<Fifo*, 3>, 3> in{};
    for (Rank a = 0; a < 3; ++a) {
        for (Rank b = 0; b < 3; ++b) {
            if (a == b) continue;
            out[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = &networks[a].fifo(0, a, b, 0, true);
            in[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)] = &networks[b].fifo(0, a, b, 0, true);
        }
    }
    post(*out[0][2], 50'000, 3);
    ASSERT_TRUE(drive(networks, {0, 1, 2}, [&] { return in[2][0]->readable(); }));
    networks.kill(1);
    ASSERT_TRUE(drive(networks, {0, 2}, [&] { return networks[0].lost() && networks[2].lost(); }));
    EXPECT_EQ(networks[0].lost()->peer, 1);
    EXPECT_EQ(networks[2].lost()->peer, 1);
    EXPECT_TRUE(take(*in[2][0], 50'000, 3));
    for (int i = 1; i < 50; ++i) {
        post(*out[0][2], static_cast<std::size_t>(i) * 2000, i);
        post(*out[2][0], static_cast<std::size_t>(i), i + 100);
        ASSERT_TRUE(drive(networks, {0, 2}, [&] { return in[2][0]->readable() && in[0][2]->readable(); }));
        ASSERT_TRUE(take(*in[2][0], static_cast<std::size_t>(i) * 2000, i));
        ASSERT_TRUE(take(*in[0][2], static_cast<std::size_t>(i), i + 100));
        ASSERT_TRUE(drive(networks, {0, 2}, [&] { return out[0][2]->writable(false) && out[2][0]->writable(true); }));
    }
}

// --- Departure -------------------------------------------------------------------------------------------------------

TEST(TcpDeparture, WhatWasSentBeforeArrivesAndNothingIsLost) {
    for (const int flows : {1, 3}) {
        for (const int buffer : {0, 4096}) {
            Networks networks(2, kSlots, kSlotBytes, flows, Wire::Loopback, buffer);
            Fifo& out = networks[0].fifo(0, 0, 1, 0, true);
            Fifo& back = networks[0].fifo(0, 1, 0, 0, true);
            Fifo& in = networks[1].fifo(0, 0, 1, 0, true);
            Fifo& reply = networks[1].fifo(0, 1, 0, 0, true);
            post(reply, 60'000, 200);
            ASSERT_TRUE(drive(networks, {0, 1}, [&] { return back.readable(); }));
            for (std::uint32_t i = 0; i < kSlots; ++i) post(out, kSlotBytes, static_cast<int>(i) + 1);
            EXPECT_TRUE(take(back, 60'000, 200));
            networks[0].depart();
            ASSERT_TRUE(drive(networks, {0, 1}, [&] { return networks[0].flushed() && networks[0].delivered(); }));
            networks.kill(0);
            for (std::uint32_t i = 0; i < kSlots; ++i) {
                ASSERT_TRUE(drive(networks, {1}, [&] { return in.readable(); })) << i;
                ASSERT_TRUE(take(in, kSlotBytes, static_cast<int>(i) + 1)) << i;  // whose credits nobody awaits
            }
            ASSERT_TRUE(drive(networks, {1}, [&] { return networks[1].departed(0); }));
            for (int i = 0; i < 100; ++i) networks[1].progress();
            EXPECT_EQ(networks[1].lost(), std::nullopt);
            EXPECT_TRUE(networks[1].flushed());
            // To send to it now is a loss.
            post(reply, 8, 9);
            EXPECT_FALSE(networks[1].flushed());
            ASSERT_TRUE(drive(networks, {1}, [&] { return networks[1].lost().has_value(); }));
            EXPECT_EQ(networks[1].lost()->peer, 0);
            EXPECT_TRUE(has(networks[1].lost()->text, "rank 0 has left the communicator"));
        }
    }
}

TEST(TcpDeparture, BothMayLeaveAtOnce) {
    Networks networks(2, kSlots, kSlotBytes, 2, Wire::Loopback);
    networks[0].fifo(0, 0, 1, 0, true);
    networks[1].fifo(0, 0, 1, 0, true);
    ASSERT_TRUE(drive(networks, {0, 1}, [&] { return networks[1].flushed(); }));
    networks[0].depart();
    networks[1].depart();
    ASSERT_TRUE(drive(networks, {0, 1}, [&] { return networks[0].departed(1) && networks[1].departed(0); }));
    networks.kill(0);
    for (int i = 0; i < 100; ++i) networks[1].progress();
    EXPECT_EQ(networks[1].lost(), std::nullopt);
}

// --- Connections that nobody expects ---------------------------------------------------------------------------------

TEST(TcpDeliveries, UnexpectedOnesAreClosed) {
    Victim victim;
    const auto closed = [&](Rank peer, int flow) {
        auto [mine, theirs] = connected(Wire::SocketPair);
        victim.network.deliver(peer, flow, std::move(mine));
        victim.network.progress();
        pollfd ended{.fd = theirs.get(), .events = POLLIN, .revents = 0};
        return ::poll(&ended, 1, 0) == 1 && (ended.revents & POLLHUP) != 0;
    };
    EXPECT_TRUE(closed(1, 0)) << "a second one with the same number";
    EXPECT_TRUE(closed(1, 1)) << "more than there are to be";
    EXPECT_TRUE(closed(1, -1));
    EXPECT_TRUE(closed(2, 0)) << "this rank dials rank 2, and has not";
    EXPECT_TRUE(closed(0, 0)) << "from itself";
    EXPECT_TRUE(closed(3, 0)) << "from no rank";
    EXPECT_TRUE(closed(-1, 0));
    EXPECT_EQ(victim.network.lost(), std::nullopt);
    victim.send({.length = 8, .sequence = 1, .total = 8}, 8);
    victim.network.progress();
    EXPECT_TRUE(victim.in->readable()) << "the good one still works";
}

TEST(TcpDeliveries, SomethingThatIsNoConnectionIsALoss) {
    Doorbell bell;
    NoDialer dialer;
    Network network(0, 2, kSlots, kSlotBytes, bell, dialer, 1);
    network.fifo(0, 0, 1, 0, false);
    network.deliver(1, 0, owned(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    network.progress();
    ASSERT_TRUE(network.lost().has_value());
    EXPECT_TRUE(has(network.lost()->text, "rank 1")) << network.lost()->text;
}

TEST(TcpNetwork, RefusesFifosThatAreNotItsOwn) {
    Victim victim;
    EXPECT_THROW(victim.network.fifo(0, 1, 2, 0, false), Error);
    EXPECT_THROW(victim.network.fifo(0, 0, 0, 0, false), Error);
    EXPECT_THROW(victim.network.fifo(0, 0, 3, 0, false), Error);
    EXPECT_THROW(victim.network.fifo(32, 0, 1, 0, false), Error);
    EXPECT_THROW(victim.network.fifo(0, 0, 1, 8, false), Error);
    EXPECT_EQ(&victim.network.fifo(0, 0, 1, 0, false), victim.out) << "the same one at every mention";
}

}  // namespace rondo::transport::tcp::test
