#include "transport/wait.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <random>
#include <thread>

#include "quiet_watch.hpp"

namespace rondo::transport::test {

namespace {

using namespace std::chrono_literals;

void burn(std::chrono::nanoseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {}
}

/// Keeps the calling thread on the `index`-th CPU that it may use, so that two threads really run side by side.
class OnCpu {
public:
    explicit OnCpu(int index) {
        CPU_ZERO(&before_);
        ::sched_getaffinity(0, sizeof(before_), &before_);
        int left = index % CPU_COUNT(&before_);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (!CPU_ISSET(cpu, &before_) || left-- > 0) continue;
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            ::sched_setaffinity(0, sizeof(one), &one);
            return;
        }
    }
    ~OnCpu() { ::sched_setaffinity(0, sizeof(before_), &before_); }
    OnCpu(const OnCpu&) = delete;
    OnCpu& operator=(const OnCpu&) = delete;

private:
    cpu_set_t before_;
};

/// A Watch whose answers the test sets.
class ScriptedWatch final : public Watch {
public:
    [[nodiscard]] bool stopped() const noexcept override { return stop.load(); }
    Code examine(std::chrono::nanoseconds waited) noexcept override {
        last = waited;
        ++examined;
        return examined > patience ? answer : Code::Success;
    }

    std::atomic<bool> stop{false};
    Code answer = Code::Success;
    int patience = 0;  ///< examinations that find nothing before `answer`
    int examined = 0;
    std::chrono::nanoseconds last{-1};
};

}  // namespace

TEST(Doorbell, RingsOnlyForAnAnnouncedOwner) {
    Doorbell bell;
    const std::uint32_t before = bell.announce();
    bell.retract();
    bell.notify();
    EXPECT_EQ(bell.announce(), before) << "nobody slept";
    bell.notify();
    EXPECT_EQ(bell.announce(), before + 1);
}

TEST(Doorbell, DoesNotSleepWhenItRangAfterTheAnnouncement) {
    Doorbell bell;
    const std::uint32_t word = bell.announce();
    bell.notify();
    const auto began = Clock::now();
    bell.sleep(word, std::chrono::nanoseconds(20s).count());
    EXPECT_LT(Clock::now() - began, 10s);
}

TEST(Doorbell, SleepEndsByItself) {
    Doorbell bell;
    const auto began = Clock::now();
    bell.sleep(bell.announce(), std::chrono::nanoseconds(300us).count());
    EXPECT_GE(Clock::now() - began, 250us);
}

// The poster aims at every point of the waiter's way into sleep: it watches the waiter's polls and examinations, and
// posts at a poll drawn at random, or while the waiter falls asleep.
TEST(Doorbell, NoWakeUpIsLost) {
    constexpr std::uint64_t kRounds = 4000;
    const WaitPolicy policy = sleepy_policy();
    Doorbell bell;
    std::atomic<std::uint64_t> started{0};  // rounds that the sleeper has begun
    std::atomic<std::uint64_t> posted{0};
    std::atomic<int> polls{0};  // of this round
    std::atomic<bool> over{false};
    struct CountingWatch final : Watch {
        [[nodiscard]] bool stopped() const noexcept override { return false; }
        Code examine(std::chrono::nanoseconds) noexcept override {
            ++examined;
            asleep.store(true, std::memory_order_release);
            burn(std::chrono::nanoseconds(random() % 1500));  // room for a post between the last poll and the sleep
            return Code::Success;
        }
        std::atomic<bool> asleep{false};  // or about to be
        int examined = 0;
        std::chrono::nanoseconds longest{0};
        std::mt19937 random{2};
    } watch;
    std::thread sleeper([&] {
        const OnCpu pinned(0);
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            if (watch.longest > policy.tick / 2) break;  // one is enough, and each takes a tick
            polls.store(0);
            watch.asleep.store(false);
            started.store(round);
            wait_for(policy, bell, watch, [&] {
                // No read-modify-write: it would be a barrier where the library must bring its own.
                polls.store(polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                return posted.load(std::memory_order_acquire) >= round;
            });
        }
        over.store(true);
    });
    const OnCpu pinned(1);
    std::mt19937 random(1);
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        while (started.load() < round && !over.load()) std::this_thread::yield();
        if (over.load()) break;
        // A wait announces its sleep after 41 polls, polls once more and sleeps.
        const bool close = random() % 2 == 0;
        const int aim = static_cast<int>(close ? 40 + random() % 3 : 30 + random() % 24);
        const std::chrono::nanoseconds delay(random() % (close ? 400 : 3000));
        for (int i = 1; polls.load(std::memory_order_relaxed) < aim && !watch.asleep.load(); ++i) {
            if (i % 256 == 0) std::this_thread::yield();
        }
        burn(delay);
        posted.store(round, std::memory_order_release);
        bell.notify();
    }
    sleeper.join();
    EXPECT_GT(watch.examined, 100) << "this test is about sleepers, and nobody slept";
    EXPECT_LT(watch.longest, policy.tick / 2) << "the sleeper slept through a post";
}

