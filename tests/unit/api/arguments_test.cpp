// What is refused without communication, and what is not: null pointers, sizes, overlaps.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "collective_case.hpp"

namespace rondo::api::test {

namespace {

constexpr Collective kWithBuffers[] = {Collective::AllReduce, Collective::Reduce,        Collective::Broadcast,
                                       Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll};

std::string function_of(Collective collective) {
    switch (collective) {
        case Collective::AllReduce: return "rondoAllReduce";
        case Collective::Reduce: return "rondoReduce";
        case Collective::Broadcast: return "rondoBroadcast";
        case Collective::AllGather: return "rondoAllGather";
        case Collective::ReduceScatter: return "rondoReduceScatter";
        default: return "rondoAllToAll";
    }
}

std::string hex(const void* pointer) {
    char text[40];
    std::snprintf(text, sizeof(text), "%#zx", reinterpret_cast<std::size_t>(pointer));
    return text;
}

}  // namespace

TEST(ZeroSize, EveryCollectiveAndTypeTakesNullPointers) {
    for (const int nranks : {1, 2, 3, 4}) {
        const Ranks ranks(nranks);
        ranks.run([&](int rank, rondoComm_t comm) {
            std::byte guard[16];
            std::memset(guard, 0xa5, sizeof(guard));
            for (const Collective collective : kWithBuffers) {
                for (const rondoDataType_t type : kTypes) {
                    const Case given{.collective = collective, .type = type, .op = kOps[type % 5], .root = nranks - 1};
                    ASSERT_EQ(call(given, nullptr, nullptr, comm), rondoSuccess) << describe(given);
                    ASSERT_EQ(call(given, guard, guard, comm), rondoSuccess) << describe(given);
                }
            }
            for (const std::byte byte : guard) ASSERT_EQ(byte, std::byte{0xa5});
            for (int i = 0; i < 1000; ++i) {
                const Case given{.collective = kWithBuffers[static_cast<std::size_t>(i) % 6]};
                ASSERT_EQ(call(given, nullptr, nullptr, comm), rondoSuccess);
            }
            // Ranks are still in step.
            ASSERT_EQ(run_case({.type = rondoFloat32, .count = 1024}, rank, nranks, comm), "");
        });
    }
}

TEST(ZeroSize, ACallWithoutElementsStillCounts) {
    for (const int late : {-1, 0, 1}) {  // the rank that comes later, after the other may have gone on to its next call
        const Ranks ranks(2);
        ranks.run([](int rank, rondoComm_t comm) { EXPECT_EQ(run_case({.count = 1}, rank, 2, comm), ""); });
        // One rank has nothing to give, the other does: they disagree, and that must not pass.
        ranks.run([&](int rank, rondoComm_t comm) {
            float data = 1;
            const auto reduce = [&](std::size_t count) {
                return rondoAllReduce(&data, &data, count, rondoFloat32, rondoSum, comm, nullptr);
            };
            if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(30));
            Outcome outcome = outcome_of([&] { return reduce(static_cast<std::size_t>(rank)); });
            if (outcome.result == rondoSuccess) outcome = outcome_of([&] { return reduce(1); });
            expect(outcome, rondoInvalidUsage, {"call 2", "count 0", "count 1", "they differ in: count"});
        });
    }
}

TEST(Arguments, EachIsCheckedAndNamed) {
    const Ranks ranks(2);
    rondoComm_t comm = ranks[0];
    std::vector<float> a(64, 1);
    std::vector<float> b(64, 2);
    for (const Collective collective : kWithBuffers) {
        const std::string function = function_of(collective);
        const auto outcome = [&](const void* in, void* out, Case given) {
            given.collective = collective;
            given.type = given.type == rondoInt32 ? rondoFloat32 : given.type;
            return outcome_of([&] { return call(given, in, out, comm); });
        };
        expect(outcome(nullptr, b.data(), {.count = 3}), rondoInvalidArgument,
               {function, "sendbuff is null", "count 3"});
        expect(outcome(a.data(), nullptr, {.count = 3}), rondoInvalidArgument,
               {function, "recvbuff is null", "count 3"});
        for (const int type : {-1, 10, 11, 14, 255, 256, 1 << 20}) {
            expect(outcome(a.data(), b.data(), {.type = raw<rondoDataType_t>(type), .count = 3}), rondoInvalidArgument,
                   {function, "datatype " + std::to_string(type), "allowed"});
        }
        if (plan::reduces(collective)) {
            for (const int op : {-1, 5, 1000}) {
                expect(outcome(a.data(), b.data(), {.op = raw<rondoRedOp_t>(op), .count = 3}), rondoInvalidArgument,
                       {function, "op " + std::to_string(op), "allowed"});
            }
        }
        if (plan::rooted(collective)) {
            for (const int root : {-1, 2, 1000}) {
                expect(outcome(a.data(), b.data(), {.root = root, .count = 3}), rondoInvalidArgument,
                       {function, "root " + std::to_string(root), "allowed: 0 to 1"});
            }
        }
        const std::size_t huge = std::numeric_limits<std::size_t>::max() / 2;
        expect(outcome(a.data(), b.data(), {.type = rondoFloat64, .count = huge}), rondoInvalidArgument,
               {function, std::to_string(huge), "double", "2^63"});
        expect(outcome_of([&] { return call({.collective = collective, .count = 1}, a.data(), b.data(), nullptr); }),
               rondoInvalidArgument, {function, "comm is null"});
    }
    expect(outcome_of([&] { return rondoBarrier(nullptr, nullptr); }), rondoInvalidArgument,
           {"rondoBarrier", "comm is null"});
    // Nothing of this was a call: the ranks are in step.
    ranks.run([](int rank, rondoComm_t c) { EXPECT_EQ(run_case({.count = 100}, rank, 2, c), ""); });
}

