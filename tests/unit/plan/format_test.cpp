// The text and JSON forms of plans: nothing is lost on the way out and back, and nothing bad comes in.

#include "plan/format.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "plan/verify/cases.hpp"
#include "support/sanitizers.hpp"

namespace rondo::plan {
namespace {

std::vector<Plan> ring(Rank nranks) {
    return build_all(*find_shape(Collective::AllReduce, Algorithm::Ring), {.nranks = nranks});
}

/// The text of the error that reading gives.
std::string error_of(std::string_view text, const PlanBudget& budget = {}) {
    try {
        (void)from_json(text, "file.json", budget);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidArgument);
        return error.what();
    }
    return "accepted";
}

/// The ring's JSON with one piece of its text replaced.
std::string altered(const std::string& from, const std::string& to) {
    std::string text = to_json(ring(3));
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

void expect_error(const std::string& text, std::initializer_list<const char*> parts, const PlanBudget& budget = {}) {
    const std::string error = error_of(text, budget);
    for (const char* part : parts) {
        EXPECT_NE(error.find(part), std::string::npos) << part << "\nnot in: " << error;
    }
}

TEST(PlanJson, KeepsEveryShape) {
    for (const Shape& shape : shapes()) {
        for (const Rank nranks : {1, 2, 3, 4, 8, 12}) {
            if (kSlow && nranks > 4) continue;
            for (const Facts& facts : standard_facts(shape, nranks, 2)) {
                const std::vector<Plan> plans = build_all(shape, facts);
                ASSERT_EQ(from_json(to_json(plans), "x"), plans) << name_of(shape) << " n=" << nranks;
            }
        }
    }
}

TEST(PlanJson, KeepsEveryField) {
    const Index index{.base = 1, .scale = -2, .c0 = 3, .cs = -4, .cj = 5, .cf = -6, .mod = 7};
    Plan plan{.collective = Collective::Barrier,
              .algorithm = Algorithm::Dissemination,
              .nranks = 9,
              .rank = 8,
              .root = 7,
              .parts = 6,
              .message_parts = 5,
              .scratch_blocks = 4,
              .protocol = {Protocol::LL128, Protocol::LL, Protocol::Simple, Protocol::Auto}};
    Operand operand{.place = Place::Multicast,
                    .buffer = Buffer::Scratch,
                    .element = Element::Accumulator,
                    .tag = 3,
                    .acquire = true,
                    .publish = true,
                    .pre = true,
                    .fan = 2,
                    .peer = index,
                    .block = fixed(-5),
                    .piece = {.cs = 1}};
    const Step step{.kind = Kind::Move,
                    .post = true,
                    .rows = 2,
                    .width = 3,
                    .part = index,
                    .dsts = {operand, operand},
                    .srcs = {operand}};
    const Step wait{.kind = Kind::Wait, .srcs = {operand}};
    plan.channels = {
        {{{{{.when = When::EachTile, .loop = 3, .repeat = 0, .steps = {step, wait}}, {.when = When::Before}}}, {}}},
        {}};
    const std::vector<Plan> plans{plan};
    EXPECT_EQ(from_json(to_json(plans), "x"), plans);
    EXPECT_EQ(hash_of(from_json(to_json(plans), "x")[0]), hash_of(plan));
}

TEST(PlanJson, RefusesWhatIsNoJson) {
    expect_error("", {"file.json: no valid JSON", "line 1"});
    expect_error("{\"rondo_plans\":1,", {"no valid JSON"});
    expect_error("\xff\xfe", {"no valid JSON"});
    expect_error(to_json(ring(2)) + "x", {"no valid JSON"});
    expect_error(std::string(100000, '['), {"nested more than"});
    std::string deep = "{\"rondo_plans\":1,\"plans\":";
    for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
    expect_error(deep, {"nested more than"});
}

TEST(PlanJson, RefusesTheWrongShape) {
    expect_error("[]", {"file.json: /: expected an object, found array"});
    expect_error("{}", {"key \"rondo_plans\" is missing"});
    expect_error("{\"rondo_plans\":2,\"plans\":[]}", {"/rondo_plans: this version reads format 1 only"});
    expect_error("{\"rondo_plans\":1,\"plans\":[]}", {"/plans: there is no plan"});
    expect_error("{\"rondo_plans\":1,\"plans\":{}}", {"/plans: expected an array, found object"});
    expect_error("{\"rondo_plans\":1,\"plans\":[],\"plans\":[]}", {"key \"plans\" is given twice"});
    expect_error(altered("\"nranks\":3", "\"nranks\":\"3\""), {"/plans/0/nranks: expected an integer, found string"});
    expect_error(altered("\"nranks\":3", "\"nranks\":3.0"), {"/plans/0/nranks: expected an integer"});
    expect_error(altered("\"nranks\":3", "\"nranks\":0"), {"/plans/0/nranks: is 0, allowed are 1 to 8192"});
    expect_error(altered("\"nranks\":3", "\"nranks\":18446744073709551615"), {"is 18446744073709551615, allowed are"});
    expect_error(altered("\"nranks\":3", "\"nranks\":99999999999999999999999"), {"/plans/0/nranks"});
    expect_error(altered("\"rank\":0", "\"rank\":-1"), {"/plans/0/rank: is -1, allowed are 0 to 2"});
    expect_error(altered("\"root\":0", "\"rooot\":0"), {"/plans/0: unknown key \"rooot\", allowed are collective"});
    expect_error(altered("\"all_reduce\"", "\"all_reduced\""),
                 {"/plans/0/collective: \"all_reduced\" is none of all_reduce"});
    expect_error(altered("\"acquire\":true", "\"acquire\":1"),
                 {"/dsts/0/acquire: expected true or false, found number"});
    expect_error(altered("\"kind\":\"move\"", "\"kind\":null"), {"/steps/0/kind: expected a name, found null"});
    expect_error(altered("\"mod\":3", "\"mod\":-3"), {"/part/mod: is -3, allowed are 0 to"});
    expect_error(altered("\"place\":\"outbox\",", ""), {"/dsts/0: key \"place\" is missing"});
}

TEST(PlanJson, RefusesWhatTheBudgetDoesNotAllow) {
    const std::string text = to_json(ring(3));
    expect_error(text, {"has", "bytes, a plan file may have 100"}, {.bytes = 100});
    expect_error(text, {"/plans: has 3 elements, at most 2 are allowed"}, {.ranks = 2});
    expect_error(text, {"/plans/0/channels: has 1 elements, at most 0 are allowed"}, {.channels = 0});
    expect_error(text, {"/plans/0/channels/0/lanes/0/blocks: has 5 elements, at most 4 are allowed"}, {.steps = 4});
    expect_error(text, {"the plan has more than 6 steps"}, {.steps = 6});
    expect_error(text, {"the plan has more than 5 operands"}, {.operands = 5});
    expect_error(text, {"/plans/1", "more than 9 steps together"}, {.total_steps = 9});
    expect_error(altered("\"repeat\":1", "\"repeat\":1000000"), {"/repeat: is 1000000, allowed are 0 to 65536"});
    EXPECT_EQ(from_json(text, "x").size(), 3U);
}

TEST(PlanJson, SurvivesRandomDamage) {
    // Whatever happens to the bytes: an error, or well-formed plans that the verifier can judge.
    const std::string text = to_json(ring(3));
    std::mt19937 random(4711);
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string damaged = text;
        for (std::uint32_t i = 0; i <= random() % 3; ++i) {
            const std::size_t at = random() % damaged.size();
            switch (random() % 4) {
                case 0: damaged[at] = static_cast<char>(random()); break;
                case 1: damaged.erase(at, 1 + random() % 20); break;
                case 2: damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 30)); break;
                default: damaged[at] = static_cast<char>('0' + random() % 10); break;
            }
        }
        try {
            const std::vector<Plan> plans = from_json(damaged, "x");
            const Operation operation{plans, {.count = 20, .chunk = 2}};
            if (!verify(std::span(&operation, 1), {.max_operands = 1000000}).ok) ++refused;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::InvalidArgument);
            ++refused;
        }
    }
    EXPECT_GT(refused, 3000);
}

