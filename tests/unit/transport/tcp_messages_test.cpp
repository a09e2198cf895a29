// Messages of every length between ranks, over socket pairs and loopback TCP: all there, in order, with their contents,
// whatever the number of slots and connections, however small the system's buffers, and in whatever turns ranks run.

#include <gtest/gtest.h>
#include <linux/tcp.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tcp_networks.hpp"

namespace rondo::transport::tcp::test {

namespace {

using memory::Fifo;
using memory::kInline;

struct Case {
    Wire wire = Wire::SocketPair;
    std::uint32_t slots = 1;
    int flows = 1;
    int buffer = 0;
    std::size_t slot_bytes = 3000;
};

/// One FIFO with its traffic: message `number` has a length, a protocol, a signature and bytes of its own.
struct Stream {
    int channel = 0;
    int tag = 0;
    Rank source = 0;
    Rank destination = 1;
    std::uint64_t count = 0;
    std::size_t slot_bytes = 0;

    Fifo* out = nullptr;
    Fifo* in = nullptr;
    std::uint64_t written = 0;
    std::uint64_t read = 0;

    [[nodiscard]] std::uint64_t mixed(std::uint64_t number) const {
        const auto own = static_cast<std::uint64_t>(((channel * 8 + tag) * 16 + source) * 16 + destination);
        std::uint64_t word = (number + 1) * 0x9e3779b97f4a7c15U + own * 0xbf58476d1ce4e5b9U;
        word ^= word >> 29U;
        return word * 0x94d049bb133111ebU;
    }
    [[nodiscard]] std::size_t length(std::uint64_t number) const {
        const std::uint64_t word = mixed(number) >> 8U;
        switch (word % 4) {
            case 0: return (word / 4) % (kInline + 1);
            case 1: return slot_bytes - (word / 4) % std::min<std::size_t>(slot_bytes, 3);
            default: return (word / 4) % (slot_bytes + 1);
        }
    }
    /// Short messages use their line, some of them a slot.
    [[nodiscard]] bool inlined(std::uint64_t number) const {
        return length(number) <= kInline && mixed(number) % 8 != 0;
    }
    [[nodiscard]] std::byte byte_at(std::uint64_t number, std::size_t i) const {
        return static_cast<std::byte>((mixed(number) >> 16U) + i * 7 + i / 251);
    }

    bool write() {
        if (written == count || !out->writable(inlined(written))) return false;
        std::byte* place = out->write_place(inlined(written));
        const std::size_t bytes = length(written);
        for (std::size_t i = 0; i < bytes; ++i) place[i] = byte_at(written, i);
        out->extend(bytes);
        out->post(inlined(written), mixed(written));
        ++written;
        return true;
    }
    bool take(int& errors) {
        if (read == count || !in->readable()) return false;
        const std::size_t bytes = length(read);
        if (in->read_length() != bytes || in->read_signature() != mixed(read)) ++errors;
        const std::byte* place = in->read_place(inlined(read));
        for (std::size_t i = 0; i < bytes; ++i) errors += place[i] != byte_at(read, i) ? 1 : 0;
        in->release(inlined(read));
        ++read;
        return true;
    }
};

class Traffic {
public:
    Traffic(Networks& networks, const Case& about, std::uint64_t count) : networks_(networks) {
        for (const auto& [channel, tag] : {std::pair(0, 0), std::pair(0, 1), std::pair(7, 3), std::pair(31, 0)}) {
            for (Rank source = 0; source < networks.size(); ++source) {
                for (Rank destination = 0; destination < networks.size(); ++destination) {
                    if (source == destination) continue;
                    streams_.push_back({channel, tag, source, destination, count, about.slot_bytes});
                }
            }
        }
    }

    /// Mentions the FIFOs of one rank, in an order of its own.
    void bind(Rank rank) {
        std::mt19937 random(static_cast<std::uint32_t>(rank));
        std::vector<Stream*> order;
        for (Stream& stream : streams_) order.push_back(&stream);
        std::shuffle(order.begin(), order.end(), random);
        for (Stream* s : order) {
            if (s->source == rank) s->out = &networks_[rank].fifo(s->channel, rank, s->destination, s->tag, true);
            if (s->destination == rank) s->in = &networks_[rank].fifo(s->channel, s->source, rank, s->tag, true);
        }
    }

