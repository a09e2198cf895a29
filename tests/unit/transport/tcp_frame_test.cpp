// The decoder and the receiving end of a FIFO against everything that could come over a connection.

#include "transport/tcp/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "transport/tcp/ends.hpp"

namespace rondo::transport::tcp::test {

namespace {

constexpr Geometry kGeometry{.slots = 4, .slot_bytes = 2 * kPieceBytes + 100};

Frame short_message() {
    return {.length = 100, .channel = 5, .tag = 2, .sequence = 9, .signature = 77, .total = 100, .offset = 0};
}
Frame last_piece() {
    return {.length = 100,
            .channel = 5,
            .tag = 2,
            .slot = 3,
            .sequence = 9,
            .signature = 77,
            .total = 2 * kPieceBytes + 100,
            .offset = 2 * kPieceBytes};
}
Frame credit() { return {.mark = mark_of(FrameKind::Credit), .channel = 5, .tag = 2, .sequence = 4}; }

std::string fault_of(const Frame& frame) {
    const auto fault = check(frame, kGeometry);
    return fault ? text_of(*fault) : "";
}

}  // namespace

TEST(TcpFrame, HasTheBytesThatTheFormatSays) {
    const Frame frame{.mark = mark_of(FrameKind::Data),
                      .length = 0x01020304,
                      .channel = 0x0506,
                      .tag = 0x07,
                      .slot = 0x08,
                      .sequence = 0x090a0b0c,
                      .signature = 0x1112131415161718,
                      .total = 0x191a1b1c,
                      .offset = 0x1d1e1f20};
    std::array<std::byte, kHeaderBytes> header{};
    encode(frame, header.data());
    const std::array<unsigned char, kHeaderBytes> expected{
        0x01, 0x6e, 0x44, 0x6f, 4,    3,    2,    1,    6,    5,    7,    8,    0x0c, 0x0b, 0x0a, 0x09,
        0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x1c, 0x1b, 0x1a, 0x19, 0x20, 0x1f, 0x1e, 0x1d};
    EXPECT_EQ(std::memcmp(header.data(), expected.data(), kHeaderBytes), 0);
    EXPECT_EQ(decode(header.data()), frame);
}

TEST(TcpFrame, PassesWhatAnHonestPeerSends) {
    EXPECT_EQ(fault_of(short_message()), "");
    EXPECT_EQ(fault_of(last_piece()), "");
    EXPECT_EQ(fault_of(credit()), "");
    EXPECT_EQ(fault_of({.mark = mark_of(FrameKind::Farewell)}), "");
    EXPECT_EQ(fault_of({.length = 0, .slot = 0, .total = 0}), "") << "a message of no bytes";
    EXPECT_EQ(fault_of({.length = kPieceBytes, .slot = 0, .total = 2 * kPieceBytes, .offset = kPieceBytes}), "");
}

TEST(TcpFrame, RefusesEachFieldBeyondItsLimit) {
    const auto changed = [](Frame frame, auto change) {
        change(frame);
        return fault_of(frame);
    };
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    EXPECT_TRUE(has(changed(short_message(), [](Frame& f) { f.mark ^= 0x100U; }), "mark"));
    EXPECT_EQ(changed(short_message(), [](Frame& f) { f.mark = kFrameMark; }), "its kind is 0, allowed are 1 to 3");
    EXPECT_EQ(changed(short_message(), [](Frame& f) { f.mark += 3; }), "its kind is 4, allowed are 1 to 3");
    EXPECT_EQ(changed(credit(), [](Frame& f) { f.channel = 32; }), "its channel is 32, allowed are 0 to 31");
    EXPECT_EQ(changed(short_message(), [](Frame& f) { f.tag = 8; }), "its tag is 8, allowed are 0 to 7");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { f.slot = 4; }), "its slot is 4, allowed are 0 to 3");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { f.slot = 0xfe; }), "its slot is 254, allowed are 0 to 3");
    EXPECT_EQ(changed(short_message(), [](Frame& f) { f.total = f.length = 113; }),
              "its message length is 113, allowed are 0 to 112");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { ++f.total; }),
              "its message length is 131173, allowed are 0 to 131172");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { f.total = 0xffffffffU; }),
              "its message length is 4294967295, allowed are 0 to 131172");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { f.offset = 3 * kPieceBytes; }),
              "its offset is 196608, allowed are 0 to 131072");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { f.offset -= 1; }), "its offset is 131071, it must be 65536");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { f.length = 101; }), "its payload length is 101, it must be 100");
    EXPECT_EQ(changed(last_piece(), [](Frame& f) { f.length = 99; }), "its payload length is 99, it must be 100");
    EXPECT_EQ(changed(credit(), [](Frame& f) { f.length = 1; }), "its payload length is 1, it must be 0");
    EXPECT_EQ(changed(credit(), [](Frame& f) { f.total = 1; }), "its message length is 1, it must be 0");
    EXPECT_EQ(changed(credit(), [](Frame& f) { f.slot = 0; }), "its slot is 0, it must be 255");
}

