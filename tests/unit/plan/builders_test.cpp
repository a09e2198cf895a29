// Every shape of the catalogue on the reference machine: right results for all small rank counts, slots, tile counts,
// roots and channels, in place and out of place, in four orders of execution; and prices that are what is sent.

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "plan/shapes.hpp"
#include "reference_machine.hpp"
#include "support/sanitizers.hpp"

namespace rondo::plan {
namespace {

using reference::Buffers;
using reference::Machine;
using reference::Order;
using reference::Word;
using Memory = std::vector<std::vector<Word>>;

constexpr std::array kAllRankCounts{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17};
constexpr std::array kFewRankCounts{1, 2, 3, 5, 8, 9};
constexpr std::span<const Rank> kRankCounts = kSlow ? std::span<const Rank>(kFewRankCounts) : kAllRankCounts;
constexpr std::array kOrders{Order::RoundRobin, Order::FirstLanes, Order::LastLanes, Order::Random};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A word that differs for every rank and element (the finalizer of SplitMix64).
Word word(std::int64_t rank, std::int64_t element) {
    Word value = static_cast<Word>(rank) * 0x10000019U + static_cast<Word>(element) + 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

constexpr std::int64_t kOutput = 1 << 20;  ///< elements from here on: what outputs hold before

struct Case {
    Shape shape;
    Facts facts;
    reference::Launch launch;
    bool in_place = false;
    Order order = Order::RoundRobin;

    [[nodiscard]] std::string text() const {
        return std::string(name_of(shape.collective)) + "/" + std::string(name_of(shape.algorithm)) +
               " n=" + std::to_string(facts.nranks) + " root=" + std::to_string(facts.root) +
               " channels=" + std::to_string(facts.channels) + " hosts=" + std::to_string(facts.hosts.size()) +
               " plan slots=" + std::to_string(facts.slots) + " slots=" + std::to_string(launch.slots) +
               " count=" + std::to_string(launch.count) + " chunk=" + std::to_string(launch.chunk) +
               " in place=" + std::to_string(in_place) + " order=" + std::to_string(static_cast<int>(order));
    }
};

std::vector<Plan> build_all(const Shape& shape, const Facts& facts) {
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < facts.nranks; ++rank) plans.push_back(shape.build(facts, rank));
    return plans;
}

/// Elements of input and output of a rank; 0 where the collective must not touch it.
std::pair<std::int64_t, std::int64_t> sizes(const Case& c, Rank rank) {
    const std::int64_t count = c.launch.count;
    const std::int64_t all = count * c.facts.nranks;
    const bool root = rank == c.facts.root;
    switch (c.shape.collective) {
        case Collective::AllReduce: return {count, count};
        case Collective::Reduce: return {count, root ? count : 0};
        case Collective::Broadcast: return {root ? count : 0, count};
        case Collective::AllGather: return {count, all};
        case Collective::ReduceScatter: return {all, count};
        case Collective::AllToAll: return {all, all};
        case Collective::Barrier: return {1, 0};
        default: throw std::logic_error("has its own test");
    }
}

/// Memory of all ranks. In place, the smaller buffer lies in the larger one, where the collective's rule says.
struct World {
    explicit World(const Case& c) {
        for (Rank r = 0; r < c.facts.nranks; ++r) {
            const auto [in, out] = sizes(c, r);
            inputs.emplace_back(at(in));
            outputs.emplace_back(at(out));
            for (std::int64_t i = 0; i < in; ++i) inputs.back()[at(i)] = word(r, i);
            for (std::int64_t i = 0; i < out; ++i) outputs.back()[at(i)] = word(r, kOutput + i);
        }
        before = inputs;
        for (Rank r = 0; r < c.facts.nranks; ++r) {
            Buffers made{.input = inputs[at(r)], .output = outputs[at(r)]};
            if (c.in_place && !made.input.empty() && !made.output.empty()) {
                if (made.input.size() > made.output.size()) {
                    made.output = made.input.subspan(at(r * c.launch.count), made.output.size());
                } else {
                    const auto inside = made.output.subspan(
                        made.input.size() == made.output.size() ? 0 : at(r * c.launch.count), made.input.size());
                    std::ranges::copy(made.input, inside.begin());
                    made.input = inside;
                }
            }
            buffers.push_back(made);
        }
    }