TEST(Arguments, OfSendAndRecv) {
    const Ranks ranks(2);
    int data = 7;
    for (const bool send : {true, false}) {
        const std::string function = send ? "rondoSend" : "rondoRecv";
        const auto outcome = [&](void* buffer, std::size_t count, rondoDataType_t type, int peer, rondoComm_t comm) {
            return outcome_of([&] {
                return send ? rondoSend(buffer, count, type, peer, comm, nullptr)
                            : rondoRecv(buffer, count, type, peer, comm, nullptr);
            });
        };
        expect(outcome(nullptr, 1, rondoInt32, 1, ranks[0]), rondoInvalidArgument, {function, "null", "count 1"});
        expect(outcome(&data, 1, raw<rondoDataType_t>(77), 1, ranks[0]), rondoInvalidArgument,
               {function, "datatype 77"});
        for (const int peer : {-1, 2, 1 << 30}) {
            expect(outcome(&data, 1, rondoInt32, peer, ranks[0]), rondoInvalidArgument,
                   {function, "peer " + std::to_string(peer), "allowed: 0 to 1"});
        }
        expect(outcome(&data, SIZE_MAX / 2, rondoInt32, 1, ranks[0]), rondoInvalidArgument,
               {function, "int32", "2^63"});
        expect(outcome(&data, 1, rondoInt32, 0, ranks[0]), rondoInvalidUsage, {function, "itself", "group"});
        expect(outcome(&data, 1, rondoInt32, 1, nullptr), rondoInvalidArgument, {function, "comm is null"});
    }
    ranks.run([](int rank, rondoComm_t c) { EXPECT_EQ(run_case({.count = 100}, rank, 2, c), ""); });
}

// Overlaps: the documented one is in place (the sweep tests it), any other is refused with both ranges.
TEST(Overlap, OtherThanInPlaceIsRefusedWithBothRanges) {
    constexpr int kRanks = 4;
    const Ranks ranks(kRanks);
    for (const std::size_t count : {std::size_t{2}, std::size_t{1025}}) {
        ranks.run([&](int rank, rondoComm_t comm) {
            std::vector<std::int32_t> memory(20 * count);
            std::int32_t* const base = memory.data() + 8 * count;
            for (const Collective collective : kWithBuffers) {
                const Case given{.collective = collective, .root = rank, .count = count};
                const std::size_t in = input_elements(given, rank, kRanks);
                const std::size_t out = output_elements(given, rank, kRanks);
                // Shifted by one element either way from every allowed place, and by less than an element.
                const auto block = static_cast<std::ptrdiff_t>(count) * rank;
                const std::ptrdiff_t allowed = collective == Collective::AllGather       ? block
                                               : collective == Collective::ReduceScatter ? -block
                                                                                         : 0;
                for (const std::ptrdiff_t shift : {-1, 1}) {
                    std::int32_t* const send = base + allowed + shift;
                    expect(outcome_of([&] { return call(given, send, base, comm); }), rondoInvalidArgument,
                           {function_of(collective), "rank " + std::to_string(rank), hex(send), hex(send + in),
                            hex(base), hex(base + out), "overlap"});
                }
                auto* const bytes = reinterpret_cast<std::byte*>(base + allowed) + 1;
                expect(outcome_of([&] { return call(given, bytes, base, comm); }), rondoInvalidArgument, {"overlap"});
                if (collective == Collective::AllToAll) {
                    expect(outcome_of([&] { return call(given, base, base, comm); }), rondoInvalidArgument,
                           {"overlap", "none"});
                } else if (collective == Collective::AllGather && rank != 0) {
                    expect(outcome_of([&] { return call(given, base, base, comm); }), rondoInvalidArgument,
                           {"sendbuff == recvbuff + rank*sendcount"});
                } else if (collective == Collective::ReduceScatter && rank != 0) {
                    expect(outcome_of([&] { return call(given, base, base, comm); }), rondoInvalidArgument,
                           {"recvbuff == sendbuff + rank*recvcount"});
                }
            }
            ASSERT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
        });
    }
}

