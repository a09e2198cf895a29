#include "bootstrap/messages.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/error.hpp"
#include "bootstrap/wire.hpp"

namespace rondo::bootstrap {
namespace {

Introduction introduction() {
    Introduction it;
    it.build = "rondo 1.2.3 (abc)";
    it.timeout = 12.5;
    it.process = {.token = 77, .site = 0, .pid = 4711, .start_time = 99, .port = 40001, .unix_name = "0001f"};
    it.site = {.host = "a", .host_id = "b/net:3", .pid_namespace = 8, .addresses = {*Address::parse("10.0.0.1")}};
    it.site.addresses.push_back(*Address::parse("fd00::2"));
    return it;
}

Roster roster() {
    Roster it;
    it.sites = {introduction().site, {.host = "c", .host_id = "d", .pid_namespace = 9, .addresses = {}}};
    it.processes = {introduction().process, introduction().process};
    it.processes[1].site = 1;
    it.process_of = {0, 1, 0};
    it.extra = {"x", "", std::string(kMostExtraBytes, 'z')};
    it.root_process = 1;
    return it;
}

Cause cause() {
    return {.code = Code::Timeout,
            .rank = 3,
            .peer = 4,
            .text = "text",
            .operation = "all_reduce",
            .sequence = 1ULL << 40U,
            .object = "eth0",
            .limit = "10 s",
            .number = "11 s",
            .remedy = "wait"};
}

TEST(Messages, ComeBackAsTheyWere) {
    EXPECT_EQ(decode_introduction(encode(introduction())), introduction());
    EXPECT_EQ(decode_roster(encode(roster())), roster());
    EXPECT_EQ(decode_cause(encode(cause())), cause());
    const Record record{.rank = 1, .sequence = 2, .signature = 3, .call = {4, 5}};
    EXPECT_EQ(decode_record(encode(record)), record);
    EXPECT_EQ(decode_missing(encode(MissingRanks{2, "0, 3-4"})), (MissingRanks{2, "0, 3-4"}));
    const JoinMessage join = decode_join(encode(JoinMessage{5, {3, "a=1\n", "extra"}}));
    EXPECT_EQ(join.nranks, 5);
    EXPECT_EQ(join.card.rank, 3);
    EXPECT_EQ(join.card.facts, "a=1\n");
    EXPECT_EQ(join.card.extra, "extra");
    const StatusMessage status = decode_status(encode(StatusMessage{9, "busy"}));
    EXPECT_EQ(status.number, 9U);
    EXPECT_EQ(status.text, "busy");
    const StatusReplyMessage reply = decode_status_reply(encode(StatusReplyMessage{7, {"a", "", "c"}}));
    EXPECT_EQ(reply.number, 7U);
    EXPECT_EQ(reply.texts, (std::vector<std::string>{"a", "", "c"}));
    const Errand errand{.process = 3, .source = 7, .destination = 9, .flow = 2, .milliseconds = 1500, .text = "no"};
    EXPECT_EQ(decode_errand(encode(errand)), errand);
    EXPECT_EQ(decode_reports(encode(std::vector<std::string>{"r", "s"})), (std::vector<std::string>{"r", "s"}));
    EXPECT_EQ(decode_rank(encode(Rank{-5})), -5);
    EXPECT_EQ(decode_ranks(encode(std::vector<Rank>{3, 1})), (std::vector<Rank>{3, 1}));
    EXPECT_EQ(decode_number(encode(std::uint64_t{1} << 63U)), std::uint64_t{1} << 63U);
}

TEST(Messages, ACauseIsCutToFit) {
    Cause large = cause();
    large.text.assign(100'000, 't');
    large.remedy.assign(100'000, 'r');
    large.code = Code::Success;
    const Cause back = decode_cause(encode(fit(large)));
    EXPECT_EQ(back.text, std::string(8192, 't'));
    EXPECT_EQ(back.remedy, std::string(1024, 'r'));
    EXPECT_EQ(back.code, Code::InternalError);
}

/// All decoders on the same bytes; each either takes them or says why not.
int refusals(const std::string& bytes) {
    int refused = 0;
    const auto attempt = [&](const std::function<void()>& decode) {
        try {
            decode();
        } catch (const Error& error) {
            ++refused;
            EXPECT_EQ(error.code(), Code::RemoteError);
            EXPECT_NE(std::string(error.what()).find("malformed"), std::string::npos) << error.what();
        }
    };
    attempt([&] { decode_introduction(bytes); });
    attempt([&] { decode_join(bytes); });
    attempt([&] { decode_cause(bytes); });
    attempt([&] { decode_record(bytes); });
    attempt([&] { decode_missing(bytes); });
    attempt([&] { decode_roster(bytes); });
    attempt([&] { decode_status(bytes); });
    attempt([&] { decode_status_reply(bytes); });
    attempt([&] { decode_errand(bytes); });
    attempt([&] { decode_reports(bytes); });
    attempt([&] { decode_rank(bytes); });
    attempt([&] { decode_ranks(bytes); });
    attempt([&] { decode_number(bytes); });
    return refused;
}

TEST(Messages, EveryCutIsRefused) {
    for (const std::string& whole : {encode(introduction()), encode(roster()), encode(cause())}) {
        for (std::size_t size = 0; size < std::min<std::size_t>(whole.size(), 300); ++size) {
            const std::string cut = whole.substr(0, size);
            EXPECT_THROW(decode_introduction(cut), Error);
            EXPECT_THROW(decode_roster(cut), Error);
            EXPECT_THROW(decode_cause(cut), Error);
        }
        EXPECT_EQ(refusals(whole + "x"), 13);
    }
}

TEST(Messages, LargeClaimsAllocateNothing) {
    Writer out;
    out.u32(0xffffffff);
    EXPECT_EQ(refusals(out.bytes() + std::string(60, '\0')), 13);
    EXPECT_THROW(decode_reports(out.bytes()), Error);
    EXPECT_THROW(decode_roster(out.bytes() + std::string(1000, '\0')), Error);
}

TEST(MessagesFuzz, RandomBytesNeverBreakAnything) {
    std::mt19937 random(99);
    const std::vector<std::string> seeds{encode(introduction()), encode(roster()), encode(cause()),
                                         encode(StatusReplyMessage{7, {"a", "", "c"}}), ""};
    long refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes = seeds[random() % seeds.size()].substr(0, 400);
        for (auto n = random() % 4; n > 0 && !bytes.empty(); --n) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        for (auto n = random() % 30; n > 0; --n) bytes += static_cast<char>(random());
        refused += refusals(bytes);
    }
    EXPECT_GT(refused, 200'000);
}

}  // namespace
}  // namespace rondo::bootstrap
