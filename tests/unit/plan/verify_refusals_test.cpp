// Each check of the verifier, on a plan with just that fault: it is refused, and the text names the place and the
// fault.

#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "plan/verify/cases.hpp"

namespace rondo::plan {
namespace {

std::vector<Plan> build(Collective collective, Algorithm algorithm, Rank nranks, std::int32_t channels = 1) {
    return build_all(*find_shape(collective, algorithm), {.nranks = nranks, .channels = channels});
}

std::vector<Plan> ring(Rank nranks = 3) { return build(Collective::AllReduce, Algorithm::Ring, nranks); }

Step& step_of(Plan& plan, std::size_t block, std::size_t step = 0, std::size_t lane = 0) {
    return plan.channels[0].lanes[lane].blocks[block].steps[step];
}

Report run(std::span<const Plan> plans, const Launch& launch, std::int32_t slots = 2) {
    const Operation operation{plans, launch};
    return verify(std::span(&operation, 1), {.slots = slots});
}

Report run(std::span<const Plan> plans, std::int32_t slots = 2) {
    return run(plans, make_launch(plans, {.tiles = 3, .tail = 1, .chunk = 3}), slots);
}

void expect_refused(const Report& report, std::initializer_list<const char*> parts) {
    EXPECT_FALSE(report.ok);
    for (const char* part : parts) {
        EXPECT_NE(report.violation.find(part), std::string::npos) << part << "\nnot in: " << report.violation;
    }
}

Operand local(Buffer buffer, Index block = fixed(0)) {
    return {.place = Place::Local, .buffer = buffer, .block = block};
}
Operand whole(Place place, Rank peer) {
    return {.place = place, .acquire = true, .publish = true, .peer = fixed(peer)};
}

/// Plans of `nranks` ranks for a broadcast from rank 0, each with the lanes given.
std::vector<Plan> broadcast(Rank nranks, const std::function<std::vector<Lane>(Rank)>& lanes) {
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < nranks; ++rank) {
        Plan plan{.collective = Collective::Broadcast, .algorithm = Algorithm::Direct, .nranks = nranks, .rank = rank};
        plan.channels.push_back({lanes(rank)});
        plans.push_back(std::move(plan));
    }
    return plans;
}

Lane lane_of(std::vector<Step> steps) { return {{{.steps = std::move(steps)}}}; }
Step copy(Operand to, Operand from) { return {.dsts = {std::move(to)}, .srcs = {std::move(from)}}; }

TEST(VerifyRefuses, APlanThatNamesAnAbsentRank) {
    auto plans = ring();
    step_of(plans[1], 0).dsts[0].peer = fixed(3);
    expect_refused(run(plans), {"rank 1", "channel 0", "block 0", "step 0", "dsts[0].peer is 3", "allowed are 0 to 2"});
}

TEST(VerifyRefuses, AnInputThatIsWritten) {
    auto plans = ring();
    step_of(plans[2], 3).dsts[0].buffer = Buffer::Input;
    expect_refused(run(plans), {"rank 2", "block 3", "an input is never written"});
}

TEST(VerifyRefuses, PlansThatDoNotBelongTogether) {
    auto plans = ring();
    plans[1].parts = 2;
    expect_refused(run(plans), {"rank 1", "parts is 2, expected 3"});
    plans = ring();
    std::swap(plans[0], plans[1]);
    expect_refused(run(plans), {"rank is 1, expected 0"});
    plans = ring();
    plans.pop_back();
    expect_refused(run(plans), {"nranks is 3, expected 2"});
}

TEST(VerifyRefuses, AMulticastToBuffersThatSomeRanksLack) {
    auto plans = build(Collective::Reduce, Algorithm::Ring, 3);
    for (Plan& plan : plans) {
        for (Block& block : plan.channels[0].lanes[0].blocks) {
            for (Step& step : block.steps) {
                for (Operand& to : step.dsts) {
                    if (to.place == Place::Local) to.place = Place::Multicast;
                }
            }
        }
    }
    expect_refused(run(plans), {"rank 0", "addresses block 0 of all ranks' output, but rank 1 has 0"});
}

TEST(VerifyRefuses, LaunchesThatMakeNoSense) {
    const auto plans = ring();
    expect_refused(run(plans, {.count = -1}), {"count is -1"});
    expect_refused(run(plans, {.count = 1, .chunk = 3, .align = 2}), {"chunk is 3 and align is 2"});
    expect_refused(run(plans, {.count = 1}, 0), {"number of slots is 0"});
    const auto to_all = build(Collective::AllToAllV, Algorithm::Pairwise, 2);
    expect_refused(run(to_all, Launch{.count = 4}), {"tables for 0 ranks, expected 2"});
}

TEST(VerifyRefuses, BlocksWithDifferentLengthsAtBothEnds) {
    const auto plans = build(Collective::AllToAllV, Algorithm::Pairwise, 2);
    Launch launch = make_launch(plans, {.tiles = 2});
    launch.tables[0].input.length[1] = 3;
    launch.tables[1].output.length[0] = 2;
    EXPECT_FALSE(run(plans, launch).ok);
    launch.tables[1].output.length[0] = 3;
    launch.tables[1].output.offset[1] = 3;
    EXPECT_TRUE(run(plans, launch).ok) << run(plans, launch).violation;
}

TEST(VerifyRefuses, ADroppedStepAsADeadlock) {
    auto plans = build(Collective::Broadcast, Algorithm::Ring, 3);
    std::erase_if(step_of(plans[1], 0).dsts, [](const Operand& to) { return to.place == Place::Outbox; });
    expect_refused(run(plans),
                   {"deadlock, 1 lanes", "rank 2 channel 0 lane 0 waits for a message from rank 1 (tag 0)"});
}

TEST(VerifyRefuses, TwoRanksThatSendMoreThanTheSlotsHoldBeforeTheyReceive) {
    // One lane: everything is sent before anything is received. With enough slots it works.
    const auto plans = build_all(*find_shape(Collective::AllToAll, Algorithm::Pairwise), {.nranks = 2});
    auto one_lane = plans;
    for (Plan& plan : one_lane) {
        auto& lanes = plan.channels[0].lanes;
        ASSERT_EQ(lanes.size(), 2U);
        Lane joined{{{.repeat = 1}}};
        for (int twice = 0; twice < 2; ++twice) {
            for (const Block& block : lanes[0].blocks) joined.blocks.push_back(block);
        }
        for (int twice = 0; twice < 2; ++twice) {
            for (const Block& block : lanes[1].blocks) joined.blocks.push_back(block);
        }
        lanes = {joined};
    }
    const Launch launch = make_launch(one_lane, {.tiles = 1});
    expect_refused(run(one_lane, launch, 1), {"deadlock, 2 lanes", "waits for a free slot to rank 1"});
    EXPECT_TRUE(run(one_lane, launch, 2).ok) << run(one_lane, launch, 2).violation;
}

TEST(VerifyRefuses, AContributionAddedTwice) {
    auto plans = ring();
    Step& step = step_of(plans[1], 2);
    step.srcs.push_back(step.srcs.back());
    expect_refused(run(plans), {"rank 1", "block 2", "adds rank 1's contribution twice"});
}

TEST(VerifyRefuses, AContributionThatIsMissing) {
    auto plans = ring();
    step_of(plans[1], 1).srcs.pop_back();
    expect_refused(run(plans), {"the sum of 2 contributions", "rank 1's is missing"});
}

TEST(VerifyRefuses, FactorsThatAreNotAppliedOnce) {
    auto plans = ring();
    step_of(plans[0], 0).srcs[0].pre = false;
    expect_refused(run(plans), {"reduces rank 0's input without its premultiplier"});
    plans = ring();
    step_of(plans[0], 2).post = false;
    expect_refused(run(plans), {"expected is the sum of all 3 contributions with the final factor"});
    plans = ring();
    step_of(plans[0], 3).post = true;
    expect_refused(run(plans), {"reduces the sum of 3 contributions (0 1 2) with the final factor"});
    plans = ring(1);
    step_of(plans[0], 0).post = false;
    EXPECT_FALSE(run(plans).ok);
}

TEST(VerifyRefuses, SumsWhoseBitsDifferBetweenRanks) {
    // Everyone adds the inputs itself, rank 1 in another order.
    auto plans = build(Collective::AllReduce, Algorithm::OneShot, 3);
    for (std::size_t r = 0; r < 3; ++r) {
        Step& step = step_of(plans[r], 0, 1);
        step.srcs.clear();
        for (Rank q = 0; q < 3; ++q) {
            Operand source = q == plans[r].rank ? local(Buffer::Input) : whole(Place::Inbox, q);
            source.pre = true;
            step.srcs.push_back(source);
        }
    }
    EXPECT_TRUE(run(plans).ok) << run(plans).violation;
    std::swap(step_of(plans[1], 0, 1).srcs[0], step_of(plans[1], 0, 1).srcs[1]);
    EXPECT_TRUE(run(plans).ok) << "the first two commute: " << run(plans).violation;
    std::swap(step_of(plans[1], 0, 1).srcs[1], step_of(plans[1], 0, 1).srcs[2]);
    expect_refused(run(plans), {"rank 1", "in another order than on rank 0"});
}

TEST(VerifyRefuses, ProductsThatAreRoundedOnTheWireAndNotAtHome) {
    auto plans = build(Collective::AllReduce, Algorithm::OneShot, 2);
    for (Plan& plan : plans) {
        step_of(plan, 0, 0).srcs[0].pre = true;
        for (Operand& source : step_of(plan, 0, 1).srcs) source.pre = source.place == Place::Local;
    }
    expect_refused(run(plans), {"in another order than on rank 0"});
}

TEST(VerifyRefuses, RoundedElementsThatPassForAccumulators) {
    auto plans = ring();
    for (Plan& plan : plans) {
        Operand& to = step_of(plan, 2, 1).dsts[0];
        ASSERT_EQ(to.place, Place::Outbox);
        to.element = Element::Accumulator;
    }
    expect_refused(run(plans), {"copies rounded data elements as accumulators"});
}

TEST(VerifyRefuses, AReadOfWhatNothingHasWritten) {
    const auto plans = broadcast(2, [](Rank rank) -> std::vector<Lane> {
        if (rank == 0)
            return {lane_of({copy(local(Buffer::Output), local(Buffer::Input)),
                             copy(whole(Place::Outbox, 1), local(Buffer::Scratch))})};
        return {lane_of({copy(local(Buffer::Output), whole(Place::Inbox, 0))})};
    });
    auto with_scratch = plans;
    expect_refused(run(plans), {"names scratch block 0, rank 0 has 0"});
    for (Plan& plan : with_scratch) plan.scratch_blocks = 1;
    expect_refused(run(with_scratch), {"rank 0's scratch (srcs[0]), which nothing has written"});
}

TEST(VerifyRefuses, MessagesWhoseEndsDisagree) {
    auto plans = ring();
    ASSERT_EQ(step_of(plans[1], 0).part.at(0, 0, 0), 0);
    step_of(plans[1], 0).width = 2;
    expect_refused(run(plans), {"uses piece 0 of 2 parts in a message to rank 2 that holds 1 parts"});
    for (Plan& plan : plans) plan.message_parts = 2;
    expect_refused(run(plans), {"reads 3 elements of a message from rank 1 (tag 0) that has 6"});
}

TEST(VerifyRefuses, AcquireAndPublishOutOfPairs) {
    auto plans = ring();
    step_of(plans[0], 0).dsts[0].acquire = false;
    expect_refused(run(plans), {"writes a message to rank 1 (tag 0) that it has not acquired"});
    plans = ring();
    step_of(plans[0], 0).dsts[0].publish = false;
    expect_refused(run(plans), {"acquires a slot to rank 1", "still writing"});
    plans = ring();
    step_of(plans[0], 4).srcs[0].publish = false;
    expect_refused(run(plans), {"acquires a message from rank 2", "still holds one"});
}

TEST(VerifyRefuses, AMessageThatNobodyTakes) {
    auto plans = broadcast(2, [](Rank rank) -> std::vector<Lane> {
        if (rank == 0) {
            return {lane_of({copy(local(Buffer::Output), local(Buffer::Input)),
                             copy(whole(Place::Outbox, 1), local(Buffer::Input)),
                             copy(whole(Place::Outbox, 1), local(Buffer::Input))})};
        }
        return {lane_of({copy(local(Buffer::Output), whole(Place::Inbox, 0))})};
    });
    expect_refused(run(plans, {.count = 2, .chunk = 2}, 2), {"rank 1", "ends with 1 messages from rank 0"});
}

TEST(VerifyRefuses, AnEndOfAFifoInTwoLanes) {
    auto plans = build(Collective::AllToAll, Algorithm::Pairwise, 2);
    auto& lanes = plans[0].channels[0].lanes;
    lanes.push_back(lanes[0]);
    expect_refused(run(plans), {"whose sending end belongs to lane"});
}

TEST(VerifyRefuses, TwoLanesThatWriteTheSameElements) {
    const auto plans = broadcast(1, [](Rank) -> std::vector<Lane> {
        const Lane lane = lane_of({copy(local(Buffer::Output), local(Buffer::Input))});
        return {lane, lane};
    });
    expect_refused(run(plans), {"writes elements", "rank 0's output", "a race"});
}

TEST(VerifyRefuses, AccessToARankThatHasNotEnteredOrMayHaveLeft) {
    // Rank 1 reads rank 0's input, with a counter before (entry) and one after (exit).
    const auto plans = [](bool entry, bool exit) {
        return broadcast(2, [&](Rank rank) -> std::vector<Lane> {
            const Operand counter{.place = Place::Counter, .peer = fixed(1 - rank)};
            Lane lane;
            if (rank == 0) {
                if (entry)
                    lane.blocks.push_back({.when = When::Before, .steps = {{.kind = Kind::Post, .dsts = {counter}}}});
                lane.blocks.push_back({.steps = {copy(local(Buffer::Output), local(Buffer::Input))}});
                if (exit)
                    lane.blocks.push_back({.when = When::After, .steps = {{.kind = Kind::Wait, .srcs = {counter}}}});
            } else {
                const Operand peer{.place = Place::Peer, .buffer = Buffer::Input, .peer = fixed(0)};
                if (entry)
                    lane.blocks.push_back({.when = When::Before, .steps = {{.kind = Kind::Wait, .srcs = {counter}}}});
                lane.blocks.push_back({.steps = {copy(local(Buffer::Output), peer)}});
                if (exit)
                    lane.blocks.push_back({.when = When::After, .steps = {{.kind = Kind::Post, .dsts = {counter}}}});
            }
            return {lane};
        });
    };
    EXPECT_TRUE(run(plans(true, true)).ok) << run(plans(true, true)).violation;
    EXPECT_FALSE(run(plans(false, true)).ok);
    const char* outside = "rank 0 may not have entered the operation yet or may have left it already";
    expect_refused(run(plans(true, false)), {"rank 1", "reads elements", "rank 0's input", outside});
}

TEST(VerifyRefuses, CountersThatAreNotAwaited) {
    auto plans = build(Collective::Barrier, Algorithm::Direct, 3);
    auto& blocks = plans[1].channels[0].lanes[0].blocks;
    std::erase_if(blocks[0].steps, [](const Step& step) { return step.kind == Kind::Wait; });
    const Report report = run(plans);
    EXPECT_FALSE(report.ok);
    // Without the wait the barrier does not hold; that is found before the counter that nobody awaits.
    expect_refused(report, {"rank 1"});
    plans = build(Collective::Barrier, Algorithm::Direct, 3);
    for (Step& step : plans[1].channels[0].lanes[0].blocks[0].steps) {
        if (step.kind == Kind::Post) step.dsts[0].fan = 1;
    }
    EXPECT_FALSE(run(plans).ok);
}

TEST(VerifyRefuses, ABarrierThatOneCanLeaveTooEarly) {
    // A token from 0 to 1 to 2: rank 0 leaves at once.
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < 3; ++rank) {
        Plan plan{.collective = Collective::Barrier, .algorithm = Algorithm::Direct, .nranks = 3, .rank = rank};
        plan.scratch_blocks = 1;
        Lane lane{{{.repeat = 1}}};
        if (rank > 0) lane.blocks[0].steps.push_back(copy(local(Buffer::Scratch), whole(Place::Inbox, rank - 1)));
        if (rank < 2) lane.blocks[0].steps.push_back(copy(whole(Place::Outbox, rank + 1), local(Buffer::Input)));
        plan.channels.push_back({{lane}});
        plans.push_back(plan);
    }
    expect_refused(run(plans), {"rank 0", "leaves the barrier although rank 1 may not have entered it"});
}