TEST(Overlap, NeighboursThatTouchAreFine) {
    const Ranks ranks(3);
    ranks.run([](int rank, rondoComm_t comm) {
        std::vector<std::int32_t> memory(300, rank + 1);
        ASSERT_EQ(rondoAllReduce(memory.data(), memory.data() + 100, 100, rondoInt32, rondoSum, comm, nullptr),
                  rondoSuccess);
        ASSERT_EQ(rondoAllReduce(memory.data() + 200, memory.data() + 100, 100, rondoInt32, rondoSum, comm, nullptr),
                  rondoSuccess);
        for (int i = 0; i < 100; ++i) ASSERT_EQ(memory[static_cast<std::size_t>(100 + i)], 6);
    });
}

// Buffers that a rank does not use may be null, and are not looked at.
TEST(Arguments, UnusedBuffersMayBeNull) {
    const Ranks ranks(3);
    ranks.run([](int rank, rondoComm_t comm) {
        int value = rank == 1 ? 41 : 0;
        ASSERT_EQ(rondoBroadcast(rank == 1 ? &value : nullptr, &value, 1, rondoInt32, 1, comm, nullptr), rondoSuccess);
        ASSERT_EQ(value, 41);
        int sum = -1;
        ASSERT_EQ(rondoReduce(&value, rank == 2 ? &sum : nullptr, 1, rondoInt32, rondoSum, 2, comm, nullptr),
                  rondoSuccess);
        ASSERT_EQ(sum, rank == 2 ? 123 : -1);
    });
}

TEST(Arguments, NullPointersOfEveryOtherFunction) {
    const Ranks ranks(1);
    rondoUniqueId id{};
    rondoComm_t comm = nullptr;
    const auto null = [](const char* function, auto call_it) {
        expect(outcome_of(call_it), rondoInvalidArgument, {function, "null"});
    };
    null("rondoGetVersion", [] { return rondoGetVersion(nullptr); });
    null("rondoGetUniqueId", [] { return rondoGetUniqueId(nullptr); });
    null("rondoCommInitRank", [&] { return rondoCommInitRank(nullptr, 1, id, 0); });
    null("rondoCommInitRankConfig", [&] { return rondoCommInitRankConfig(nullptr, 1, id, 0, nullptr); });
    null("rondoCommInitAll", [] { return rondoCommInitAll(nullptr, 1, nullptr); });
    null("rondoCommFinalize", [] { return rondoCommFinalize(nullptr); });
    null("rondoCommDestroy", [] { return rondoCommDestroy(nullptr); });
    null("rondoCommAbort", [] { return rondoCommAbort(nullptr); });
    rondoResult_t result = rondoSuccess;
    int number = 0;
    null("rondoCommGetAsyncError", [&] { return rondoCommGetAsyncError(nullptr, &result); });
    null("rondoCommGetAsyncError", [&] { return rondoCommGetAsyncError(ranks[0], nullptr); });
    null("rondoCommCount", [&] { return rondoCommCount(nullptr, &number); });
    null("rondoCommCount", [&] { return rondoCommCount(ranks[0], nullptr); });
    null("rondoCommUserRank", [&] { return rondoCommUserRank(nullptr, &number); });
    null("rondoCommUserRank", [&] { return rondoCommUserRank(ranks[0], nullptr); });
    char text[8];
    null("rondoCommGetLastPlan", [&] { return rondoCommGetLastPlan(nullptr, text, sizeof(text)); });
    null("rondoCommGetLastPlan", [&] { return rondoCommGetLastPlan(ranks[0], nullptr, 8); });
    null("rondoCommGetTraffic", [] { return rondoCommGetTraffic(nullptr, nullptr, nullptr, nullptr); });
    null("rondoCommGetPlannedTraffic", [] { return rondoCommGetPlannedTraffic(nullptr, nullptr, nullptr, nullptr); });
    null("rondoStreamCreate", [] { return rondoStreamCreate(nullptr); });
    null("rondoStreamDestroy", [] { return rondoStreamDestroy(nullptr); });
    null("rondoStreamSynchronize", [] { return rondoStreamSynchronize(nullptr); });
    null("rondoStreamQuery", [] { return rondoStreamQuery(nullptr); });
    EXPECT_EQ(rondoCommGetTraffic(ranks[0], nullptr, nullptr, nullptr), rondoSuccess) << "arrays may be null";
    EXPECT_EQ(rondoCommInitRank(&comm, 1, id, 1), rondoInvalidArgument);
    EXPECT_EQ(comm, nullptr);
}

TEST(Library, SaysWhatItIs) {
    int version = 0;
    EXPECT_EQ(rondoGetVersion(&version), rondoSuccess);
    EXPECT_EQ(version, RONDO_VERSION_CODE);
    EXPECT_NE(std::string(rondoGetBuildInfo()).find("SIMD"), std::string::npos);
    for (int code = 0; code <= 9; ++code) {
        EXPECT_STRNE(rondoGetErrorString(raw<rondoResult_t>(code)), "");
        EXPECT_STRNE(rondoGetErrorString(raw<rondoResult_t>(code)), "unknown result code");
    }
    EXPECT_STREQ(rondoGetErrorString(raw<rondoResult_t>(99)), "unknown result code");
}

}  // namespace rondo::api::test
