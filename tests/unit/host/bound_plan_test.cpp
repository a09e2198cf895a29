#include "host/bound_plan.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "host/execution.hpp"
#include "plan/shapes.hpp"
#include "reduce/reduce.hpp"

namespace rondo::host {

namespace {

using plan::Algorithm;
using plan::Collective;

plan::Plan build(Collective collective, Algorithm algorithm, Rank nranks, Rank rank = 0) {
    return plan::find_shape(collective, algorithm)->build({.nranks = nranks}, rank);
}

/// FIFOs to ranks on another host: none of their memory.
class Elsewhere final : public transport::FifoSource {
public:
    explicit Elsewhere(transport::FifoSource& fifos) : fifos_(fifos) {}
    transport::memory::Fifo& fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) override {
        return fifos_.fifo(channel, source, destination, tag, long_messages);
    }
    [[nodiscard]] std::size_t slot_bytes() const noexcept override { return fifos_.slot_bytes(); }

private:
    transport::FifoSource& fifos_;
};

void expect_refusal(const plan::Plan& plan, std::int64_t chunk, transport::FifoSource& domain,
                    std::initializer_list<const char*> parts) {
    try {
        const BoundPlan bound(plan, chunk, domain);
        FAIL() << "was bound";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidUsage);
        for (const char* part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

}  // namespace

TEST(BoundPlan, RefusesWhatHostMemoryCannotRun) {
    transport::memory::Domain domain(4, 2, 256);
    expect_refusal(build(Collective::AllReduce, Algorithm::Nvls, 4), 64, domain,
                   {"all_reduce/nvls", "cannot run on host memory", "multicast"});
    plan::Plan wide = build(Collective::AllReduce, Algorithm::Ring, 4);
    for (plan::Step& step : wide.channels[0].lanes[0].blocks[0].steps)
        step.srcs[0].element = plan::Element::Accumulator;
    expect_refusal(wide, 64, domain, {"all_reduce/ring", "accumulator"});
    plan::Plan many = build(Collective::AllReduce, Algorithm::Ring, 4);
    many.channels.resize(33, many.channels[0]);
    expect_refusal(many, 64, domain, {"33 channels", "32"});
    expect_refusal(build(Collective::AllReduce, Algorithm::Ring, 4), 1024, domain, {"1024", "256", "RONDO_BUFFSIZE"});
    plan::Plan stray = build(Collective::AllReduce, Algorithm::Ring, 4);
    for (plan::Block& block : stray.channels[0].lanes[0].blocks) {
        for (plan::Step& step : block.steps) {
            for (plan::Operand& operand : step.dsts) operand.peer = plan::fixed(7);
        }
    }
    expect_refusal(stray, 64, domain, {"rank 7"});
}

TEST(BoundPlan, BindsWindowsThatAllCanAddress) {
    transport::memory::Domain domain(4, 2, 256);  // windows of 2,048 bytes
    const plan::Plan staged = build(Collective::AllReduce, Algorithm::Staged, 4);
    const BoundPlan bound(staged, 256, domain);  // 2 blocks of 4 parts
    ASSERT_EQ(bound.windows().size(), 4U);
    for (Rank rank = 0; rank < 4; ++rank)
        EXPECT_EQ(bound.windows()[static_cast<std::size_t>(rank)], domain.window(rank));
    EXPECT_FALSE(bound.uses_peers()) << "no user buffer but the own is touched";
    expect_refusal(staged, 260, domain, {"all_reduce/staged", "2080", "2048", "RONDO_BUFFSIZE"});
    Elsewhere elsewhere(domain);
    expect_refusal(staged, 256, elsewhere, {"rank 0", "another host"});
}

TEST(BoundPlan, KnowsWhatItTouches) {
    transport::memory::Domain domain(4, 2, 4096);
    const BoundPlan ring(build(Collective::AllReduce, Algorithm::Ring, 4), 64, domain);
    EXPECT_FALSE(ring.uses_peers());
    EXPECT_FALSE(ring.uses_counters());
    const BoundPlan direct(build(Collective::AllReduce, Algorithm::Direct, 4), 64, domain);
    EXPECT_TRUE(direct.uses_peers());
    EXPECT_TRUE(direct.uses_counters());
    const BoundPlan one_shot(build(Collective::AllReduce, Algorithm::OneShot, 4), 64, domain);
    EXPECT_GE(one_shot.widest(), 4U) << "it reduces over all ranks in one step";
}

TEST(BoundPlan, ShortMessagesStayInLinesUnlessTheProtocolForbids) {
    transport::memory::Domain domain(2, 2, 4096);
    plan::Plan plan = build(Collective::AllReduce, Algorithm::Ring, 2);
    EXPECT_TRUE(BoundPlan(plan, 64, domain).inlines());
    plan.protocol.fill(plan::Protocol::Simple);
    EXPECT_FALSE(BoundPlan(plan, 64, domain).inlines());
}

namespace {

/// One send of rank 0 to rank 1 with the two sides' own sizes and signatures.
struct Exchange {
    struct Side {
        Side(transport::memory::Domain& domain, Rank rank, std::int64_t bytes, std::uint64_t signature)
            : traffic(2),
              execution(domain, rank, traffic, true),
              plan(plan::build_group(2, rank, std::vector<plan::GroupOp>{{.peer = 1 - rank, .send = rank == 0}}), 256,
                   domain),
              data(static_cast<std::size_t>(bytes) + 1),
              full{{data.data(), bytes, signature}} {
            execution.launch() = {.element_bytes = 1,
                                  .cut = {.chunk = 256},
                                  .kernel = reduce::kernel_for(DataType::Uint8, ReduceOp::Sum),
                                  .input_blocks = rank == 0 ? full : none,
                                  .output_blocks = rank == 0 ? none : full};
            execution.start(plan);
        }
        Traffic traffic;
        Execution execution;
        BoundPlan plan;
        std::vector<std::byte> data;
        std::vector<BlockExtent> full;
        std::vector<BlockExtent> none{BlockExtent{}};
    };
};

}  // namespace

TEST(Execution, AnotherSignatureIsAMismatchAndTouchesNothing) {
    transport::memory::Domain domain(2, 2, 256);
    Exchange::Side sender(domain, 0, 8, 11);
    Exchange::Side receiver(domain, 1, 4, 22);
    EXPECT_FALSE(receiver.execution.progress());
    EXPECT_EQ(receiver.execution.state(), State::Running);
    EXPECT_EQ(receiver.execution.awaited(), std::vector<Rank>{0});
    sender.data.assign(sender.data.size(), std::byte{9});
    sender.execution.progress();
    EXPECT_EQ(sender.execution.state(), State::Done) << "a short send needs no receiver";
    receiver.execution.progress();
    EXPECT_EQ(receiver.execution.state(), State::Mismatch);
    EXPECT_EQ(receiver.execution.disagreement().peer, 0);
    EXPECT_EQ(receiver.execution.disagreement().expected, 22U);
    EXPECT_EQ(receiver.execution.disagreement().received, 11U);
    for (const std::byte byte : receiver.data) EXPECT_EQ(byte, std::byte{0});
}

TEST(Execution, LongSendWaitsForSlotsAndSaysForWhom) {
    transport::memory::Domain domain(2, 2, 256);
    Exchange::Side sender(domain, 0, 5 * 256, 11);
    for (std::size_t i = 0; i < sender.data.size(); ++i) sender.data[i] = static_cast<std::byte>(i * 7);
    sender.execution.progress();
    EXPECT_EQ(sender.execution.state(), State::Running);
    EXPECT_EQ(sender.execution.awaited(), std::vector<Rank>{1});
    Exchange::Side receiver(domain, 1, 5 * 256, 11);
    for (int turn = 0; turn < 10 && receiver.execution.state() == State::Running; ++turn) {
        receiver.execution.progress();
        sender.execution.progress();
    }
    EXPECT_EQ(sender.execution.state(), State::Done);
    ASSERT_EQ(receiver.execution.state(), State::Done);
    sender.data.back() = receiver.data.back();  // beyond the message
    EXPECT_EQ(sender.data, receiver.data);
    EXPECT_EQ(sender.traffic.sent_messages[1], 5U);
    EXPECT_EQ(sender.traffic.sent_bytes[1], 5U * 256);
}

}  // namespace rondo::host
