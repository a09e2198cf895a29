// Life of the objects of the C++ interface: communicators, streams, groups, errors.

#include <gtest/gtest.h>

#include <chrono>
#include <rondo/rondo.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "ranks.hpp"

namespace {

using rondo::Communicator;
using rondo_test::contains;
using rondo_test::error_of;
using rondo_test::on_ranks;

TEST(Objects, OneThreadDrivesAllRanksOfInitAll) {
    std::vector<Communicator> comms = Communicator::init_all(3);
    std::vector<std::vector<int>> data{{1, 2}, {10, 20}, {100, 200}};
    rondo::group([&] {
        for (std::size_t rank = 0; rank < 3; ++rank) {
            EXPECT_EQ(comms[rank].rank(), static_cast<int>(rank));
            EXPECT_EQ(comms[rank].nranks(), 3);
            comms[rank].all_reduce(data[rank]);
        }
    });
    for (const std::vector<int>& each : data) EXPECT_EQ(each, (std::vector{111, 222}));
}

TEST(Objects, MovingACommunicatorMovesItsRank) {
    std::vector<Communicator> comms = Communicator::init_all(2);
    Communicator moved = std::move(comms[1]);
    EXPECT_EQ(comms[1].get(), nullptr);
    EXPECT_EQ(moved.rank(), 1);
    comms[1] = std::move(moved);
    int a = 5;
    int b = 0;
    rondo::group([&] {
        comms[0].send(std::span(&a, 1), 1);
        comms[1].recv(std::span(&b, 1), 0);
    });
    EXPECT_EQ(b, 5);
}

TEST(Objects, NonBlockingInitIsPolled) {
    const rondoUniqueId id = rondo::unique_id();
    const rondo::Config config{.blocking = false};
    const Communicator first = Communicator::init_rank(2, id, 0, config);
    EXPECT_FALSE(first.ready());
    EXPECT_EQ(first.state(), rondoInProgress);
    const Communicator second = Communicator::init_rank(2, id, 1, config);
    for (const Communicator* comm : {&first, &second}) {
        while (!comm->ready()) std::this_thread::yield();
    }
}

TEST(Objects, SplitAndShrink) {
    on_ranks(4, [](Communicator& comm) {
        std::optional<Communicator> half = comm.split(comm.rank() % 2, -comm.rank());
        ASSERT_TRUE(half);
        EXPECT_EQ(half->nranks(), 2);
        EXPECT_EQ(half->rank(), comm.rank() < 2 ? 1 : 0) << "the higher old rank has the lower key";
        std::vector<int> data{comm.rank() + 1};
        half->all_reduce(data);
        EXPECT_EQ(data[0], comm.rank() % 2 == 0 ? 4 : 6);
        EXPECT_EQ(comm.split(RONDO_SPLIT_NOCOLOR, 0).has_value(), false);
        if (comm.rank() == 1) return;
        Communicator rest = comm.shrink({1});
        EXPECT_EQ(rest.nranks(), 3);
        data[0] = comm.rank() + 1;
        rest.all_reduce(data);
        EXPECT_EQ(data[0], 1 + 3 + 4);
    });
}

TEST(Objects, TimeoutOfTheNextCallsAndWhatFailed) {
    std::vector<Communicator> comms = Communicator::init_all(2);
    EXPECT_EQ(comms[0].error_info().code, rondoSuccess);
    comms[0].set_timeout(0.2);
    EXPECT_EQ(error_of([&] { comms[0].barrier(); }).code(), rondoTimeout);
    EXPECT_EQ(comms[0].error_info().code, rondoTimeout);
    EXPECT_EQ(comms[0].error_info().peer, 1);
    EXPECT_STREQ(comms[0].error_info().operation, "barrier");
}

TEST(Objects, InitsInAGroupWaitForEachOther) {
    const rondoUniqueId id = rondo::unique_id();
    std::vector<Communicator> comms;
    rondo::Group group;
    for (int rank = 0; rank < 3; ++rank) comms.push_back(Communicator::init_rank(3, id, rank));
    group.end();
    for (const Communicator& comm : comms) EXPECT_TRUE(comm.ready());
}

TEST(Objects, StreamRunsInOrderAndReportsIdle) {
    on_ranks(2, [](Communicator& comm) {
        rondo::Stream stream;
        EXPECT_TRUE(stream.idle());
        int value = comm.rank() + 1;
        const std::span<int> data(&value, 1);
        comm.all_reduce(data, rondoSum, &stream);   // 3 on both
        comm.all_reduce(data, rondoProd, &stream);  // 9
        comm.barrier(&stream);
        stream.synchronize();
        EXPECT_EQ(value, 9);
        EXPECT_TRUE(stream.idle());
    });
}

TEST(Objects, DestroyingACommunicatorWaitsForItsStreamOperations) {
    std::vector<int> values{1, 2};
    rondo::Stream streams[2];
    {
        std::vector<Communicator> comms = Communicator::init_all(2);
        for (std::size_t r = 0; r < 2; ++r) comms[r].all_reduce(std::span(&values[r], 1), rondoSum, &streams[r]);
    }
    EXPECT_EQ(values, (std::vector{3, 3}));
    for (rondo::Stream& stream : streams) stream.synchronize();
}

TEST(Objects, FinalizeWaitsForStreamOperationsAndTakesNoMore) {
    on_ranks(2, [](Communicator& comm) {
        rondo::Stream stream;
        std::vector<int> data(100000, comm.rank() + 1);
        for (int i = 0; i < 3; ++i) comm.all_reduce(data, rondoSum, &stream);
        comm.finalize();
        EXPECT_EQ(data, std::vector<int>(data.size(), 12));
        stream.synchronize();
        const rondo::Error error = error_of([&] { comm.barrier(); });
        EXPECT_EQ(error.code(), rondoInvalidUsage);
        EXPECT_TRUE(contains(error.what(), "finalized")) << error.what();
    });
}

TEST(Errors, SizesThatCannotFitAreNamed) {
    std::vector<Communicator> comms = Communicator::init_all(2);
    std::vector<float> three(3);
    std::vector<float> four(4);
    const rondo::Error reduce = error_of([&] { comms[0].all_reduce(three, four); });
    EXPECT_EQ(reduce.code(), rondoInvalidArgument);
    EXPECT_STREQ(reduce.what(), "all_reduce: the input has 3 elements, the output 4; allowed: equal sizes");
    const rondo::Error gather = error_of([&] { comms[0].all_gather(three, four); });
    EXPECT_TRUE(contains(gather.what(), "an output of nranks (2) times the input")) << gather.what();
    EXPECT_EQ(error_of([&] { comms[0].reduce_scatter(three, four); }).code(), rondoInvalidArgument);
    EXPECT_EQ(error_of([&] { comms[0].all_to_all(three, three); }).code(), rondoInvalidArgument);
    EXPECT_EQ(error_of([&] { comms[0].broadcast(three, four, 0); }).code(), rondoInvalidArgument);
    EXPECT_EQ(error_of([&] { comms[0].reduce(three, four, 0); }).code(), rondoInvalidArgument);
}

TEST(Errors, TheLibrarysTextIsThrown) {
    const rondo::Error rank = error_of([] { (void)Communicator::init_rank(2, rondo::unique_id(), 7); });
    EXPECT_EQ(rank.code(), rondoInvalidArgument);
    EXPECT_TRUE(contains(rank.what(), "rank 7 is outside [0, 2)")) << rank.what();
    const rondo::Error config = error_of([] { (void)Communicator::init_all(2, {.slots = 99}); });
    EXPECT_TRUE(contains(config.what(), "config.slots is 99; allowed: 1 to 64")) << config.what();
    EXPECT_EQ(error_of([] { (void)Communicator::init_all(0); }).code(), rondoInvalidArgument);
}

TEST(Errors, RanksThatDisagreeAllGetTheCause) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<float> data(comm.rank() == 0 ? 4U : 5U);
        const rondo::Error error = error_of([&] { comm.all_reduce(data); });
        EXPECT_EQ(error.code(), rondoInvalidUsage);
        EXPECT_TRUE(contains(error.what(), "they differ in: count")) << error.what();
        EXPECT_EQ(error_of([&] { comm.barrier(); }).code(), rondoInvalidUsage);
        EXPECT_EQ(error_of([&] { (void)comm.ready(); }).code(), rondoInvalidUsage);
        EXPECT_TRUE(contains(comm.error_text(), "they differ in: count")) << comm.error_text();
        EXPECT_EQ(error_of([&] { comm.finalize(); }).code(), rondoInvalidUsage);
    });
}

