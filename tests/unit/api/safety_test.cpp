// Failures at awkward moments: nobody touches a buffer that was given back, nobody is accused falsely, nobody hangs.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "collective_case.hpp"
#include "comm_ranks.hpp"

namespace rondo::api::test {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Memory whose every later use can be made to fault.
class Revocable {
public:
    explicit Revocable(std::size_t bytes) : bytes_(bytes) {
        void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(mapped, MAP_FAILED);
        data_ = static_cast<std::byte*>(mapped);
    }
    ~Revocable() { ::munmap(data_, bytes_); }
    Revocable(const Revocable&) = delete;
    Revocable& operator=(const Revocable&) = delete;

    [[nodiscard]] std::byte* data() const { return data_; }
    void revoke() const { EXPECT_EQ(::mprotect(data_, bytes_, PROT_NONE), 0); }

private:
    std::size_t bytes_;
    std::byte* data_ = nullptr;
};

rondoConfig_t forced(const char* algo) {
    rondoConfig_t how = config();
    how.algo = algo;
    how.timeout = 30;
    return how;
}

}  // namespace

// A call that fails gives its buffers back like any other: no peer may be copying from or to them then. If one is, this
// test ends with a fault.
TEST(Buffers, AreTheUsersAgainAfterAFailedCall) {
    constexpr int kRanks = 3;
    constexpr std::size_t kBlock = std::size_t{4} << 20U;
    std::mt19937 random(seed());
    for (int round = 0; round < 25; ++round) {
        const Ranks ranks(kRanks, forced("direct"));
        const auto delay = microseconds(random() % 6000);
        std::thread aborter;
        ranks.run([&](int rank, rondoComm_t comm) {
            const Revocable in(kBlock);
            const Revocable out(kRanks * kBlock);
            std::memset(in.data(), rank, kBlock);
            std::memset(out.data(), 9, kRanks * kBlock);
            if (rank == 2) {
                aborter = std::thread([&ranks, delay] {
                    std::this_thread::sleep_for(delay);
                    EXPECT_EQ(rondoCommAbort(ranks[2]), rondoSuccess);
                });
            }
            rondoResult_t result = rondoSuccess;
            for (int i = 0; i < 100 && result == rondoSuccess; ++i) {
                result = rondoAllGather(in.data(), out.data(), kBlock, rondoUint8, comm, nullptr);
            }
            EXPECT_EQ(result, rank == 2 ? rondoAborted : rondoRemoteError);
            in.revoke();
            out.revoke();
            // The others may be late; the memory is there, and faulting, until all are done.
            std::this_thread::sleep_for(milliseconds(5));
        });
        aborter.join();
    }
}