TEST(VerifyRefuses, AnInPlaceCopyThatDestroysWhatAnotherStillNeeds) {
    // All ranks read all inputs and write all outputs; in place that is a race, out of place it is none.
    auto plans = build(Collective::AllReduce, Algorithm::Direct, 2);
    for (Plan& plan : plans) {
        plan.parts = 1;
        for (Block& block : plan.channels[0].lanes[0].blocks) {
            for (Step& step : block.steps) {
                if (step.kind != Kind::Move) continue;
                step.part = fixed(0);
                step.dsts = {local(Buffer::Output)};
            }
        }
    }
    Launch launch = make_launch(plans, {.tiles = 2});
    EXPECT_TRUE(run(plans, launch).ok) << run(plans, launch).violation;
    launch.in_place = true;
    expect_refused(run(plans, launch), {"a race"});
}

TEST(VerifyRefuses, SecondOperationsThatReuseScratchTooEarly) {
    // Rank 1 writes into rank 0's scratch, posts, and rank 0 reads it: right once, not twice in a row, since nothing
    // tells rank 1 that rank 0 has read the first value.
    const auto plans = broadcast(2, [](Rank rank) -> std::vector<Lane> {
        const Operand counter{.place = Place::Counter, .peer = fixed(1 - rank)};
        const Operand remote{.place = Place::Peer, .buffer = Buffer::Scratch, .peer = fixed(1)};
        if (rank == 0) {
            return {{{{.steps = {copy(local(Buffer::Output), local(Buffer::Input)),
                                 copy(remote, local(Buffer::Input)),
                                 {.kind = Kind::Post, .dsts = {counter}}}}}}};
        }
        return {{{{.steps = {{.kind = Kind::Wait, .srcs = {counter}},
                             copy(local(Buffer::Output), local(Buffer::Scratch))}}}}};
    });
    auto with_scratch = plans;
    for (Plan& plan : with_scratch) plan.scratch_blocks = 1;
    expect_refused(run(with_scratch), {"rank 0", "addresses the scratch of rank 1, which is no window"});
    for (Plan& plan : with_scratch) plan.window = true;
    const Operation once{with_scratch, {.count = 2, .chunk = 2}};
    EXPECT_TRUE(verify(std::span(&once, 1), {}).ok) << verify(std::span(&once, 1), {}).violation;
    const std::array twice{once, once};
    expect_refused(verify(twice, {}), {"operation 1", "rank 0", "rank 1's scratch", "a race"});
}