    Memory inputs;
    Memory outputs;
    Memory before;  ///< the inputs as they were
    std::vector<Buffers> buffers;
};

Word expected(const Case& c, const World& world, Rank rank, std::int64_t i) {
    const std::int64_t count = c.launch.count;
    const auto sum = [&](std::int64_t element) {
        Word total = 0;
        for (const std::vector<Word>& input : world.before) total += input[at(element)] * reference::kPre;
        return total * reference::kPost;
    };
    switch (c.shape.collective) {
        case Collective::AllReduce:
        case Collective::Reduce: return sum(i);
        case Collective::ReduceScatter: return sum(rank * count + i);
        case Collective::Broadcast: return world.before[at(c.facts.root)][at(i)];
        case Collective::AllGather: return world.before[at(i / count)][at(i % count)];
        case Collective::AllToAll: return world.before[at(i / count)][at(rank * count + i % count)];
        default: throw std::logic_error("has no output");
    }
}

/// Runs the case and says what is wrong; empty where nothing is.
std::string fault_of(const Case& c, std::span<const Plan> plans) {
    World world(c);
    try {
        Machine(plans, world.buffers, c.launch).run(c.order, 7);
    } catch (const std::exception& error) {
        return c.text() + ": " + error.what();
    }
    if (c.shape.collective == Collective::Barrier) return {};
    for (Rank r = 0; r < c.facts.nranks; ++r) {
        const std::span<const Word> output = world.buffers[at(r)].output;
        if (c.launch.mix) {  // every reduction of an element happened in the same order
            if (!std::ranges::equal(output, world.buffers[0].output)) return c.text() + ": results differ";
            continue;
        }
        for (std::size_t i = 0; i < output.size(); ++i) {
            if (output[i] == expected(c, world, r, static_cast<std::int64_t>(i))) continue;
            return c.text() + ": rank " + std::to_string(r) + " has a wrong element " + std::to_string(i);
        }
        if (!c.in_place && world.inputs[at(r)] != world.before[at(r)]) return c.text() + ": an input changed";
    }
    return {};
}

/// Facts worth a run: some roots, channels and host layouts.
std::vector<Facts> facts_for(const Shape& shape, Rank n) {
    std::vector<Facts> all;
    for (const Rank root : {0, 1, n / 2, n - 1}) {
        if (root >= n || (root != 0 && !rooted(shape.collective))) continue;
        for (const std::int32_t channels : {1, 2}) all.push_back({.nranks = n, .root = root, .channels = channels});
    }
    if (shape.algorithm == Algorithm::Hierarchical) {
        std::vector<Facts> layouts;
        for (const Facts& facts : all) {
            for (Rank hosts = 1; hosts <= n; ++hosts) {
                if (n % hosts != 0) continue;
                for (const bool strided : {false, true}) {
                    Facts made = facts;
                    made.hosts.resize(at(hosts));
                    for (Rank r = 0; r < n; ++r) made.hosts[at(strided ? r % hosts : r / (n / hosts))].push_back(r);
                    layouts.push_back(made);
                }
            }
        }
        all = layouts;
    }
    std::erase_if(all, [&](const Facts& facts) { return !shape.serves(facts); });
    return all;
}

/// Elements for 0, 1, 2 and 3 tiles of every channel, with and without a tail, and less than one part each.
std::vector<std::int64_t> counts_for(const Plan& plan, std::int64_t chunk) {
    if (plan.collective == Collective::Barrier) return {1};
    const std::int64_t tiles = chunk * plan.parts * static_cast<std::int64_t>(plan.channels.size());
    return {0, 1, tiles / 2 + 1, tiles, 2 * tiles, 3 * tiles + 1 + plan.parts / 2};
}

class EveryShape : public testing::TestWithParam<Shape> {};

TEST_P(EveryShape, ComputesItsCollective) {
    const Shape& shape = GetParam();
    int runs = 0;
    for (const Rank n : kRankCounts) {
        for (Facts facts : facts_for(shape, n)) {
            for (const auto& [plan_slots, slots] :
                 {std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 2}, std::pair{2, 3}}) {
                if (n > 9 && plan_slots != slots) continue;  // larger counts: fewer variants, for time
                facts.slots = plan_slots;
                const std::vector<Plan> plans = build_all(shape, facts);
                for (const std::int64_t count : counts_for(plans[0], 2)) {
                    for (const bool in_place : {false, true}) {
                        if (in_place && shape.collective == Collective::AllToAll) continue;
                        for (const Order order : kOrders) {
                            if (n > 9 && (order == Order::RoundRobin || order == Order::FirstLanes)) continue;
                            const Case c{
                                .shape = shape,
                                .facts = facts,
                                .launch = {.count = count,
                                           .chunk = 2,
                                           .align = count % 2 == 0 ? 2 : 1,
                                           .slots = at(slots),
                                           .mix = shape.collective == Collective::AllReduce && order == Order::Random},
                                .in_place = in_place,
                                .order = order};
                            ++runs;
                            ASSERT_EQ(fault_of(c, plans), "");
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(runs, 0);
}

// Rounds of several messages (parallel aggregated trees) and long binary numbers of ranks (Bruck, halving) come here.
TEST_P(EveryShape, ComputesItsCollectiveAmongMany) {
    const Shape& shape = GetParam();
    for (const Rank n : {63, 65, 70, 133}) {
        if (kSlow && n != 70) continue;
        Facts facts{.nranks = n, .root = rooted(shape.collective) ? n / 3 : 0};
        for (Rank r = 0; r < n; ++r) {
            if (r % (n % 7 == 0 ? 7 : 5) == 0) facts.hosts.emplace_back();
            facts.hosts.back().push_back(r);
        }
        if (!shape.serves(facts)) continue;
        for (const int slots : {1, 2}) {
            facts.slots = slots;
            const std::vector<Plan> plans = build_all(shape, facts);
            const bool barrier = shape.collective == Collective::Barrier;
            const std::int64_t tile = plans[0].parts * static_cast<std::int64_t>(plans[0].channels.size());
            for (const std::int64_t count : {std::int64_t{1}, tile + tile / 2}) {
                if (barrier && count != 1) continue;
                const Case c{.shape = shape, .facts = facts, .launch = {.count = count, .slots = at(slots)}};
                ASSERT_EQ(fault_of(c, plans), "");
            }
        }
    }
}

TEST_P(EveryShape, CostsWhatItSends) {
    const Shape& shape = GetParam();
    for (const Rank n : kRankCounts) {
        for (Facts facts : facts_for(shape, n)) {
            facts.slots = 2;
            const std::vector<Plan> plans = build_all(shape, facts);
            const auto channels = static_cast<std::int64_t>(plans[0].channels.size());
            Case c{.shape = shape, .facts = facts, .launch = {.count = 4 * plans[0].parts * channels, .chunk = 4}};
            if (shape.collective == Collective::Barrier) c.launch = {.count = 1, .chunk = 1};
            c.launch.slots = 2;
            World world(c);
            Machine machine(plans, world.buffers, c.launch);
            machine.run(Order::RoundRobin, 0);
            const bool blocks = shape.collective == Collective::AllGather ||
                                shape.collective == Collective::ReduceScatter ||
                                shape.collective == Collective::AllToAll;
            const Cost cost = shape.cost(facts, static_cast<double>(c.launch.count * (blocks ? n : 1)));
            std::int64_t most = 0;
            for (std::size_t r = 0; r < plans.size(); ++r) {
                most = std::max({most, machine.sent[r] + machine.moved[r], machine.egress[r], machine.ingress[r]});
            }
            EXPECT_NEAR(cost.bytes, static_cast<double>(most), 1e-6) << c.text();
            EXPECT_EQ(cost.hops, machine.hops) << c.text();
            const double repeats = shape.collective == Collective::Barrier ? 1.0 : facts.channels;
            EXPECT_EQ(cost.messages * repeats, static_cast<double>(std::ranges::max(machine.messages))) << c.text();
        }
    }
}

std::size_t steps_of(const Plan& plan) {
    std::size_t steps = 0;
    for (const Channel& channel : plan.channels) {
        for (const Lane& lane : channel.lanes) {
            for (const Block& block : lane.blocks) steps += block.steps.size();
        }
    }
    return steps;
}

TEST_P(EveryShape, StaysSmallAtEightThousandRanks) {
    const Shape& shape = GetParam();
    for (const Rank n : {8191, 8192}) {
        Facts facts{.nranks = n};
        for (Rank r = 0; r < n; ++r) {
            if (r % 8 == 0 && n % 8 == 0) facts.hosts.emplace_back();
            if (n % 8 == 0) facts.hosts.back().push_back(r);
        }
        if (!shape.serves(facts)) continue;
        // Bruck packs and unpacks 13 messages, cut at the binary digits of n: 13 * 14 steps where all of them are 1.
        const std::size_t limit = shape.algorithm == Algorithm::Bruck && n == 8191 ? 13 * 14 : 100;
        for (const Rank r : {0, 1, n / 2, n - 1}) EXPECT_LE(steps_of(shape.build(facts, r)), limit) << n << " " << r;
    }
}

TEST_P(EveryShape, DependsOnFactsAndRankOnly) {
    const Shape& shape = GetParam();
    for (const Facts& facts : facts_for(shape, 8)) {
        for (Rank r = 0; r < 8; ++r) {
            const Plan plan = shape.build(facts, r);
            EXPECT_EQ(plan, shape.build(facts, r));
            EXPECT_EQ(plan.collective, shape.collective);
            EXPECT_EQ(plan.algorithm, shape.algorithm);
            EXPECT_EQ(plan.rank, r);
            EXPECT_EQ(plan.nranks, 8);
        }
    }
}

std::vector<Shape> uniform_shapes() {
    std::vector<Shape> chosen(shapes().begin(), shapes().end());
    std::erase_if(chosen, [](const Shape& shape) { return shape.collective == Collective::AllToAllV; });
    return chosen;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryShape, testing::ValuesIn(uniform_shapes()), [](const auto& shape) {
    return std::string(name_of(shape.param.collective)) + "_" + std::string(name_of(shape.param.algorithm));
});

TEST(Catalogue, FindsEveryShapeOnce) {
    for (const Shape& shape : shapes()) EXPECT_EQ(find_shape(shape.collective, shape.algorithm), &shape);
    EXPECT_EQ(find_shape(Collective::Barrier, Algorithm::Ring), nullptr);
    EXPECT_EQ(find_shape(Collective::SendRecv, Algorithm::Group), nullptr);
}

/// One message of an irregular exchange, with its block index at both ends.
struct Parcel {
    Rank from = 0;
    Rank to = 0;
    std::int64_t length = 0;
    std::size_t sent_as = 0;
    std::size_t received_as = 0;
};

/// Appends a block with a gap before it, so that offsets are not sums of lengths.
void append(reference::Extents& table, std::int64_t length) {
    const std::int64_t end = table.length.empty() ? 0 : table.offset.back() + table.length.back();
    table.offset.push_back(end + 1);
    table.length.push_back(length);
}

std::size_t extent_of(const reference::Extents& table) {
    return table.length.empty() ? 0 : at(table.offset.back() + table.length.back() + 1);
}

/// Runs plans on the tables; expects every parcel delivered and nothing else written.
void expect_delivered(std::span<const Plan> plans, const std::vector<Buffers>& tables,
                      const std::vector<Parcel>& parcels, std::size_t slots, Order order, unsigned seed) {
    Memory inputs;
    Memory outputs;
    std::vector<Buffers> buffers = tables;
    for (std::size_t r = 0; r < plans.size(); ++r) {
        inputs.emplace_back(extent_of(tables[r].input_extents));
        outputs.emplace_back(extent_of(tables[r].output_extents));
        for (std::size_t i = 0; i < inputs[r].size(); ++i) {
            inputs[r][i] = word(static_cast<std::int64_t>(r), static_cast<std::int64_t>(i));
        }
        for (std::size_t i = 0; i < outputs[r].size(); ++i) outputs[r][i] = i;
    }
    Memory wanted = outputs;
    for (const Parcel& p : parcels) {
        const std::int64_t source = tables[at(p.from)].input_extents.offset[p.sent_as];
        const std::int64_t target = tables[at(p.to)].output_extents.offset[p.received_as];
        for (std::int64_t i = 0; i < p.length; ++i)
            wanted[at(p.to)][at(target + i)] = inputs[at(p.from)][at(source + i)];
    }
    for (std::size_t r = 0; r < plans.size(); ++r) {
        buffers[r].input = inputs[r];
        buffers[r].output = outputs[r];
    }
    ASSERT_NO_THROW(Machine(plans, buffers, {.chunk = 3, .slots = slots}).run(order, seed)) << "seed " << seed;
    EXPECT_EQ(outputs, wanted) << "seed " << seed;
}

TEST(AllToAllV, DeliversUnequalBlocks) {
    const Shape& shape = *find_shape(Collective::AllToAllV, Algorithm::Pairwise);
    unsigned seed = 1;
    for (const Rank n : kRankCounts) {
        for (const std::int32_t channels : {1, 2}) {
            for (const std::size_t slots : {std::size_t{1}, std::size_t{2}}) {
                for (const Order order : kOrders) {
                    std::mt19937 random(++seed);
                    std::vector<Buffers> tables(at(n));
                    std::vector<Parcel> parcels;
                    for (Rank from = 0; from < n; ++from) {
                        for (Rank to = 0; to < n; ++to) {
                            const auto length = static_cast<std::int64_t>(random() % 4 == 0 ? 0 : random() % 17);
                            parcels.push_back({from, to, length, at(to), at(from)});
                            append(tables[at(from)].input_extents, length);
                            append(tables[at(to)].output_extents, length);
                        }
                    }
                    const std::vector<Plan> plans = build_all(shape, {.nranks = n, .channels = channels});
                    expect_delivered(plans, tables, parcels, slots, order, seed);
                }
            }
        }
    }
}

TEST(Group, DeliversAnyListOfMessages) {
    for (unsigned seed = 1; seed <= 400; ++seed) {
        std::mt19937 random(seed);
        const auto n = static_cast<Rank>(1 + random() % 6);
        std::vector<Buffers> tables(at(n));
        std::vector<std::vector<GroupOp>> ops(at(n));
        std::vector<Parcel> parcels(random() % 30);
        for (Parcel& p : parcels) {
            p.from = static_cast<Rank>(random() % at(n));
            p.to = static_cast<Rank>(random() % at(n));
            p.length = static_cast<std::int64_t>(random() % 12);
        }
        // Each rank lists its operations in its own order; only the order of each pair's messages is shared.
        for (Rank r = 0; r < n; ++r) {
            std::vector<std::size_t> order(2 * parcels.size());
            std::iota(order.begin(), order.end(), 0U);
            std::ranges::shuffle(order, random);
            std::map<std::pair<bool, Rank>, std::vector<Parcel*>> streams;
            for (Parcel& p : parcels) {
                if (p.from == r) streams[{true, p.to}].push_back(&p);
                if (p.to == r) streams[{false, p.from}].push_back(&p);
            }
            std::map<std::pair<bool, Rank>, std::size_t> next;
            for (const std::size_t pick : order) {
                const bool send = pick < parcels.size();
                const Parcel& picked = parcels[pick % parcels.size()];
                if ((send ? picked.from : picked.to) != r) continue;
                const std::pair key{send, send ? picked.to : picked.from};
                Parcel& p = *streams[key][next[key]++];
                (send ? p.sent_as : p.received_as) = ops[at(r)].size();
                append(tables[at(r)].input_extents, send ? p.length : 0);
                append(tables[at(r)].output_extents, send ? 0 : p.length);
                ops[at(r)].push_back({.peer = key.second, .send = send});
            }
        }
        std::vector<Plan> plans;
        for (Rank r = 0; r < n; ++r) plans.push_back(build_group(n, r, ops[at(r)]));
        for (const Order order : kOrders) expect_delivered(plans, tables, parcels, 1 + seed % 2, order, seed);
    }
}

TEST(Group, RefusesWhatCannotMeet) {
    const auto text_of = [](std::vector<GroupOp> ops) -> std::string {
        try {
            static_cast<void>(build_group(4, 2, ops));
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(text_of({{2, true}, {2, false}, {1, true}}), "accepted");
    EXPECT_NE(text_of({{2, true}, {2, false}, {2, true}}).find("send number 2 has no partner"), std::string::npos);
    EXPECT_NE(text_of({{1, true}, {2, false}}).find("receive number 1 has no partner"), std::string::npos);
    EXPECT_NE(text_of({{1, true}, {4, false}}).find("receive number 1 of the group names rank 4"), std::string::npos);
    EXPECT_NE(text_of({{-1, true}}).find("send number 0 of the group names rank -1"), std::string::npos);
}

// What relay() is for: the plan for two slots wants two.
TEST(Ring, WantsTheSlotsThatItWasBuiltFor) {
    const Shape& shape = *find_shape(Collective::AllReduce, Algorithm::Ring);
    Case c{.shape = shape, .facts = {.nranks = 4, .slots = 2}, .launch = {.count = 16, .chunk = 2, .slots = 1}};
    EXPECT_NE(fault_of(c, build_all(shape, c.facts)).find("deadlock"), std::string::npos);
    c.facts.slots = 1;
    EXPECT_EQ(fault_of(c, build_all(shape, c.facts)), "");
}

}  // namespace
}  // namespace rondo::plan
