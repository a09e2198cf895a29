#include "transport/memory/fifo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "quiet_watch.hpp"

namespace rondo::transport::memory::test {

namespace {

constexpr std::size_t kSlotBytes = 640;

/// Length and content of a message follow from its number: lengths on both sides of what a line holds.
std::size_t length_of(std::uint64_t number) { return 1 + (number * 37 + number / 11) % kSlotBytes; }
bool inlined(std::uint64_t number) { return length_of(number) <= kInline; }
std::byte byte_of(std::uint64_t number, std::size_t i) {
    return static_cast<std::byte>(number * 131 + i * 7 + number / 256);
}
/// Short messages may fill the lines even where slots are few.
std::uint32_t lines_of(std::uint32_t slots) { return std::max(slots, kLines); }
std::uint64_t signature_of(std::uint64_t number) { return number * 0x9e3779b97f4a7c15U; }

void write(Fifo& fifo, std::uint64_t number) {
    const std::size_t length = length_of(number);
    std::byte* place = fifo.write_place(inlined(number));
    for (std::size_t i = 0; i < length; ++i) place[i] = byte_of(number, i);
    // In two parts, as steps that share a message do, the later one first.
    fifo.extend(length);
    fifo.extend(length / 2);
    EXPECT_EQ(fifo.post(inlined(number), signature_of(number)), length);
}

/// Number of wrong bytes and fields of the current message.
int wrong(const Fifo& fifo, std::uint64_t number) {
    int count = 0;
    if (fifo.read_length() != length_of(number)) return 1;
    if (fifo.read_signature() != signature_of(number)) ++count;
    const std::byte* place = fifo.read_place(inlined(number));
    for (std::size_t i = 0; i < length_of(number); ++i) count += place[i] != byte_of(number, i) ? 1 : 0;
    return count;
}

/// Memory for one FIFO, as both ends map it.
struct OwnMemory {
    OwnMemory(std::uint32_t slots, std::size_t slot_bytes) : lines(line_count(slots)), data(slots * slot_bytes) {}
    FifoMemory view() { return {.consumed = &consumed, .lines = lines.data(), .slots = data.data()}; }
    Consumed consumed;
    std::vector<Line> lines;
    std::vector<std::byte> data;
};

struct Pair {
    explicit Pair(std::uint32_t slots, std::size_t slot_bytes = kSlotBytes)
        : memory(slots, slot_bytes), fifo(slots, slot_bytes, memory.view(), sender, receiver) {}
    Doorbell sender;
    Doorbell receiver;
    OwnMemory memory;
    Fifo fifo;
};

}  // namespace

class FifoOfSlots : public testing::TestWithParam<std::uint32_t> {};

TEST_P(FifoOfSlots, HoldsAsManyLongMessagesAsItHasSlots) {
    Pair pair(GetParam());
    EXPECT_FALSE(pair.fifo.readable());
    for (std::uint32_t i = 0; i < GetParam(); ++i) {
        ASSERT_TRUE(pair.fifo.writable(false)) << "message " << i;
        pair.fifo.post(false, i);
    }
    EXPECT_FALSE(pair.fifo.writable(false));
    ASSERT_TRUE(pair.fifo.readable());
    EXPECT_FALSE(pair.fifo.writable(false)) << "a message that is only read frees no slot";
    pair.fifo.release(false);
    EXPECT_TRUE(pair.fifo.writable(false));
}

TEST_P(FifoOfSlots, HoldsAsManyShortMessagesAsItHasLines) {
    Pair pair(GetParam());
    const std::uint32_t lines = lines_of(GetParam());
    for (std::uint32_t i = 0; i < lines; ++i) {
        ASSERT_TRUE(pair.fifo.writable(true)) << "message " << i;
        pair.fifo.post(true, i);
    }
    EXPECT_FALSE(pair.fifo.writable(true));
    EXPECT_FALSE(pair.fifo.writable(false)) << "a long message needs a line too";
    pair.fifo.release(true);
    EXPECT_TRUE(pair.fifo.writable(true));
}

TEST_P(FifoOfSlots, KeepsOrderAndContentInEveryInterleaving) {
    Pair pair(GetParam());
    std::mt19937 random(GetParam());
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::deque<bool> under_way;  // of each message: is it short?
    while (read < 5000) {
        // Bursts of random length on either side, as far as they go.
        const auto burst = random() % (2 * lines_of(GetParam()) + 1);
        if (random() % 2 == 0) {
            for (std::uint32_t i = 0; i < burst; ++i) {
                const bool inside = inlined(written);
                const auto longs = static_cast<std::uint32_t>(std::ranges::count(under_way, false));
                const bool room = under_way.size() < lines_of(GetParam()) && (inside || longs < GetParam());
                ASSERT_EQ(pair.fifo.writable(inside), room) << "message " << written << ", " << longs
                                                            << " long ones of " << under_way.size() << " are under way";
                if (!room) break;
                write(pair.fifo, written++);
                under_way.push_back(inside);
            }
        } else {
            for (std::uint32_t i = 0; i < burst; ++i) {
                ASSERT_EQ(pair.fifo.readable(), read < written) << "message " << read;
                if (read == written) break;
                ASSERT_EQ(wrong(pair.fifo, read), 0) << "message " << read;
                pair.fifo.release(inlined(read++));
                under_way.pop_front();
            }
        }
    }
}

TEST_P(FifoOfSlots, CarriesMessagesBetweenThreads) {
    constexpr std::uint64_t kMessages = 20000;
    Pair pair(GetParam());
    const WaitPolicy policy = transport::test::sleepy_policy();
    transport::test::QuietWatch sender_watch;
    std::thread sender([&] {
        for (std::uint64_t number = 0; number < kMessages; ++number) {
            transport::test::wait_for(policy, pair.sender, sender_watch,
                                      [&] { return pair.fifo.writable(inlined(number)); });
            write(pair.fifo, number);
        }
    });
    transport::test::QuietWatch watch;
    int errors = 0;
    for (std::uint64_t number = 0; number < kMessages; ++number) {
        transport::test::wait_for(policy, pair.receiver, watch, [&] { return pair.fifo.readable(); });
        errors += wrong(pair.fifo, number);
        pair.fifo.release(inlined(number));
    }
    sender.join();
    EXPECT_EQ(errors, 0);
    EXPECT_FALSE(pair.fifo.readable());
    EXPECT_LT(watch.longest, policy.tick / 2) << "a wake-up of the receiver was missed";
    EXPECT_LT(sender_watch.longest, policy.tick / 2) << "a wake-up of the sender was missed";
}

INSTANTIATE_TEST_SUITE_P(Slots, FifoOfSlots, testing::Values(1U, 2U, 3U, 64U),
                         [](const auto& slots) { return std::to_string(slots.param); });

TEST(Fifo, MessageOfNoBytesIsAMessage) {
    Pair pair(2);
    EXPECT_EQ(pair.fifo.post(true, 7), 0U);
    ASSERT_TRUE(pair.fifo.readable());
    EXPECT_EQ(pair.fifo.read_length(), 0U);
    EXPECT_EQ(pair.fifo.read_signature(), 7U);
}

TEST(Fifo, SlotsDoNotTouchEachOther) {
    Pair pair(3, 256);
    Fifo& fifo = pair.fifo;
    for (const int value : {1, 2, 3}) {
        ASSERT_TRUE(fifo.writable(false));
        std::memset(fifo.write_place(false), value, 256);
        fifo.extend(256);
        fifo.post(false, 0);
    }
    for (const int value : {1, 2, 3}) {
        ASSERT_TRUE(fifo.readable());
        const std::vector<std::byte> same(256, static_cast<std::byte>(value));
        EXPECT_EQ(std::memcmp(fifo.read_place(false), same.data(), 256), 0) << value;
        fifo.release(false);
    }
}

// Each end with a view of its own, as in two processes.
TEST(Fifo, EndsMayHaveViewsOfTheirOwn) {
    constexpr std::uint32_t kSlots = 2;
    OwnMemory memory(kSlots, kSlotBytes);
    Doorbell bells[2];
    Fifo sender(kSlots, kSlotBytes, memory.view(), bells[0], bells[1]);
    Fifo receiver(kSlots, kSlotBytes, memory.view(), bells[0], bells[1]);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    while (received < 500) {
        while (sender.writable(inlined(sent))) write(sender, sent++);
        EXPECT_GE(sent - received, kSlots);
        while (receiver.readable()) {
            ASSERT_EQ(wrong(receiver, received), 0) << received;
            receiver.release(inlined(received));
            ++received;
        }
    }
    EXPECT_EQ(sent, received);
}

}  // namespace rondo::transport::memory::test
