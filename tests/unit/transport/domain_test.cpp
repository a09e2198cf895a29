#include "transport/memory/domain.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "quiet_watch.hpp"

namespace rondo::transport::memory::test {

namespace {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

/// A record all of whose fields follow from its sequence.
CallRecord record_of(std::uint64_t sequence) {
    return {.sequence = sequence,
            .signature = sequence * kStep,
            .input = reinterpret_cast<const void*>(sequence * 64),
            .output = reinterpret_cast<void*>(sequence * 128),
            .call = {sequence ^ 0x5555U, sequence + 1}};
}

bool whole(const CallRecord& record) {
    const CallRecord right = record_of(record.sequence);
    return record.signature == right.signature && record.input == right.input && record.output == right.output &&
           record.call == right.call;
}

}  // namespace

TEST(CallRecords, HoldsTheLastCalls) {
    CallRecords records;
    EXPECT_EQ(records.latest(), 0U);
    EXPECT_FALSE(records.find(1));
    for (std::uint64_t sequence = 1; sequence <= 40; ++sequence) {
        records.publish(record_of(sequence));
        EXPECT_EQ(records.latest(), sequence);
        for (std::uint64_t asked = 1; asked <= 60; ++asked) {
            const auto found = records.find(asked);
            const bool held = asked <= sequence && asked + CallRecords::kDepth > sequence;
            ASSERT_EQ(found.has_value(), held) << "call " << asked << " after call " << sequence;
            if (found) {
                ASSERT_TRUE(whole(*found)) << asked;
            }
        }
        EXPECT_EQ(records.input(sequence), record_of(sequence).input);
        EXPECT_EQ(records.output(sequence), record_of(sequence).output);
        EXPECT_EQ(records.signature(sequence), record_of(sequence).signature);
    }
}

TEST(CallRecords, ReadersNeverSeeATornRecord) {
    constexpr int kReaders = 2;
    constexpr int kEnough = 50000;  // records that each reader finds
    CallRecords records;
    std::atomic<int> reading{kReaders};
    std::atomic<int> torn{0};
    std::vector<std::thread> readers;
    for (std::uint64_t reader = 0; reader < kReaders; ++reader) {
        readers.emplace_back([&, reader] {
            int found_here = 0;
            for (std::uint64_t i = 0; found_here < kEnough; ++i) {
                const std::uint64_t latest = records.latest();
                // The latest, one about to be overwritten, and one that may come into being right now.
                const std::uint64_t asked[] = {latest, latest > 15 ? latest - 15 : 1, latest + 1};
                const auto found = records.find(asked[(i + reader) % 3]);
                if (!found || found->sequence == 0) continue;
                ++found_here;
                if (!whole(*found)) torn.fetch_add(1);
            }
            reading.fetch_sub(1);
        });
    }
    std::uint64_t sequence = 0;
    while (reading.load(std::memory_order_relaxed) > 0) records.publish(record_of(++sequence));
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(torn.load(), 0) << "in " << sequence << " calls";
}

TEST(Domain, FifosAreToldApartByChannelEndsAndTag) {
    Domain domain(5, 2, 256);
    std::set<Fifo*> seen;
    std::size_t asked = 0;
    for (const int channel : {0, 1, 31}) {
        for (Rank source = 0; source < 5; ++source) {
            for (Rank destination = 0; destination < 5; ++destination) {
                for (const int tag : {0, 1, 3}) {
                    Fifo& fifo = domain.fifo(channel, source, destination, tag, false);
                    seen.insert(&fifo);
                    ++asked;
                    EXPECT_EQ(&domain.fifo(channel, source, destination, tag, true), &fifo);
                }
            }
        }
    }
    EXPECT_EQ(seen.size(), asked);
}

TEST(Domain, CountsItsBytes) {
    Domain domain(2, 4, 1024);
    const std::size_t empty = domain.bytes();
    domain.fifo(0, 0, 1, 0, false);
    const std::size_t lines = domain.bytes();
    EXPECT_GE(lines - empty, 4 * sizeof(Line)) << "at least a line for each slot";
    domain.fifo(0, 0, 1, 0, true);
    EXPECT_EQ(domain.bytes() - lines, 4U * 1024);
    domain.fifo(0, 0, 1, 0, true);
    EXPECT_EQ(domain.bytes() - lines, 4U * 1024) << "slots exist once";
}

TEST(Domain, BothEndsMayMentionAFifoAtOnce) {
    for (int round = 0; round < 50; ++round) {
        Domain domain(2, 2, 256);
        Fifo* seen[2] = {};
        std::thread other([&] { seen[1] = &domain.fifo(0, 0, 1, 0, true); });
        seen[0] = &domain.fifo(0, 0, 1, 0, true);
        other.join();
        ASSERT_EQ(seen[0], seen[1]);
    }
}

TEST(FirstCauseOfAll, Wins) {
    constexpr int kThreads = 8;
    for (int round = 0; round < 100; ++round) {
        FirstCause first;
        EXPECT_FALSE(first.failed());
        EXPECT_EQ(first.get().code, Code::Success);
        std::atomic<int> ready{0};
        std::atomic<int> winners{0};
        std::atomic<Rank> winner{-1};
        std::vector<std::thread> threads;
        for (Rank rank = 0; rank < kThreads; ++rank) {
            threads.emplace_back([&, rank] {
                ready.fetch_add(1);
                while (ready.load() < kThreads) std::this_thread::yield();
                const Code code = rank % 2 == 0 ? Code::Timeout : Code::Aborted;
                if (first.set({.code = code, .rank = rank, .text = "cause " + std::to_string(rank)})) {
                    winners.fetch_add(1);
                    winner = rank;
                }
                // Whoever has set it, or tried, sees the one whole cause.
                ASSERT_TRUE(first.failed());
                const Cause cause = first.get();
                ASSERT_EQ(cause.text, "cause " + std::to_string(cause.rank));
                ASSERT_EQ(cause.code, cause.rank % 2 == 0 ? Code::Timeout : Code::Aborted);
            });
        }
        for (std::thread& thread : threads) thread.join();
        ASSERT_EQ(winners.load(), 1);
        ASSERT_EQ(first.get().rank, winner.load());
    }
}

TEST(Domain, FailureAndDepartureWakeSleepers) {
    using namespace std::chrono_literals;
    for (const bool departs : {false, true}) {
        Domain domain(3, 1, 128);
        transport::test::QuietWatch watches[2];
        const WaitPolicy policy = transport::test::sleepy_policy();
        std::vector<std::thread> sleepers;
        for (Rank rank = 0; rank < 2; ++rank) {
            sleepers.emplace_back([&, rank] {
                transport::test::wait_for(policy, domain.bell(rank), watches[rank],
                                          [&] { return departs ? domain.departed(2) : domain.failed(); });
            });
        }
        std::this_thread::sleep_for(30ms);
        if (departs) {
            domain.depart(2);
        } else {
            domain.first_cause().set({.code = Code::Timeout, .rank = 2, .text = "late"});
            domain.ring_all();
        }
        for (std::thread& sleeper : sleepers) sleeper.join();
        for (const auto& watch : watches) EXPECT_LT(watch.longest, policy.tick / 2);
        EXPECT_FALSE(domain.departed(0));
    }
}

TEST(Domain, AdvancedCounterWakesEveryPeer) {
    constexpr std::uint64_t kRounds = 2000;
    constexpr Rank kRanks = 3;
    Domain domain(kRanks, 1, 128);
    const WaitPolicy policy = transport::test::sleepy_policy();
    transport::test::QuietWatch watches[kRanks];
    // A barrier by counters: nobody enters round r + 1 before all have entered round r.
    std::vector<int> entered(kRanks);  // plain memory, ordered by the counters alone
    std::atomic<int> errors{0};
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
            for (std::uint64_t round = 1; round <= kRounds; ++round) {
                const int tag = round % 2 == 0 ? 1 : 0;
                if (tag == 0) entered[static_cast<std::size_t>(rank)] = static_cast<int>(round);
                domain.advance(domain.counter(5, rank, tag), round);
                for (Rank peer = 0; peer < kRanks; ++peer) {
                    transport::test::wait_for(policy, domain.bell(rank), watches[rank], [&] {
                        return domain.counter(5, peer, tag).value.load(std::memory_order_acquire) >= round;
                    });
                }
                if (tag == 0) {
                    for (const int seen : entered) errors += seen == static_cast<int>(round) ? 0 : 1;
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(errors.load(), 0);
    EXPECT_EQ(domain.counter(4, 0, 0).value.load(), 0U);
    EXPECT_EQ(domain.counter(5, 0, 2).value.load(), 0U);
    for (const auto& watch : watches) EXPECT_LT(watch.longest, policy.tick / 2);
}

/// Ranks 1 and 3 of four, each in a domain of its own over one segment, as in two processes.
class SharedDomain : public testing::Test {
protected:
    static Geometry geometry() { return {.nranks = 4, .members = {1, 3}, .slots = 2, .slot_bytes = 256}; }
    [[nodiscard]] Descriptor segment() const { return Descriptor(::dup(maker.descriptor())); }

    Domain maker{geometry(), std::make_shared<FirstCause>(), true};
    Domain other{geometry(), std::make_shared<FirstCause>(), segment()};
};

TEST_F(SharedDomain, CarriesMessagesRecordsAndDepartures) {
    EXPECT_TRUE(maker.has(1) && maker.has(3));
    EXPECT_FALSE(maker.has(0) || maker.has(2));
    Fifo& out = maker.fifo(0, 1, 3, 0, false);
    Fifo& in = other.fifo(0, 1, 3, 0, true);  // the other end needs slots first
    maker.fifo(0, 1, 3, 0, true);
    for (int i = 0; i < 50; ++i) {
        const bool inlined = i % 3 == 0;
        const std::size_t length = inlined ? 20 : 200;
        ASSERT_TRUE(out.writable(inlined));
        std::memset(out.write_place(inlined), i + 1, length);
        out.extend(length);
        out.post(inlined, static_cast<std::uint64_t>(i) * 77);
        ASSERT_TRUE(in.readable());
        ASSERT_EQ(in.read_length(), length);
        ASSERT_EQ(in.read_signature(), static_cast<std::uint64_t>(i) * 77);
        ASSERT_EQ(in.read_place(inlined)[length - 1], static_cast<std::byte>(i + 1));
        in.release(inlined);
    }
    maker.records(1).publish({.sequence = 9, .signature = 5, .call = {1, 2}});
    ASSERT_TRUE(other.records(1).find(9));
    EXPECT_EQ(other.records(1).find(9)->signature, 5U);
    maker.advance(maker.counter(3, 1, 2), 17);
    EXPECT_EQ(other.counter(3, 1, 2).value.load(), 17U);
    EXPECT_FALSE(other.departed(1));
    maker.depart(1);
    EXPECT_TRUE(other.departed(1));
    maker.first_cause().set({.code = Code::Timeout, .text = "of one process"});
    EXPECT_FALSE(other.failed()) << "the cause is each process's own";
}

TEST_F(SharedDomain, GivesEachRankOneWindow) {
    std::byte* own = maker.window(1);
    std::byte* theirs = maker.window(3);
    ASSERT_EQ(maker.window_bytes(), 4 * 2 * 256U);
    EXPECT_EQ(own, maker.window(1));
    EXPECT_GE(static_cast<std::size_t>(std::abs(own - theirs)), maker.window_bytes());
    for (std::size_t i = 0; i < maker.window_bytes(); ++i) {
        own[i] = static_cast<std::byte>(i * 7 + 1);
        theirs[i] = static_cast<std::byte>(i * 5 + 2);
    }
    for (std::size_t i = 0; i < maker.window_bytes(); ++i) {
        ASSERT_EQ(other.window(1)[i], static_cast<std::byte>(i * 7 + 1)) << i;
        ASSERT_EQ(other.window(3)[i], static_cast<std::byte>(i * 5 + 2)) << i;
    }
}

TEST_F(SharedDomain, IsForOneGeometry) {
    Geometry wrong = geometry();
    wrong.members = {0, 3};
    EXPECT_THROW(Domain(wrong, std::make_shared<FirstCause>(), segment()), Error);
    wrong = geometry();
    wrong.slot_bytes = 128;
    EXPECT_THROW(Domain(wrong, std::make_shared<FirstCause>(), segment()), Error);
}

TEST_F(SharedDomain, FollowsNoOffsetOutOfTheSegment) {
    maker.fifo(0, 1, 3, 0, false);
    // Whatever a peer writes over the whole directory: an error or a place inside.
    auto* words = static_cast<std::uint64_t*>(
        ::mmap(nullptr, std::size_t{1} << 20U, PROT_READ | PROT_WRITE, MAP_SHARED, maker.descriptor(), 0));
    ASSERT_NE(static_cast<void*>(words), MAP_FAILED);
    const std::uint64_t key = std::uint64_t{1} << 26U | 3;  // channel 0, tag 0, from 1 to 3
    int overwritten = 0;
    for (std::size_t i = 0; i + 1 < (std::size_t{1} << 17U); ++i) {
        if (words[i] != key + 1 || words[i + 1] == 0) continue;
        words[i + 1] = std::uint64_t{1} << 60U;
        ++overwritten;
    }
    ::munmap(words, std::size_t{1} << 20U);
    ASSERT_GE(overwritten, 1);
    EXPECT_THROW(other.fifo(0, 1, 3, 0, false), Error);
}

// The rule of leases: after the first cause is set, once nobody is inside, the owner may do what it likes with its
// buffer. The buffer is plain memory, so that the thread sanitizer proves the order.
TEST(Domain, LeasesOrderTheLastTouchBeforeTheOwnersReuse) {
    for (int round = 0; round < 300; ++round) {
        Domain domain(2, 1, 128);
        std::vector<int> buffer(64, 1);
        std::atomic<bool> touching{false};
        int touches = 0;
        std::thread peer([&] {
            while (true) {
                domain.enter(1);
                if (domain.failed()) {
                    domain.leave(1);
                    return;
                }
                for (int& element : buffer) element += 1;
                ++touches;
                touching.store(true, std::memory_order_relaxed);
                domain.leave(1);
            }
        });
        while (!touching.load(std::memory_order_relaxed)) std::this_thread::yield();
        domain.first_cause().set({.code = Code::Aborted, .rank = 0, .text = "over"});
        while (domain.inside(1)) std::this_thread::yield();
        const int expected = buffer[0];
        for (const int element : buffer) ASSERT_EQ(element, expected);
        for (int& element : buffer) element = -1;
        peer.join();
        for (const int element : buffer) ASSERT_EQ(element, -1) << "touched after " << touches << " leases";
    }
}

}  // namespace rondo::transport::memory::test