// Several posters, one sleeper: every post must be seen although the flag is shared.
TEST(Doorbell, ManyPostersWakeOneSleeper) {
    constexpr int kPosters = 4;
    constexpr std::uint64_t kPosts = 2000;
    const WaitPolicy policy = sleepy_policy();
    Doorbell bell;
    std::atomic<std::uint64_t> posted[kPosters] = {};
    std::atomic<std::uint64_t> taken{0};
    Doorbell poster_bells[kPosters];
    QuietWatch poster_watches[kPosters];
    std::vector<std::thread> posters;
    for (int poster = 0; poster < kPosters; ++poster) {
        posters.emplace_back([&, poster] {
            std::mt19937 random(static_cast<unsigned>(poster));
            for (std::uint64_t post = 1; post <= kPosts; ++post) {
                wait_for(policy, poster_bells[poster], poster_watches[poster],
                         [&] { return taken.load(std::memory_order_acquire) + 1 >= post; });
                burn(std::chrono::nanoseconds(random() % 4000));
                posted[poster].store(post, std::memory_order_release);
                bell.notify();
            }
        });
    }
    QuietWatch watch;
    for (std::uint64_t round = 1; round <= kPosts; ++round) {
        for (auto& post : posted) {
            wait_for(policy, bell, watch, [&] { return post.load(std::memory_order_acquire) >= round; });
        }
        taken.store(round, std::memory_order_release);
        for (Doorbell& poster_bell : poster_bells) poster_bell.notify();
    }
    for (std::thread& thread : posters) thread.join();
    EXPECT_LT(watch.longest, policy.tick / 2);
    for (const QuietWatch& poster : poster_watches) EXPECT_LT(poster.longest, policy.tick / 2);
}

TEST(Waiter, GivesUpWithTheCodeOfTheExamination) {
    for (const Code code : {Code::Timeout, Code::RemoteError, Code::InvalidUsage}) {
        ScriptedWatch watch;
        watch.answer = code;
        watch.patience = 3;
        Doorbell bell;
        WaitPolicy policy = sleepy_policy();
        policy.tick = 1ms;
        Waiter waiter(policy, bell, watch);
        Code result = Code::Success;
        while (result == Code::Success) result = waiter.pause();
        EXPECT_EQ(result, code);
        EXPECT_EQ(watch.examined, 4);
        EXPECT_GE(watch.last, 3ms) << "three ticks passed before the fourth examination";
    }
}

TEST(Waiter, StopEndsASpinningWait) {
    ScriptedWatch watch;
    watch.stop = true;
    watch.answer = Code::Aborted;
    Doorbell bell;
    const WaitPolicy policy{.spin = 1h, .yield = 1h, .tick = 1h};
    Waiter waiter(policy, bell, watch);
    Code result = Code::Success;
    int pauses = 0;
    while (result == Code::Success && pauses < 1000) {
        result = waiter.pause();
        ++pauses;
    }
    EXPECT_EQ(result, Code::Aborted);
    EXPECT_LE(pauses, 64) << "the abort word is looked at every few polls";
}

TEST(Waiter, StopAndRingEndASleep) {
    ScriptedWatch watch;
    Doorbell bell;
    WaitPolicy policy = sleepy_policy();
    policy.tick = 30s;
    std::thread stopper([&] {
        std::this_thread::sleep_for(50ms);
        watch.answer = Code::Aborted;
        watch.stop = true;
        bell.ring();
    });
    const auto began = Clock::now();
    Code result = Code::Success;
    {
        Waiter waiter(policy, bell, watch);
        // `answer` is read by this thread only after `stop` was seen, or before the sleep with patience left.
        watch.patience = 1;
        while (result == Code::Success) result = waiter.pause();
    }
    stopper.join();
    EXPECT_EQ(result, Code::Aborted);
    EXPECT_LT(Clock::now() - began, 10s);
}

TEST(Waiter, RestartBeginsTheLadderAnew) {
    ScriptedWatch watch;
    watch.answer = Code::Success;
    Doorbell bell;
    WaitPolicy policy = sleepy_policy();
    policy.spin = 5ms;
    policy.tick = 100us;
    Waiter waiter(policy, bell, watch);
    while (watch.examined < 3) ASSERT_EQ(waiter.pause(), Code::Success);
    const std::uint32_t word = bell.announce();
    waiter.restart();
    bell.notify();
    EXPECT_EQ(bell.announce(), word) << "after restart() the waiter is awake and needs no ring";
    bell.retract();
    const int before = watch.examined;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(waiter.pause(), Code::Success);
    EXPECT_EQ(watch.examined, before) << "the first polls after progress spin";
}

TEST(Waiter, LeavesTheBellSilentBehind) {
    QuietWatch watch;
    Doorbell bell;
    WaitPolicy policy = sleepy_policy();
    policy.tick = 100us;
    {
        Waiter waiter(policy, bell, watch);
        while (watch.examined < 1) ASSERT_EQ(waiter.pause(), Code::Success);
    }
    const std::uint32_t word = bell.announce();
    bell.retract();
    bell.notify();
    EXPECT_EQ(bell.announce(), word);
}

TEST(WaitPolicy, FollowsCoresAndSetting) {
    const WaitPolicy roomy = wait_policy(4, 8, -1);
    EXPECT_GT(roomy.spin, 0ns);
    EXPECT_FALSE(roomy.crowded);
    const WaitPolicy crowded = wait_policy(9, 8, -1);
    EXPECT_EQ(crowded.spin, 0ns) << "a spinning rank keeps another from running";
    EXPECT_TRUE(crowded.crowded);
    EXPECT_EQ(wait_policy(9, 8, 25).spin, 25us) << "the setting wins";
    EXPECT_EQ(wait_policy(2, 8, 0).spin, 0ns);
    EXPECT_EQ(wait_policy(2, 8, 0.5).spin, 500ns);
}

}  // namespace rondo::transport::test