TEST(PlanText, SaysWhatEveryLaneDoes) {
    const std::string text = to_text(
        build_all(*find_shape(Collective::AllReduce, Algorithm::Ring), {.nranks = 4, .channels = 2, .slots = 2})[1]);
    for (const char* part :
         {"all_reduce/ring, rank 1 of 4, 4 parts a tile", "channels 0..1, each", "lane 0",
          "each tile:", "part 0: to 2 = pre input", "s=0..1:", "part (-1 - s) mod 4: to 2 = reduce(from 0, pre input)",
          "part 1: output, to 2 = reduce(from 0, pre input), final factor", "part 2: output = from 0"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nnot in:\n" << text;
    }
    for (const Shape& shape : shapes()) {
        const std::optional<Facts> facts = plain_facts(shape, 8);
        ASSERT_TRUE(facts) << name_of(shape);
        EXPECT_NE(to_text(shape.build(*facts, 3)).find(name_of(shape) + ", rank 3 of 8"), std::string::npos);
    }
}

TEST(PlanNames, AreFoundAgain) {
    for (const Shape& shape : shapes()) {
        EXPECT_EQ(collective_named(name_of(shape.collective)), shape.collective);
        EXPECT_EQ(algorithm_named(name_of(shape.algorithm)), shape.algorithm);
    }
    EXPECT_FALSE(collective_named("allreduce"));
    EXPECT_FALSE(algorithm_named(""));
}

}  // namespace
}  // namespace rondo::plan