    /// Writes and reads on each FIFO `least` to `most` messages, as far as it goes; true if anything happened.
    bool step(Rank rank, std::mt19937& random, int& errors, std::uint32_t least, std::uint32_t most) {
        bool any = false;
        for (Stream& stream : streams_) {
            const auto burst = least + static_cast<std::uint32_t>(random() % (most - least + 1));
            for (std::uint32_t i = 0; i < burst; ++i) {
                if (stream.source == rank) any = stream.write() || any;
                if (stream.destination == rank) any = stream.take(errors) || any;
            }
        }
        return any;
    }

    [[nodiscard]] bool done(Rank rank) {
        return networks_[rank].flushed() && std::ranges::all_of(streams_, [&](const Stream& s) {
                   return (s.source != rank || s.written == s.count) && (s.destination != rank || s.read == s.count);
               });
    }

private:
    Networks& networks_;
    std::vector<Stream> streams_;
};

class TcpMessages : public testing::TestWithParam<Case> {};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Wire wire : {Wire::SocketPair, Wire::Loopback}) {
        for (const std::uint32_t slots : {1U, 2U, 4U, 64U}) {
            for (const int flows : {1, 2, 3, 4}) {
                all.push_back({.wire = wire, .slots = slots, .flows = flows});
                all.push_back({.wire = wire, .slots = slots, .flows = flows, .buffer = 4096});
            }
        }
        // Messages of several pieces.
        for (const int flows : {1, 3}) {
            all.push_back({.wire = wire, .slots = 2, .flows = flows, .slot_bytes = 3 * kPieceBytes + 5});
            all.push_back({.wire = wire, .slots = 3, .flows = flows, .buffer = 4096, .slot_bytes = 2 * kPieceBytes});
        }
    }
    return all;
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
    const Case& c = info.param;
    return std::string(c.wire == Wire::SocketPair ? "Pair" : "Tcp") + "_slots" + std::to_string(c.slots) + "_flows" +
           std::to_string(c.flows) + "_buffer" + std::to_string(c.buffer) + "_slot" + std::to_string(c.slot_bytes);
}

std::uint64_t count_for(const Case& about) { return about.slot_bytes > kPieceBytes ? 20 : 120; }

}  // namespace

TEST_P(TcpMessages, ArriveWhenRanksTakeTurnsAtRandom) {
    const Case& about = GetParam();
    for (const Rank nranks : {2, 3}) {
        Networks networks(nranks, about.slots, about.slot_bytes, about.flows, about.wire, about.buffer);
        Traffic traffic(networks, about, count_for(about));
        std::mt19937 random(about.slots * 16 + static_cast<std::uint32_t>(about.flows));
        int errors = 0;
        std::vector<bool> bound(static_cast<std::size_t>(nranks));
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        const auto over = [&] {
            for (Rank rank = 0; rank < nranks; ++rank) {
                if (!bound[static_cast<std::size_t>(rank)] || !traffic.done(rank)) return false;
            }
            return true;
        };
        while (!over()) {
            const auto rank = static_cast<Rank>(random() % static_cast<std::uint32_t>(nranks));
            // A rank may be late: messages arrive for FIFOs that it has not mentioned.
            if (!bound[static_cast<std::size_t>(rank)]) {
                if (random() % 50 == 0) {
                    traffic.bind(rank);
                    bound[static_cast<std::size_t>(rank)] = true;
                } else {
                    networks[rank].progress();
                }
                continue;
            }
            traffic.step(rank, random, errors, 0, 3);
            if (random() % 3 != 0) networks[rank].progress();
            ASSERT_EQ(errors, 0);
            ASSERT_FALSE(networks[rank].lost().has_value()) << networks[rank].lost()->text;
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "no end";
        }
    }
}