TEST(VerifyRefuses, MoreOperandsThanTheLimit) {
    const auto plans = ring();
    const Operation operation{plans, make_launch(plans, {.tiles = 5})};
    expect_refused(verify(std::span(&operation, 1), {.max_operands = 20}), {"take more than 20 operands"});
}

TEST(VerifyCheck, ThrowsTheViolation) {
    auto plans = ring();
    const Operation right{plans, make_launch(plans, {})};
    EXPECT_NO_THROW(check(std::span(&right, 1), {}));
    step_of(plans[0], 2).post = false;
    const Operation wrong{plans, make_launch(plans, {})};
    try {
        check(std::span(&wrong, 1), {});
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidUsage);
        EXPECT_NE(std::string(error.what()).find("plan refused: all_reduce/ring, rank 0"), std::string::npos)
            << error.what();
    }
}

TEST(VerifyWindow, FollowsPartOfTheDataAndExecutesAllOfTheControl) {
    const auto plans = build(Collective::AllReduce, Algorithm::Ring, 8);
    const Operation operation{plans, make_launch(plans, {.tiles = 3, .chunk = 4})};
    const Report full = verify(std::span(&operation, 1), {});
    const Report part = verify(std::span(&operation, 1), {.window = {{0, 2}, {40, 41}}});
    ASSERT_TRUE(full.ok && part.ok) << full.violation << part.violation;
    EXPECT_EQ(full.steps, part.steps);
    EXPECT_EQ(full.messages, part.messages);
    EXPECT_EQ(full.elements, part.elements);
    EXPECT_EQ(full.rounding_adds, part.rounding_adds);
    auto wrong = plans;
    step_of(wrong[3], 1).srcs.pop_back();
    const Operation faulty{wrong, operation.launch};
    EXPECT_FALSE(verify(std::span(&faulty, 1), {.window = {{0, 96}}}).ok);
}