// Random headers, and good ones with a few bits or bytes changed: what passes lies within its FIFO.
TEST(TcpFrame, WhateverPassesLiesInside) {
    std::mt19937_64 random(11);
    int passed = 0;
    for (int i = 0; i < 2'000'000; ++i) {
        std::array<std::byte, kHeaderBytes> header{};
        if (i % 4 == 0) {
            for (std::byte& byte : header) byte = static_cast<std::byte>(random());
        } else {
            encode(i % 4 == 1 ? short_message() : i % 4 == 2 ? last_piece() : credit(), header.data());
            for (std::uint64_t n = random() % 4; n > 0; --n) {
                std::byte& byte = header[random() % header.size()];
                byte = random() % 2 == 0 ? static_cast<std::byte>(random()) : byte ^ (std::byte{1} << (random() % 8));
            }
        }
        const Frame frame = decode(header.data());
        if (check(frame, kGeometry)) continue;
        ++passed;
        ASSERT_LT(frame.channel, kChannels);
        ASSERT_LT(frame.tag, kTags);
        ASSERT_TRUE(!frame.in_slot() || frame.slot < kGeometry.slots);
        const std::uint64_t end = std::uint64_t{frame.offset} + frame.length;
        ASSERT_LE(end, frame.total);
        ASSERT_LE(frame.total, frame.in_slot() ? kGeometry.slot_bytes : memory::kInline);
        ASSERT_TRUE(frame.kind() == FrameKind::Data || frame.length == 0);
    }
    EXPECT_GT(passed, 100'000);
}

// --- The receiving end -----------------------------------------------------------------------------------------------

namespace {

struct Receiver {
    Doorbell bell;
    Inlet inlet{kGeometry, bell, 0, 0};
    memory::Fifo& fifo() { return inlet.own().fifo(); }

    /// "" if the frame is taken, else what is wrong with it. Writes `value` all over its place.
    std::string take(const Frame& frame, int value = 1) {
        const std::variant<Arrival, Fault> begun = inlet.admit(frame);
        if (const auto* fault = std::get_if<Fault>(&begun)) return text_of(*fault);
        const auto& arrival = std::get<Arrival>(begun);
        std::memset(arrival.place, value, frame.length);
        const auto fault = inlet.complete(frame, arrival);
        return fault ? text_of(*fault) : "";
    }
};

Frame piece_of(std::uint32_t sequence, std::uint8_t slot, std::uint32_t total, std::uint32_t piece) {
    const auto offset = static_cast<std::uint32_t>(piece * kPieceBytes);
    return {.length = std::min(static_cast<std::uint32_t>(kPieceBytes), total - offset),
            .slot = slot,
            .sequence = sequence,
            .signature = sequence * 1000ULL,
            .total = total,
            .offset = offset};
}
Frame line_message(std::uint32_t sequence, std::uint32_t total = 8) { return piece_of(sequence, kInLine, total, 0); }

constexpr auto kLong = static_cast<std::uint32_t>(2 * kPieceBytes + 7);

}  // namespace

TEST(TcpInlet, PutsPiecesTogetherInAnyOrder) {
    std::vector<Frame> frames;
    for (std::uint32_t piece = 0; piece < 3; ++piece) {
        frames.push_back(piece_of(1, 0, kLong, piece));
        frames.push_back(piece_of(3, 1, kLong, piece));
    }
    frames.push_back(line_message(2, 0));
    frames.push_back(line_message(4));
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        Receiver receiver;
        std::shuffle(frames.begin(), frames.end(), random);
        for (const Frame& frame : frames) ASSERT_EQ(receiver.take(frame, static_cast<int>(frame.sequence)), "");
        const std::array<std::uint32_t, 4> lengths{kLong, 0, kLong, 8};
        for (std::uint32_t i = 0; i < 4; ++i) {
            ASSERT_TRUE(receiver.fifo().readable());
            const bool inlined = i % 2 == 1;
            ASSERT_EQ(receiver.fifo().read_length(), lengths[i]);
            ASSERT_EQ(receiver.fifo().read_signature(), (i + 1) * 1000);
            const std::byte* place = receiver.fifo().read_place(inlined);
            ASSERT_TRUE(std::all_of(place, place + lengths[i], [&](std::byte b) { return b == std::byte(i + 1); }));
            receiver.fifo().release(inlined);
        }
        ASSERT_FALSE(receiver.fifo().readable());
    }
}

