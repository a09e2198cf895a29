// Sleeping in Network::wait(): everything that should end it does, and meanwhile it costs nothing.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tcp_networks.hpp"

namespace rondo::transport::tcp::test {

namespace {

using memory::Fifo;
using std::chrono::milliseconds;

constexpr std::size_t kSlotBytes = 1U << 20U;
constexpr auto kLong = std::chrono::seconds(5);

double seconds_of(const std::function<void()>& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double cpu_of_thread() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct TwoRanks {
    explicit TwoRanks(Wire wire = Wire::Loopback, int buffer = 0)
        : networks(2, 4, kSlotBytes, 1, wire, buffer),
          out(&networks[0].fifo(0, 0, 1, 0, true)),
          in(&networks[1].fifo(0, 0, 1, 0, true)) {
        settle();
    }
    /// Until there is nothing to move.
    void settle() {
        for (int quiet = 0; quiet < 20;) {
            const bool first = networks[0].progress();
            quiet = networks[1].progress() || first ? 0 : quiet + 1;
        }
        networks[0].wait(milliseconds(0));  // wakes of the deliveries
        networks[1].wait(milliseconds(0));
    }
    void post(std::size_t bytes) {
        out->extend(bytes);
        out->post(bytes <= memory::kInline, 1);
        networks[0].progress();
    }
    Networks networks;
    Fifo* out;
    Fifo* in;
};

/// Sleeps on rank 1 until `over`, while another thread does `news` after 50 ms. Seconds that took.
double woken_by(TwoRanks& ranks, const std::function<void()>& news, const std::function<bool()>& over) {
    std::thread other([&] {
        std::this_thread::sleep_for(milliseconds(50));
        news();
    });
    const double seconds = seconds_of([&] {
        const auto end = std::chrono::steady_clock::now() + kLong;
        while (!over() && std::chrono::steady_clock::now() < end) {
            if (!ranks.networks[1].progress()) ranks.networks[1].wait(kLong);
        }
    });
    other.join();
    return seconds;
}

}  // namespace

TEST(TcpWait, EndsWhenDataComes) {
    for (const Wire wire : {Wire::SocketPair, Wire::Loopback}) {
        TwoRanks ranks(wire);
        const double seconds = woken_by(
            ranks, [&] { ranks.post(8); }, [&] { return ranks.in->readable(); });
        EXPECT_GE(seconds, 0.04);
        EXPECT_LT(seconds, 2);
    }
}

TEST(TcpWait, EndsWhenAPeerEnds) {
    TwoRanks ranks;
    const double seconds = woken_by(
        ranks, [&] { ranks.networks.kill(0); }, [&] { return ranks.networks[1].lost().has_value(); });
    EXPECT_LT(seconds, 2);
}

TEST(TcpWait, EndsWhenAConnectionIsDelivered) {
    class Later final : public Dialer {
    public:
        void dial(Rank, int) override { asked = true; }
        bool asked = false;
    };
    Doorbell bell;
    Later dialer;
    Network network(0, 2, 4, kSlotBytes, bell, dialer, 1);
    Fifo& out = network.fifo(0, 0, 1, 0, false);
    EXPECT_TRUE(dialer.asked);
    out.extend(8);
    out.post(true, 1);
    EXPECT_FALSE(network.progress());
    EXPECT_FALSE(network.flushed());
    auto [mine, theirs] = connected(Wire::Loopback);
    std::thread other([&network, socket = std::move(mine)]() mutable {
        std::this_thread::sleep_for(milliseconds(50));
        network.deliver(1, 0, std::move(socket));
    });
    const double seconds = seconds_of([&] {
        const auto end = std::chrono::steady_clock::now() + kLong;
        while (!network.flushed() && std::chrono::steady_clock::now() < end) {
            if (!network.progress()) network.wait(kLong);
        }
    });
    other.join();
    EXPECT_TRUE(network.flushed());
    EXPECT_LT(seconds, 2);
}

TEST(TcpWait, EndsWhenWoken) {
    TwoRanks ranks;
    std::atomic<bool> news{false};
    const double seconds = woken_by(
        ranks,
        [&] {
            news = true;
            ranks.networks[1].wake();
        },
        [&] { return news.load(); });
    EXPECT_LT(seconds, 2);
}

TEST(TcpWait, AWakeThatComesBeforeIsNotLost) {
    TwoRanks ranks;
    ranks.networks[1].wake();
    ranks.networks[1].progress();  // sees the bell's event, too
    EXPECT_LT(seconds_of([&] { ranks.networks[1].wait(kLong); }), 2);
    EXPECT_GE(seconds_of([&] { ranks.networks[1].wait(milliseconds(30)); }), 0.025) << "once is enough";
}

TEST(TcpWait, NoWakeIsEverMissed) {
    TwoRanks ranks;
    constexpr int kRounds = 3000;
    std::atomic<int> asked{0};
    std::atomic<int> seen{0};
    std::thread other([&] {
        for (int i = 1; i <= kRounds; ++i) {
            asked = i;
            ranks.networks[1].wake();
            while (seen < i) std::this_thread::yield();
        }
    });
    double longest = 0;
    while (seen < kRounds) {
        ranks.networks[1].progress();
        if (asked > seen) {
            seen = asked.load();
            continue;
        }
        longest = std::max(longest, seconds_of([&] { ranks.networks[1].wait(kLong); }));
    }
    other.join();
    EXPECT_LT(longest, 4) << "a wake was missed";
}

TEST(TcpWait, EndsWhenStuckOutputCanGoOn) {
    TwoRanks ranks(Wire::Loopback, 4096);
    // More than the system buffers; rank 1 reads nothing yet.
    for (int i = 0; i < 4; ++i) ranks.post(kSlotBytes);
    while (ranks.networks[0].progress()) {}
    ASSERT_FALSE(ranks.networks[0].flushed());
    const double before = cpu_of_thread();
    const double stuck = seconds_of([&] {
        for (int i = 0; i < 4; ++i) {
            if (!ranks.networks[0].progress()) ranks.networks[0].wait(milliseconds(50));
        }
    });
    EXPECT_LT(cpu_of_thread() - before, 0.02 + stuck / 4) << "it did not sleep";
    std::atomic<bool> over{false};
    std::thread reader([&] {
        std::this_thread::sleep_for(milliseconds(50));
        int got = 0;
        while (got < 4) {
            ranks.networks[1].progress();
            for (; ranks.in->readable(); ++got) ranks.in->release(false);
        }
        over = true;
    });
    const double seconds = seconds_of([&] {
        const auto end = std::chrono::steady_clock::now() + kLong;
        while (!ranks.networks[0].flushed() && std::chrono::steady_clock::now() < end) {
            if (!ranks.networks[0].progress()) ranks.networks[0].wait(kLong);
        }
    });
    EXPECT_TRUE(ranks.networks[0].flushed());
    EXPECT_LT(seconds, 2);
    reader.join();
    EXPECT_TRUE(over);
}

TEST(TcpWait, CostsNothing) {
    TwoRanks ranks;
    const double cpu = cpu_of_thread();
    const double seconds = seconds_of([&] {
        for (int i = 0; i < 10; ++i) {
            if (!ranks.networks[1].progress()) ranks.networks[1].wait(milliseconds(50));
        }
    });
    EXPECT_GE(seconds, 0.45);
    EXPECT_LT(cpu_of_thread() - cpu, 0.02);
}

TEST(TcpWait, KeepsShortTimes) {
    TwoRanks ranks;
    const double seconds = seconds_of([&] {
        for (int i = 0; i < 20; ++i) ranks.networks[1].wait(std::chrono::microseconds(200));
    });
    EXPECT_GE(seconds, 0.003);
    EXPECT_LT(seconds, 1);
}

}  // namespace rondo::transport::tcp::test