TEST(VerifyFollowed, FindsFaultsInWhatIsFollowed) {
    const VerifyOptions options{.followed = {1, 5}};
    for (const auto& [collective, algorithm] :
         {std::pair{Collective::AllGather, Algorithm::Ring}, std::pair{Collective::ReduceScatter, Algorithm::Ring},
          std::pair{Collective::ReduceScatter, Algorithm::Pat}, std::pair{Collective::AllToAll, Algorithm::Bruck},
          std::pair{Collective::AllToAll, Algorithm::Pairwise}}) {
        const auto plans = build(collective, algorithm, 6);
        const Launch launch = make_launch(plans, {.tiles = 2, .tail = 1, .chunk = 3});
        const Operation right{plans, launch};
        const Report report = verify(std::span(&right, 1), options);
        ASSERT_TRUE(report.ok) << report.violation;
        // Rank 1 reads its own first block everywhere.
        auto wrong = plans;
        int changed = 0;
        for (Lane& lane : wrong[1].channels[0].lanes) {
            for (Block& block : lane.blocks) {
                for (Step& step : block.steps) {
                    for (Operand& from : step.srcs) {
                        if (from.place != Place::Local || from.buffer != Buffer::Input) continue;
                        from.block = from.block == fixed(0) ? fixed(1) : fixed(0);
                        ++changed;
                    }
                }
            }
        }
        ASSERT_GT(changed, 0);
        const Operation faulty{wrong, launch};
        EXPECT_FALSE(verify(std::span(&faulty, 1), options).ok) << static_cast<int>(collective);
    }
    const auto plans = ring();
    const Operation reduction{plans, make_launch(plans, {})};
    expect_refused(verify(std::span(&reduction, 1), {.followed = {1}}), {"need every rank's data followed"});
}