TEST_P(TcpMessages, ArriveBetweenThreads) {
    const Case& about = GetParam();
    constexpr Rank kRanks = 2;
    Networks networks(kRanks, about.slots, about.slot_bytes, about.flows, about.wire, about.buffer);
    Traffic traffic(networks, about, count_for(about) * 2);
    std::array<int, kRanks> errors{};
    std::array<std::chrono::nanoseconds, kRanks> longest{};
    const auto run = [&](Rank rank) {
        traffic.bind(rank);
        std::mt19937 random(static_cast<std::uint32_t>(rank) + 5);
        const auto me = static_cast<std::size_t>(rank);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!traffic.done(rank) && std::chrono::steady_clock::now() < deadline) {
            bool any = false;
            for (int i = 0; i < 4; ++i) any = traffic.step(rank, random, errors[me], 0, 3) || any;
            any = traffic.step(rank, random, errors[me], 1, 1) || any;
            any = networks[rank].progress() || any;
            if (any) continue;
            const auto began = std::chrono::steady_clock::now();
            networks[rank].wait(std::chrono::seconds(8));
            longest[me] = std::max<std::chrono::nanoseconds>(longest[me], std::chrono::steady_clock::now() - began);
        }
    };
    std::thread peer(run, 1);
    run(0);
    peer.join();
    for (Rank rank = 0; rank < kRanks; ++rank) {
        EXPECT_TRUE(traffic.done(rank)) << "rank " << rank;
        EXPECT_EQ(errors[static_cast<std::size_t>(rank)], 0) << "rank " << rank;
        EXPECT_LT(longest[static_cast<std::size_t>(rank)], std::chrono::seconds(4)) << "a wake-up was missed";
        EXPECT_FALSE(networks[rank].lost().has_value());
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, TcpMessages, testing::ValuesIn(cases()), name_of_case);

namespace {

std::uint64_t bytes_sent_on(int socket) {
    tcp_info info{};
    socklen_t bytes = sizeof(info);
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return 0;
    return info.tcpi_bytes_acked;
}

}  // namespace

TEST(TcpFlows, LongMessagesGoOverAllOfThem) {
    constexpr int kFlows = 3;
    constexpr std::size_t kBytes = 4 * kPieceBytes;
    Networks networks(2, 2, kBytes, kFlows, Wire::Loopback);
    Fifo& out = networks[0].fifo(0, 0, 1, 0, true);
    Fifo& in = networks[1].fifo(0, 0, 1, 0, true);
    ASSERT_EQ(networks.sockets(0).size(), kFlows);
    int sent = 0;
    for (int received = 0; received < 60;) {
        for (; sent < 60 && out.writable(false); ++sent) {
            std::memset(out.write_place(false), sent, kBytes);
            out.extend(kBytes);
            out.post(false, 1);
        }
        networks[0].progress();
        networks[1].progress();
        for (; in.readable(); ++received) {
            const std::byte* place = in.read_place(false);
            ASSERT_TRUE(std::all_of(place, place + kBytes, [&](std::byte b) { return b == std::byte(received); }));
            in.release(false);
        }
    }
    for (const int socket : networks.sockets(0)) EXPECT_GT(bytes_sent_on(socket), 60 * kBytes / kFlows / 4);
}

TEST(TcpFlows, ShortMessagesTakeOneSystemCallForAll) {
    Networks networks(2, 4, 1000, 1, Wire::Loopback);
    std::vector<Fifo*> outs;
    for (int tag = 0; tag < 8; ++tag) outs.push_back(&networks[0].fifo(0, 0, 1, tag, false));
    networks[0].progress();
    const std::uint64_t before = networks[0].counts().sends;
    for (Fifo* out : outs) {
        for (int i = 0; i < 10; ++i) {
            out->extend(16);
            out->post(true, 1);
        }
    }
    networks[0].progress();
    EXPECT_TRUE(networks[0].flushed());
    EXPECT_EQ(networks[0].counts().sends - before, 1U);
}

}  // namespace rondo::transport::tcp::test
