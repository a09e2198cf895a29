#include "comm/options.hpp"

#include <gtest/gtest.h>

#include "transport/fifos.hpp"

#include "base/error.hpp"
#include "comm/selection.hpp"
#include "plan/shapes.hpp"

namespace rondo::comm {

namespace {

/// A configuration with some fields changed.
template <class Change>
Config with(Change change) {
    Config config;
    change(config);
    return config;
}

void expect_refusal(const Config& config, const Settings& settings, std::initializer_list<const char*> parts) {
    try {
        resolve(config, settings);
        FAIL() << "was accepted";
    } catch (const Error& error) {
        for (const char* part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

}  // namespace

TEST(Options, FollowSettingsWhereTheConfigurationIsSilent) {
    Settings settings;
    settings.timeout = 12;
    settings.nslots = 3;
    settings.buffsize = 3000;
    settings.algo = AlgorithmRules::parse("ring");
    const Options options = resolve({}, settings);
    EXPECT_EQ(options.timeout, 12);
    EXPECT_EQ(options.slots, 3U);
    EXPECT_EQ(options.slot_bytes, 896U) << "a third of 3000, in lines of 128";
    EXPECT_EQ(options.filter.source, "RONDO_ALGO");
    EXPECT_TRUE(options.filter.allows(plan::Collective::AllReduce, plan::Algorithm::Ring));
    EXPECT_FALSE(options.filter.allows(plan::Collective::AllReduce, plan::Algorithm::Tree));
    const Options chosen = resolve(with([](Config& c) {
                                       c.timeout = 5;
                                       c.algo = "tree";
                                       c.slots = 8;
                                   }),
                                   settings);
    EXPECT_EQ(chosen.timeout, 5);
    EXPECT_EQ(chosen.slots, 8U);
    EXPECT_EQ(chosen.filter.source, "config.algo");
    EXPECT_TRUE(chosen.filter.allows(plan::Collective::AllReduce, plan::Algorithm::Tree));
    EXPECT_EQ(resolve(with([](Config& c) { c.timeout = -1; }), settings).timeout, 12);
}

TEST(Options, RefuseWhatCannotBe) {
    expect_refusal(with([](Config& c) { c.device = "cuda:0"; }), {}, {"config.device", "cuda:0", "host"});
    expect_refusal(with([](Config& c) { c.slots = 65; }), {}, {"config.slots", "65", "1 to 64"});
    expect_refusal(with([](Config& c) { c.slots = -1; }), {}, {"config.slots", "-1"});
    expect_refusal(with([](Config& c) { c.algo = "rinng"; }), {}, {"config.algo", "rinng", "ring"});
    Settings small;
    small.buffsize = 200;
    expect_refusal({}, small, {"RONDO_BUFFSIZE=200", "4 slots", "128"});
    Settings gpu;
    gpu.proto = ProtocolChoice::LL128;
    expect_refusal({}, gpu, {"ll128", "simple"});
}

TEST(Options, FactsDifferWhereRanksWouldMisunderstandEachOther) {
    const Options base = resolve({}, {});
    EXPECT_EQ(base.facts(), resolve(with([](Config& c) {
                                        c.timeout = 3;
                                        c.name = "other";
                                    }),
                                    {})
                                .facts())
        << "these may differ";
    EXPECT_NE(base.facts(), resolve(with([](Config& c) { c.slots = 5; }), {}).facts());
    EXPECT_NE(base.facts(), resolve(with([](Config& c) { c.algo = "ring"; }), {}).facts());
    Settings settings;
    settings.proto = ProtocolChoice::Simple;
    EXPECT_NE(base.facts(), resolve({}, settings).facts());
    settings = {};
    settings.buffsize = 8192;
    EXPECT_NE(base.facts(), resolve({}, settings).facts());
}

// Whatever the filter leaves: the choice obeys it, serves, and is the same for all who ask.
constexpr Reach kReaches[] = {Reach::Threads, Reach::Host, Reach::Pull, Reach::Network};

TEST(Selection, ObeysTheFilterAndServes) {
    for (const plan::Shape& wanted : plan::shapes()) {
        if (wanted.collective == plan::Collective::AllToAllV) continue;
        AlgorithmFilter filter;
        const std::string rule =
            std::string(plan::name_of(wanted.collective)) + ":" + std::string(plan::name_of(wanted.algorithm));
        filter.rules = AlgorithmRules::parse(rule);
        for (const Rank nranks : {1, 2, 3, 7, 8, 100}) {
            const plan::Facts facts{.nranks = nranks};
            for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{8}, std::int64_t{1} << 30U}) {
                for (const Reach reach : kReaches) {
                    const bool copies = reach == Reach::Threads || reach == Reach::Pull;
                    if (wanted.needs.peer_reads && !copies) {
                        EXPECT_THROW(choose_shape(wanted.collective, bytes, facts, reach, filter), Error) << rule;
                        continue;
                    }
                    const bool reachable = !wanted.needs.peer_memory || reach == Reach::Threads ||
                                           (reach != Reach::Network && wanted.collective == plan::Collective::Barrier);
                    if ((wanted.needs.windows && reach == Reach::Network) || wanted.needs.multicast ||
                        !wanted.serves(facts) || !reachable) {
                        EXPECT_THROW(choose_shape(wanted.collective, bytes, facts, reach, filter), Error) << rule;
                    } else {
                        EXPECT_EQ(&choose_shape(wanted.collective, bytes, facts, reach, filter), &wanted)
                            << rule << " " << nranks;
                    }
                }
            }
        }
    }
}

TEST(Selection, SomethingServesEverySize) {
    for (const plan::Collective collective :
         {plan::Collective::AllReduce, plan::Collective::Reduce, plan::Collective::Broadcast,
          plan::Collective::AllGather, plan::Collective::ReduceScatter, plan::Collective::AllToAll,
          plan::Collective::Barrier}) {
        for (const Rank nranks : {1, 2, 5, 64}) {
            for (std::int64_t bytes = 0; bytes < std::int64_t{1} << 40U; bytes = bytes * 3 + 1) {
                for (const Reach reach : kReaches) {
                    EXPECT_EQ(choose_shape(collective, bytes, {.nranks = nranks}, reach, {}).collective, collective);
                }
            }
        }
    }
}

// A chain is the first choice of small rooted collectives of few ranks only.
TEST(Selection, DependsOnSizeAndRanks) {
    const auto chosen = [](std::int64_t bytes, Rank nranks) {
        return choose_shape(plan::Collective::Broadcast, bytes, {.nranks = nranks}, Reach::Threads, {}).algorithm;
    };
    EXPECT_EQ(chosen(2048, 8), plan::Algorithm::Ring);
    EXPECT_EQ(chosen(2048, 9), plan::Algorithm::Tree);
    EXPECT_EQ(chosen(2049, 8), plan::Algorithm::Direct);
    EXPECT_EQ(chosen(2049, 9), plan::Algorithm::Direct);
}

TEST(Selection, ARuleForOtherCollectivesLeavesBarriersFree) {
    AlgorithmFilter filter{.rules = AlgorithmRules::parse("ring")};
    EXPECT_EQ(choose_shape(plan::Collective::Barrier, 0, {.nranks = 4}, Reach::Threads, filter).collective,
              plan::Collective::Barrier);
    filter.rules = AlgorithmRules::parse("barrier:ring");
    EXPECT_THROW(choose_shape(plan::Collective::Barrier, 0, {.nranks = 4}, Reach::Threads, filter), Error);
}

TEST(Chunk, FitsIntoASlotOrALine) {
    Options options = resolve({}, {});
    for (const plan::Shape& shape : plan::shapes()) {
        const plan::Facts facts{.nranks = 8};
        if (shape.needs.multicast || shape.needs.peer_memory || shape.needs.peer_reads || shape.needs.windows ||
            !shape.serves(facts))
            continue;
        const plan::Plan plan = shape.build(facts, 3);
        const std::int64_t chunk = chunk_bytes_for(plan, options);
        EXPECT_GT(chunk, 0);
        EXPECT_EQ(chunk % 64, 0);
        EXPECT_LE(chunk * plan.message_parts, static_cast<std::int64_t>(options.slot_bytes));
    }
    const std::size_t window = transport::window_bytes(options.slots, options.slot_bytes);
    for (const plan::Shape& shape : plan::shapes()) {
        if (!shape.needs.windows) continue;
        for (const Rank nranks : {2, 3, 8, 64}) {
            const plan::Facts facts{.nranks = nranks, .channels = channels_for(shape, nranks, options)};
            EXPECT_GE(facts.channels, 2);
            const plan::Plan plan = shape.build(facts, nranks - 1);
            const std::int64_t chunk = chunk_bytes_for(plan, options);
            EXPECT_GT(chunk, 0);
            EXPECT_EQ(chunk % 64, 0);
            EXPECT_LE(static_cast<std::size_t>(chunk * plan.parts * plan.scratch_blocks * facts.channels), window);
        }
    }
    const plan::Shape* staged = plan::find_shape(plan::Collective::AllToAll, plan::Algorithm::Staged);
    options.channels = 3;
    EXPECT_EQ(channels_for(*staged, 2, options), 3) << "what the user asks for";
    options.slot_bytes = 64;
    EXPECT_THROW(chunk_bytes_for(staged->build({.nranks = 64}, 0), options), Error) << "a part of less than a line";
    options.slot_bytes = 4096;
    options.protocol = plan::Protocol::LL;
    const plan::Plan ring =
        plan::find_shape(plan::Collective::AllReduce, plan::Algorithm::Ring)->build({.nranks = 8}, 0);
    EXPECT_EQ(chunk_bytes_for(ring, options), 112);
    plan::Plan wide = ring;
    wide.message_parts = 100;
    EXPECT_THROW(chunk_bytes_for(wide, options), Error);
}

}  // namespace rondo::comm