TEST(VerifyWatched, FindsRacesBetweenWatchedRanks) {
    auto plans = build(Collective::AllReduce, Algorithm::Direct, 6);
    const Operation right{plans, make_launch(plans, {.tiles = 2})};
    EXPECT_TRUE(verify(std::span(&right, 1), {.watched = {2, 4}}).ok);
    for (Plan& plan : plans) {
        for (Block& block : plan.channels[0].lanes[0].blocks) {
            if (block.when == When::After) block.steps.clear();
        }
    }
    const Operation wrong{plans, right.launch};
    expect_refused(verify(std::span(&wrong, 1), {.watched = {2, 4}}), {"may have left it already"});
}

TEST(VerifyGroup, SendsAndReceivesMeetInOrder) {
    // Rank 0 sends two blocks to rank 1 and one to itself, receives one from rank 1.
    const std::vector<std::vector<GroupOp>> lists{
        {{1, true}, {0, true}, {1, false}, {0, false}, {1, true}},
        {{0, false}, {0, true}, {0, false}},
    };
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < 2; ++rank) plans.push_back(build_group(2, rank, lists[static_cast<std::size_t>(rank)]));
    Launch launch{.count = 0, .chunk = 2};
    const auto table = [](std::vector<std::int64_t> length) {
        ExtentTable made{.length = std::move(length), .offset = {}};
        std::int64_t at = 0;
        for (const std::int64_t l : made.length) {
            made.offset.push_back(at);
            at += l;
        }
        return made;
    };
    launch.tables = {{table({5, 3, 0, 0, 9}), table({0, 0, 7, 3, 0}), lists[0]},
                     {table({0, 7, 0}), table({5, 0, 9}), lists[1]}};
    EXPECT_TRUE(run(plans, launch, 1).ok) << run(plans, launch, 1).violation;
    launch.tables[1].output = table({9, 0, 5});
    EXPECT_FALSE(run(plans, launch, 1).ok);
}

}  // namespace
}  // namespace rondo::plan
