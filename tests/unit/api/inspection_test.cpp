// What a communicator tells about itself: plan, traffic, choice of algorithms; and settings that it follows.

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "collective_case.hpp"
#include "comm_ranks.hpp"

namespace rondo::api::test {

namespace {

std::string last_plan(rondoComm_t comm) {
    char text[200];
    EXPECT_EQ(rondoCommGetLastPlan(comm, text, sizeof(text)), rondoSuccess);
    return text;
}

using Numbers = std::vector<std::uint64_t>;

struct Traffic {
    explicit Traffic(int ranks) : bytes(static_cast<std::size_t>(ranks)), messages(bytes), direct(bytes) {}
    Numbers bytes;
    Numbers messages;
    Numbers direct;

    bool operator==(const Traffic&) const = default;
};

Traffic counted(rondoComm_t comm, int ranks) {
    Traffic traffic(ranks);
    EXPECT_EQ(rondoCommGetTraffic(comm, traffic.bytes.data(), traffic.messages.data(), traffic.direct.data()),
              rondoSuccess);
    return traffic;
}

Traffic planned(rondoComm_t comm, int ranks) {
    Traffic traffic(ranks);
    EXPECT_EQ(rondoCommGetPlannedTraffic(comm, traffic.bytes.data(), traffic.messages.data(), traffic.direct.data()),
              rondoSuccess);
    return traffic;
}

Traffic difference(const Traffic& after, const Traffic& before) {
    Traffic made = after;
    for (std::size_t i = 0; i < made.bytes.size(); ++i) {
        made.bytes[i] -= before.bytes[i];
        made.messages[i] -= before.messages[i];
        made.direct[i] -= before.direct[i];
    }
    return made;
}

rondoConfig_t forced(const char* algo) {
    rondoConfig_t how = config();
    how.algo = algo;
    return how;
}

/// Sets an environment variable while it lives.
class Setting {
public:
    Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    ~Setting() { ::unsetenv(name_); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

private:
    const char* name_;
};

}  // namespace

TEST(LastPlan, NamesWhatRan) {
    const Ranks ranks(3, forced("ring"));
    EXPECT_EQ(last_plan(ranks[0]), "") << "before the first operation";
    ranks.run([](int rank, rondoComm_t comm) {
        ASSERT_EQ(run_case({.count = 100}, rank, 3, comm), "");
        EXPECT_EQ(last_plan(comm).rfind("all_reduce/ring/n3/c", 0), 0U) << last_plan(comm);
    });
    EXPECT_EQ(last_plan(ranks[0]), last_plan(ranks[1])) << "what built the plans is the same on all ranks";
    char few[12];
    ASSERT_EQ(rondoCommGetLastPlan(ranks[0], few, sizeof(few)), rondoSuccess);
    EXPECT_STREQ(few, "all_reduce/");
    char one[1] = {'x'};
    ASSERT_EQ(rondoCommGetLastPlan(ranks[0], one, 1), rondoSuccess);
    EXPECT_EQ(one[0], '\0');
    EXPECT_EQ(rondoCommGetLastPlan(ranks[0], one, 0), rondoInvalidArgument);
}

TEST(Traffic, GrowsByWhatThePlanSays) {
    for (const char* algo : {"ring,pairwise", "tree,pat,bruck,ring", "direct", "one_shot,ring,pairwise", "^direct"}) {
        const Ranks ranks(5, forced(algo));
        ranks.run([&](int rank, rondoComm_t comm) {
            EXPECT_EQ(planned(comm, 5), Traffic(5)) << "before the first operation";
            Traffic before = counted(comm, 5);
            for (const Collective collective :
                 {Collective::AllReduce, Collective::Broadcast, Collective::Reduce, Collective::AllGather,
                  Collective::ReduceScatter, Collective::AllToAll}) {
                for (const std::size_t count : {0, 1, 7, 1000, 30'011}) {
                    const Case given{.collective = collective, .type = rondoInt16, .root = 3, .count = count};
                    ASSERT_EQ(run_case(given, rank, 5, comm), "") << describe(given);
                    const Traffic after = counted(comm, 5);
                    EXPECT_EQ(difference(after, before), planned(comm, 5))
                        << algo << " " << describe(given) << " rank " << rank;
                    before = after;
                }
            }
        });
    }
}

// Figures worked out by hand: a ring all-reduce sends 2 (n-1)/n of the vector to the next rank and nothing elsewhere.
TEST(Traffic, OfARingIsTheFormula) {
    const Ranks ranks(4, forced("ring"));
    ranks.run([](int rank, rondoComm_t comm) {
        ASSERT_EQ(run_case({.count = 4096}, rank, 4, comm), "");
        const Traffic traffic = counted(comm, 4);
        for (int peer = 0; peer < 4; ++peer) {
            const std::uint64_t right = peer == (rank + 1) % 4 ? 2 * 3 * 4096 * 4 / 4 : 0;
            EXPECT_EQ(traffic.bytes[static_cast<std::size_t>(peer)], right) << rank << " to " << peer;
        }
        EXPECT_EQ(std::accumulate(traffic.direct.begin(), traffic.direct.end(), std::uint64_t{0}), 0U);
    });
}

TEST(Traffic, OfAGroupIsWhatItSends) {
    const Ranks ranks(3);
    ranks.run([](int rank, rondoComm_t comm) {
        std::vector<std::uint8_t> out(10'000, 1);
        std::vector<std::uint8_t> in(40'000);
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        for (int i = 1; i <= 3; ++i) {
            ASSERT_EQ(
                rondoSend(out.data(), static_cast<std::size_t>(i) * 1000, rondoUint8, (rank + 1) % 3, comm, nullptr),
                rondoSuccess);
            ASSERT_EQ(rondoRecv(in.data() + 10'000 * i, static_cast<std::size_t>(i) * 1000, rondoUint8, (rank + 2) % 3,
                                comm, nullptr),
                      rondoSuccess);
        }
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
        const Traffic traffic = counted(comm, 3);
        EXPECT_EQ(traffic.bytes[static_cast<std::size_t>((rank + 1) % 3)], 6000U);
        EXPECT_EQ(traffic.bytes[static_cast<std::size_t>((rank + 2) % 3)], 0U);
        EXPECT_EQ(traffic, planned(comm, 3));
    });
}

TEST(Algorithms, OneThatCannotServeIsNamedWithWhatCan) {
    const Ranks ranks(2, forced("all_to_all:tree"));
    ranks.run([](int, rondoComm_t comm) {
        int in[2] = {1, 2};
        int out[2];
        expect(outcome_of([&] { return rondoAllToAll(in, out, 1, rondoInt32, comm, nullptr); }), rondoInvalidUsage,
               {"config.algo", "all_to_all:tree", "all_to_all", "pairwise", "bruck", "direct"});
        // Other collectives are free, and the communicator is whole.
        EXPECT_EQ(rondoAllReduce(in, out, 2, rondoInt32, rondoSum, comm, nullptr), rondoSuccess)
            << rondoGetLastError(nullptr);
        EXPECT_EQ(out[1], 4);
    });
    const Setting algo("RONDO_ALGO", "bruck");
    const Ranks by_setting(2);
    int data = 1;
    expect(outcome_of([&] { return rondoAllReduce(&data, &data, 1, rondoInt32, rondoSum, by_setting[0], nullptr); }),
           rondoInvalidUsage, {"RONDO_ALGO=bruck", "all_reduce", "ring"});
}

TEST(Algorithms, ConfigurationWinsOverTheSetting) {
    const Setting algo("RONDO_ALGO", "ring");
    const Ranks by_setting(2);
    const Ranks by_config(2, forced("two_shot"));
    for (const Ranks* ranks : {&by_setting, &by_config}) {
        ranks->run([](int rank, rondoComm_t comm) { ASSERT_EQ(run_case({.count = 50}, rank, 2, comm), ""); });
    }
    EXPECT_EQ(last_plan(by_setting[0]).rfind("all_reduce/ring", 0), 0U) << last_plan(by_setting[0]);
    EXPECT_EQ(last_plan(by_config[0]).rfind("all_reduce/two_shot", 0), 0U) << last_plan(by_config[0]);
}

TEST(Settings, BadValuesEndTheInitAndSayWhatIsAllowed) {
    struct Bad {
        const char* name;
        const char* value;
        std::vector<std::string> parts;
    };
    const std::vector<Bad> all{{"RONDO_ALGO", "rinng", {"rinng", "did you mean 'ring'"}},
                               {"RONDO_PROTO", "simpel", {"simpel", "simple"}},
                               {"RONDO_NSLOTS", "0", {"0", "1", "64"}},
                               {"RONDO_BUFFSIZE", "4Q", {"4Q"}},
                               {"RONDO_BUFFSIZE", "-3", {"-3"}},
                               {"RONDO_BUFFSIZE", "1e99", {"1e99"}},
                               {"RONDO_TIMEOUT", "soon", {"soon"}}};
    for (const Bad& bad : all) {
        const Setting setting(bad.name, bad.value);
        rondoComm_t comm = nullptr;
        const Outcome outcome = outcome_of([&] { return rondoCommInitAll(&comm, 1, nullptr); });
        expect(outcome, rondoInvalidArgument, {bad.name});
        for (const std::string& part : bad.parts) expect(outcome, rondoInvalidArgument, {part});
        EXPECT_EQ(comm, nullptr);
    }
}

TEST(Settings, ConfigurationOfAnImpossibleSizeIsRefused) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, sizeof(rondoConfig_t) + 1, SIZE_MAX}) {
        rondoConfig_t how = config();
        how.size = size;
        rondoComm_t comm = nullptr;
        expect(outcome_of([&] { return rondoCommInitAll(&comm, 1, &how); }), rondoInvalidArgument,
               {"config.size is " + std::to_string(size), "RONDO_CONFIG_INITIALIZER"});
    }
}

TEST(Settings, ProtocolsAndSizesOfFifosGiveTheSameResults) {
    for (const char* proto : {"simple", "ll", "auto"}) {
        for (const char* size : {"16K", "64K"}) {
            const Setting protocol("RONDO_PROTO", proto);
            const Setting buffer("RONDO_BUFFSIZE", size);
            for (const char* algo : {"ring,pairwise", "tree,pat,bruck,ring", "direct"}) {
                const Ranks ranks(4, forced(algo));
                ranks.run([&](int rank, rondoComm_t comm) {
                    for (const Collective collective :
                         {Collective::AllReduce, Collective::Broadcast, Collective::Reduce, Collective::AllGather,
                          Collective::ReduceScatter, Collective::AllToAll}) {
                        for (const std::size_t count : {1, 30, 3001}) {
                            const Case given{.collective = collective, .root = 1, .count = count};
                            ASSERT_EQ(run_case(given, rank, 4, comm), "")
                                << proto << " " << size << " " << describe(given);
                        }
                    }
                });
            }
        }
    }
    const Setting protocol("RONDO_PROTO", "ll128");
    rondoComm_t comm = nullptr;
    expect(outcome_of([&] { return rondoCommInitAll(&comm, 1, nullptr); }), rondoInvalidUsage, {"ll128", "simple"});
}

}  // namespace rondo::api::test