TEST(Errors, AStreamReportsThatItsOperationFailed) {
    on_ranks(2, [](Communicator& comm) {
        rondo::Stream stream;
        std::vector<float> data(comm.rank() == 0 ? 4U : 5U);
        comm.all_reduce(data, rondoSum, &stream);
        const rondo::Error error = error_of([&] { stream.synchronize(); });
        EXPECT_EQ(error.code(), rondoInvalidUsage);
        EXPECT_TRUE(contains(error.what(), "an operation on a stream failed")) << error.what();
        EXPECT_TRUE(contains(comm.error_text(), "they differ in: count")) << comm.error_text();
    });
}

TEST(Errors, AbortEndsAWaitingCall) {
    on_ranks(2, [](Communicator& comm) {
        if (comm.rank() == 0) {
            const rondo::Error error = error_of([&] { comm.barrier(); });
            EXPECT_EQ(error.code(), rondoRemoteError);
            EXPECT_TRUE(contains(error.what(), "rank 1 aborted the communicator")) << error.what();
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            comm.abort();
            EXPECT_EQ(error_of([&] { comm.barrier(); }).code(), rondoAborted);
        }
    });
}

TEST(Groups, AnExceptionCancelsTheGroup) {
    std::vector<Communicator> comms = Communicator::init_all(2);
    std::vector<int> data{1, 2};
    const auto fill = [&] {
        rondo::Group group;
        for (std::size_t r = 0; r < 2; ++r) comms[r].all_reduce(std::span(&data[r], 1));
        throw std::runtime_error("the program's own");
    };
    EXPECT_THROW(fill(), std::runtime_error);
    EXPECT_EQ(data, (std::vector{1, 2})) << "a cancelled group ran";
    // The thread is outside of any group again, and the communicators are whole.
    rondo::group([&] {
        for (std::size_t r = 0; r < 2; ++r) comms[r].all_reduce(std::span(&data[r], 1));
    });
    EXPECT_EQ(data, (std::vector{3, 3}));
}