TEST(TcpInlet, AnnouncesNothingBeforeAllPiecesAreThere) {
    Receiver receiver;
    ASSERT_EQ(receiver.take(piece_of(1, 0, kLong, 2)), "");
    ASSERT_EQ(receiver.take(line_message(2)), "");
    ASSERT_EQ(receiver.take(piece_of(1, 0, kLong, 0)), "");
    EXPECT_FALSE(receiver.fifo().readable());
    ASSERT_EQ(receiver.take(piece_of(1, 0, kLong, 1)), "");
    EXPECT_TRUE(receiver.fifo().readable());
}

TEST(TcpInlet, RefusesWhatDoesNotFitTheStream) {
    {
        Receiver receiver;
        EXPECT_EQ(receiver.take(line_message(17)), "its message number is 17, allowed are 1 to 16");
        EXPECT_EQ(receiver.take(line_message(0)), "its message number is 0, allowed are 1 to 16");
    }
    {
        Receiver receiver;
        ASSERT_EQ(receiver.take(line_message(1)), "");
        EXPECT_EQ(receiver.take(line_message(1)), "its message number is 1, allowed are 2 to 16") << "a message twice";
    }
    {
        Receiver receiver;
        ASSERT_EQ(receiver.take(piece_of(1, 0, kLong, 1)), "");
        EXPECT_EQ(receiver.take(piece_of(1, 0, kLong, 1)), "its number of pieces at one offset is 2, it must be 1");
        EXPECT_EQ(receiver.take(piece_of(1, 1, kLong, 0)), "its slot is 1, it must be 0");
        EXPECT_EQ(receiver.take(piece_of(1, 0, kLong - 1, 0)), "its message length is 131078, it must be 131079");
        Frame other = piece_of(1, 0, kLong, 0);
        other.signature = 5;
        EXPECT_EQ(receiver.take(other), "its signature is 5, it must be 1000");
        EXPECT_EQ(receiver.take(piece_of(2, 0, 500, 0)), "its number of messages in one slot is 2, it must be 1");
    }
    {
        Receiver receiver;
        EXPECT_EQ(receiver.take(piece_of(1, 1, 200, 0)), "its slot is 1, it must be 0") << "not this slot's turn";
    }
}

TEST(TcpInlet, MovesItsWindowWithWhatIsReleased) {
    Receiver receiver;
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        ASSERT_EQ(receiver.take(line_message(i)), "");
        ASSERT_TRUE(receiver.fifo().readable());
        receiver.fifo().release(true);
    }
    EXPECT_EQ(receiver.take(line_message(1017)), "its message number is 1017, allowed are 1001 to 1016");
}