// The receiver looks around before it sleeps. What it must not see: "no message yet", then "the sender is gone".
TEST(Departure, RightAfterASendIsNoFault) {
    std::mt19937 random(seed());
    for (int round = 0; round < 3000; ++round) {
        Ranks ranks(2, with_timeout(30));
        const auto spins = static_cast<unsigned>(random() % 3000);
        ranks.run([&](int rank, rondoComm_t comm) {
            std::uint64_t data = rank == 1 ? 42 : 0;
            if (rank == 1) {
                for (unsigned i = 0; i < spins; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
                ASSERT_EQ(rondoSend(&data, 1, rondoUint64, 0, comm, nullptr), rondoSuccess);
                ASSERT_EQ(ranks.destroy(1), rondoSuccess);
            } else {
                ASSERT_EQ(rondoRecv(&data, 1, rondoUint64, 1, comm, nullptr), rondoSuccess)
                    << rondoGetLastError(nullptr);
                ASSERT_EQ(data, 42U);
            }
        });
        if (HasFailure()) return;
    }
}

TEST(Departure, EndsSendsAndReceivesThatNeedThePeer) {
    for (const bool send : {true, false}) {
        Ranks ranks(3, with_timeout(60));
        ranks.run([&](int rank, rondoComm_t comm) {
            if (rank == 2) {
                std::this_thread::sleep_for(milliseconds(50));
                ASSERT_EQ(ranks.destroy(2), rondoSuccess);
            } else if (rank == 0) {
                std::vector<std::byte> data(4'000'000);
                const Outcome outcome = outcome_of([&] {
                    return send ? rondoSend(data.data(), data.size(), rondoUint8, 2, comm, nullptr)
                                : rondoRecv(data.data(), 10, rondoUint8, 2, comm, nullptr);
                });
                expect(outcome, rondoRemoteError, {"rank 2", "destroyed"});
                EXPECT_LT(outcome.seconds, 10);
            }
        });
    }
}

// The state may be asked for from any thread while another one starts to use the communicator.
TEST(Init, StateIsReadWhileTheFirstCallRuns) {
    for (int round = 0; round < 50; ++round) {
        rondoUniqueId id;
        ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
        rondoConfig_t how = config();
        how.blocking = 0;
        rondoComm_t comms[2] = {};
        for (int rank = 0; rank < 2; ++rank)
            ASSERT_EQ(rondoCommInitRankConfig(&comms[rank], 2, id, rank, &how), rondoInProgress);
        for (const rondoComm_t comm : comms) ASSERT_EQ(settled_state(comm), rondoSuccess);
        std::atomic<bool> over{false};
        std::thread asker([&] {
            while (!over.load()) {
                rondoResult_t state = rondoInProgress;
                ASSERT_EQ(rondoCommGetAsyncError(comms[0], &state), rondoSuccess);
                ASSERT_EQ(state, rondoSuccess);
            }
        });
        std::thread peer([&] { ASSERT_EQ(rondoBarrier(comms[1], nullptr), rondoSuccess); });
        EXPECT_EQ(rondoBarrier(comms[0], nullptr), rondoSuccess);
        peer.join();
        over = true;
        asker.join();
        for (const rondoComm_t comm : comms) EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
    }
}

TEST(Init, RankThatComesAfterTheOthersGaveUpIsToldSo) {
    rondoUniqueId id;
    ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
    const rondoConfig_t how = with_timeout(0.1);
    rondoComm_t comm = nullptr;
    expect(outcome_of([&] { return rondoCommInitRankConfig(&comm, 2, id, 0, &how); }), rondoTimeout, {"missing: 1"});
    const Outcome late = outcome_of([&] { return rondoCommInitRankConfig(&comm, 2, id, 1, &how); });
    EXPECT_NE(late.result, rondoSuccess) << "rank 0 will never take part";
    expect(late, late.result, {"rank 0 failed first", "missing: 1"});
}

TEST(Timeout, NamesTheMissingRankWithEveryAlgorithm) {
    for (const char* algo : {"direct", "one_shot", "two_shot"}) {
        rondoConfig_t how = forced(algo);
        how.timeout = 0.3;
        const Ranks ranks(4, how);
        ranks.run([&](int rank, rondoComm_t comm) {
            if (rank == 3) return;
            float data[8] = {};
            const Outcome outcome =
                outcome_of([&] { return rondoAllReduce(data, data, 8, rondoFloat32, rondoSum, comm, nullptr); });
            expect(outcome, rondoTimeout, {"arrived: 0-2", "missing: 3"});
            // Elsewhere a rank may wait for one that is there, and cannot go on without the missing one.
            if (std::string(algo) == "one_shot") expect(outcome, rondoTimeout, {"waiting for rank(s) 3;"});
        });
    }
}

TEST(Timeout, EndsOperationsOnStreamsToo) {
    const Ranks ranks(2, with_timeout(0.3));
    rondoStream_t stream = nullptr;
    ASSERT_EQ(rondoStreamCreate(&stream), rondoSuccess);
    ASSERT_EQ(rondoBarrier(ranks[0], stream), rondoSuccess);
    ASSERT_EQ(rondoBarrier(ranks[0], stream), rondoSuccess);
    const Outcome outcome = outcome_of([&] { return rondoStreamSynchronize(stream); });
    expect(outcome, rondoTimeout, {"call 1 barrier()", "missing: 1"});
    EXPECT_LT(outcome.seconds, 5) << "the second one fails at once with the first cause";
    EXPECT_EQ(rondoStreamDestroy(stream), rondoSuccess);
}

// The child of a fork has none of the communicator's threads and shares none of its memory: every way into it is
// closed.
TEST(Fork, ChildIsRefusedOnEveryWay) {
    const Ranks ranks(2);
    rondoStream_t stream = nullptr;
    ASSERT_EQ(rondoStreamCreate(&stream), rondoSuccess);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::alarm(20);  // a hang ends the child
        const std::string parent = "belongs to pid " + std::to_string(::getppid());
        int data = 1;
        const auto refused = [&](auto call_it) {
            return call_it() == rondoInvalidUsage &&
                   std::string(rondoGetLastError(nullptr)).find(parent) != std::string::npos;
        };
        int open = 0;
        open |= refused([&] { return rondoBarrier(ranks[0], nullptr); }) ? 0 : 1;
        open |= refused([&] { return rondoBarrier(ranks[0], stream); }) ? 0 : 2;
        open |= refused([&] { return rondoSend(&data, 1, rondoInt32, 1, ranks[0], nullptr); }) ? 0 : 4;
        open |= refused([&] {
            rondoGroupStart();
            rondoAllReduce(&data, &data, 1, rondoInt32, rondoSum, ranks[0], nullptr);
            return rondoGroupEnd();
        })
                    ? 0
                    : 8;
        open |= refused([&] { return rondoCommDestroy(ranks[0]); }) ? 0 : 16;
        open |= refused([&] { return rondoCommFinalize(ranks[1]); }) ? 0 : 32;
        open |= refused([&] { return rondoCommAbort(ranks[0]); }) ? 0 : 64;
        ::_exit(open);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "the child was ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "open ways, as bits";
    ranks.run([](int rank, rondoComm_t comm) {
        EXPECT_EQ(run_case({.count = 10}, rank, 2, comm), "") << "the parent works on";
    });
    EXPECT_EQ(rondoStreamDestroy(stream), rondoSuccess);
}

namespace {

struct Mismatch {
    Collective collective;
    const char* algo;
};

class Counts : public testing::TestWithParam<Mismatch> {};

}  // namespace

// One rank's count is off by one, whatever the algorithm and wherever the rank stands in it: no call returns success
// with a partial result, and every rank learns of both counts.
TEST_P(Counts, ThatDifferAreFoundByEveryAlgorithm) {
    constexpr int kRanks = 5;
    const Collective collective = GetParam().collective;
    const auto algo = GetParam().algo;
    const std::string rule = std::string(plan::name_of(collective)) + ":" + algo;
    for (const std::size_t count : {3, 28, 40'000}) {
        for (const int odd : {0, 1, kRanks - 1}) {
            const Ranks ranks(kRanks, forced(rule.c_str()));
            ranks.run([&](int rank, rondoComm_t comm) {
                const Case given{.collective = collective, .root = 1, .count = rank == odd ? count + 1 : count};
                std::vector<std::int32_t> in((count + 1) * kRanks, 1);
                std::vector<std::int32_t> out((count + 1) * kRanks);
                Outcome outcome = outcome_of([&] { return call(given, in.data(), out.data(), comm); });
                const bool first = outcome.result != rondoSuccess;
                if (!first) outcome = outcome_of([&] { return rondoBarrier(comm, nullptr); });
                expect(outcome, rondoInvalidUsage,
                       {"call 1", "rank " + std::to_string(odd), "count " + std::to_string(count),
                        "count " + std::to_string(count + 1), "they differ in: count"});
                EXPECT_LT(outcome.seconds, 10);
                const bool one_way = collective == Collective::Broadcast || collective == Collective::Reduce;
                EXPECT_TRUE(first || one_way) << rule << ": rank " << rank << " returned a result that cannot be right";
            });
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, Counts,
    testing::Values(Mismatch{Collective::AllReduce, "ring"}, Mismatch{Collective::AllReduce, "tree"},
                    Mismatch{Collective::AllReduce, "halving_doubling"}, Mismatch{Collective::AllReduce, "pat"},
                    Mismatch{Collective::AllReduce, "one_shot"}, Mismatch{Collective::AllReduce, "two_shot"},
                    Mismatch{Collective::AllReduce, "direct"}, Mismatch{Collective::Reduce, "ring"},
                    Mismatch{Collective::Reduce, "tree"}, Mismatch{Collective::Reduce, "direct"},
                    Mismatch{Collective::Broadcast, "ring"}, Mismatch{Collective::Broadcast, "tree"},
                    Mismatch{Collective::Broadcast, "direct"}, Mismatch{Collective::AllGather, "ring"},
                    Mismatch{Collective::AllGather, "pat"}, Mismatch{Collective::AllGather, "direct"},
                    Mismatch{Collective::ReduceScatter, "ring"}, Mismatch{Collective::ReduceScatter, "pat"},
                    Mismatch{Collective::ReduceScatter, "direct"}, Mismatch{Collective::AllToAll, "pairwise"},
                    Mismatch{Collective::AllToAll, "bruck"}, Mismatch{Collective::AllToAll, "direct"}),
    [](const auto& mismatch) {
        return std::string(plan::name_of(mismatch.param.collective)) + "_" + mismatch.param.algo;
    });

}  // namespace rondo::api::test