TEST(Groups, ACancelledInnerGroupFailsTheOuterOne) {
    std::vector<Communicator> comms = Communicator::init_all(2);
    std::vector<int> data{1, 2};
    rondo::Group outer;
    for (std::size_t r = 0; r < 2; ++r) comms[r].all_reduce(std::span(&data[r], 1));
    { const rondo::Group inner; }
    const rondo::Error error = error_of([&] { outer.end(); });
    EXPECT_EQ(error.code(), rondoInvalidArgument);
    EXPECT_EQ(data, (std::vector{1, 2}));
    EXPECT_EQ(error_of([&] { outer.end(); }).code(), rondoInvalidUsage) << "a second end()";
}

TEST(Groups, AFailedCallInsideFailsTheEnd) {
    std::vector<Communicator> comms = Communicator::init_all(2);
    int value = 1;
    rondo::Group group;
    EXPECT_EQ(error_of([&] { comms[0].send(std::span(&value, 1), 9); }).code(), rondoInvalidArgument);
    const rondo::Error error = error_of([&] { group.end(); });
    EXPECT_TRUE(contains(error.what(), "a call in this group failed")) << error.what();
    EXPECT_TRUE(contains(error.what(), "peer 9 is no rank; allowed: 0 to 1")) << error.what();
}

}  // namespace