TEST(TcpInlet, OwesACreditForEachSlotAndForBunchesOfLines) {
    Receiver receiver;
    for (std::uint32_t i = 1; i <= 8; ++i) {
        ASSERT_EQ(receiver.take(line_message(i)), "");
        receiver.fifo().release(true);
        EXPECT_EQ(receiver.inlet.owes(), i == 8) << i;
    }
    EXPECT_EQ(receiver.inlet.credit().sequence, 8U);
    EXPECT_FALSE(receiver.inlet.owes());
    ASSERT_EQ(receiver.take(line_message(9)), "");
    ASSERT_EQ(receiver.take(piece_of(10, 0, 300, 0)), "");
    receiver.fifo().release(true);
    EXPECT_FALSE(receiver.inlet.owes()) << "a line alone";
    receiver.fifo().release(false);
    EXPECT_TRUE(receiver.inlet.owes()) << "a slot";
    EXPECT_EQ(receiver.inlet.credit().sequence, 10U);
    EXPECT_FALSE(receiver.inlet.owes());
}

// Any sequence of frames that check() passes, good or bad: payloads stay inside the FIFO's memory (for the address
// sanitizer to see), and what becomes readable comes in order.
TEST(TcpInlet, SurvivesAnySequenceOfFrames) {
    int taken = 0;
    int refused = 0;
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        std::mt19937 random(seed);
        Receiver receiver;
        std::uint32_t released = 0;
        for (int i = 0; i < 200; ++i) {
            const auto sequence = static_cast<std::uint32_t>(released + random() % 18);
            const auto slot = static_cast<std::uint8_t>(random() % 3 == 0 ? kInLine : random() % kGeometry.slots);
            const auto total =
                static_cast<std::uint32_t>(random() % (slot == kInLine ? 113 : kGeometry.slot_bytes + 1));
            const std::uint32_t pieces = total == 0 ? 1 : (total - 1) / static_cast<std::uint32_t>(kPieceBytes) + 1;
            const Frame frame = piece_of(sequence, slot, total, static_cast<std::uint32_t>(random() % pieces));
            ASSERT_FALSE(check(frame, kGeometry).has_value());
            ++(receiver.take(frame).empty() ? taken : refused);
            if (random() % 3 != 0 || !receiver.fifo().readable()) continue;
            EXPECT_EQ(receiver.fifo().read_signature(), ++released * 1000ULL);
            receiver.fifo().release(random() % 2 == 0);
            if (receiver.inlet.owes()) receiver.inlet.credit();
        }
    }
    EXPECT_GT(taken, 5000);
    EXPECT_GT(refused, 5000);
}

// --- The sending end -------------------------------------------------------------------------------------------------

TEST(TcpOutlet, TakesCreditsForWhatWasSentAndForNothingElse) {
    Doorbell bell;
    Outlet outlet(kGeometry, bell, 3, 1);
    memory::Fifo& fifo = outlet.own().fifo();
    const auto post = [&] {
        fifo.extend(8);
        fifo.post(true, 5);
    };
    const auto fault_of_credit = [&](std::uint32_t count) {
        const auto fault = outlet.take_credit({.mark = mark_of(FrameKind::Credit), .sequence = count});
        return fault ? text_of(*fault) : "";
    };
    for (int i = 0; i < 16; ++i) post();
    EXPECT_FALSE(fifo.writable(true));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(outlet.next().frame.sequence, static_cast<std::uint32_t>(i + 1));
    EXPECT_EQ(fault_of_credit(11), "its count of released messages is 11, allowed are 0 to 10")
        << "posted, but not sent";
    EXPECT_EQ(fault_of_credit(8), "");
    EXPECT_TRUE(fifo.writable(true));
    EXPECT_EQ(fault_of_credit(4), "") << "overtaken by a later one";
    EXPECT_EQ(fault_of_credit(10), "");
    EXPECT_NE(fault_of_credit(0x7fffffffU), "");
    EXPECT_EQ(fault_of_credit(0xfffffff0U), "") << "what looks like the past is harmless";
}

}  // namespace rondo::transport::tcp::test
