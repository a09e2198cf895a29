#include "bootstrap/environment.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "base/error.hpp"
#include "bootstrap/session.hpp"
#include "bootstrap/sockets.hpp"
#include "unit/base/temporary.hpp"
#include "unit/bootstrap/members.hpp"

namespace rondo::bootstrap {
namespace {

using Map = std::map<std::string, std::string>;

Variables variables(Map map) {
    return [map = std::move(map)](const std::string& name) -> std::optional<std::string> {
        const auto found = map.find(name);
        return found == map.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
}

Settings settings_for(const std::string& place, Rank rank, Rank nranks, const std::string& secret = "") {
    Settings settings;
    settings.network.comm_id = place;
    settings.network.rank = rank;
    settings.network.nranks = nranks;
    settings.network.comm_secret = secret;
    return settings;
}

void expect_refused(Code code, const Settings& settings, const Map& map, std::initializer_list<const char*> parts) {
    try {
        id_from_environment(settings, variables(map), 0);
        FAIL() << "taken";
    } catch (const Error& error) {
        EXPECT_EQ(name_of(error.code()), name_of(code)) << error.what();
        for (const char* part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

constexpr const char* kSecret = "a secret of some length";

TEST(Environment, RanksComputeTheSameId) {
    const EnvironmentId a = id_from_environment(settings_for("127.0.0.1:4711", 0, 3), variables({}), 0);
    const EnvironmentId b = id_from_environment(settings_for("127.0.0.1:4711", 2, 3), variables({}), 0);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.rank, 0);
    EXPECT_EQ(b.rank, 2);
    EXPECT_EQ(b.nranks, 3);
    const Identity identity = decode(a.id);
    EXPECT_TRUE(identity.late_root && identity.own_port && identity.loopback);
    EXPECT_EQ(identity.root, (Contact{{Address::v4_loopback()}, 4711}));
}

TEST(Environment, EverythingElseIsAnotherId) {
    const auto id = [](const std::string& place, std::uint64_t number, const std::string& secret) {
        return decode(id_from_environment(settings_for(place, 0, 2, secret), variables({}), number).id);
    };
    const Identity first = id("127.0.0.1:4711", 0, kSecret);
    EXPECT_NE(id("127.0.0.1:4711", 1, kSecret).key, first.key);
    EXPECT_NE(id("127.0.0.1:4711", 1, kSecret).secret, first.secret);
    EXPECT_NE(id("127.0.0.1:4712", 0, kSecret).key, first.key);
    // With a wrong secret a rank finds the place, and is told that the secret is wrong.
    EXPECT_EQ(id("127.0.0.1:4711", 0, std::string(kSecret) + "x").key, first.key);
    EXPECT_NE(id("127.0.0.1:4711", 0, std::string(kSecret) + "x").secret, first.secret);
    EXPECT_FALSE(first.loopback);
}

TEST(Environment, WithoutASecretOnlyLoopbackIsServed) {
    for (const char* place : {"10.1.2.3:4711", "[fd00::2]:4711"}) {
        expect_refused(Code::InvalidUsage, settings_for(place, 0, 2), {}, {place, "RONDO_COMM_SECRET", "loopback"});
        EXPECT_FALSE(decode(id_from_environment(settings_for(place, 0, 2, kSecret), variables({}), 0).id).loopback);
    }
    EXPECT_TRUE(decode(id_from_environment(settings_for("[::1]:4711", 0, 2), variables({}), 0).id).loopback);
    EXPECT_TRUE(decode(id_from_environment(settings_for("localhost:4711", 0, 2), variables({}), 0).id).loopback);
}

TEST(Environment, TheSecretMayBeInAFile) {
    const TemporaryDirectory directory;
    Settings settings = settings_for("10.1.2.3:4711", 0, 2);
    settings.network.comm_secret_file = directory.write("secret", std::string(kSecret) + "\n");
    ::chmod(settings.network.comm_secret_file.c_str(), 0600);
    EXPECT_EQ(id_from_environment(settings, variables({}), 0).id,
              id_from_environment(settings_for("10.1.2.3:4711", 0, 2, kSecret), variables({}), 0).id);
    settings.network.comm_secret_file = directory.write("short", "short\nlonger than the first line\n");
    expect_refused(Code::InvalidArgument, settings, {}, {"RONDO_COMM_SECRET_FILE", "5 characters", "16 to 4096"});
    settings.network.comm_secret_file = "/no/such/secret";
    expect_refused(Code::SystemError, settings, {}, {"RONDO_COMM_SECRET_FILE=/no/such/secret", "No such file"});
}

TEST(Environment, TorchrunsVariablesAreTakenAtTheNextPort) {
    const Map torchrun{{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}, {"RANK", "1"}, {"WORLD_SIZE", "4"}};
    const EnvironmentId found = id_from_environment(Settings{}, variables(torchrun), 0);
    EXPECT_EQ(found.rank, 1);
    EXPECT_EQ(found.nranks, 4);
    EXPECT_EQ(decode(found.id).root.port, 29501);
    EXPECT_NE(found.source.find("MASTER_ADDR"), std::string::npos);
    for (const char* gone : {"MASTER_PORT", "RANK", "WORLD_SIZE"}) {
        Map part = torchrun;
        part.erase(gone);
        expect_refused(Code::InvalidUsage, Settings{}, part, {gone, "MASTER_ADDR is set"});
    }
    Map bad = torchrun;
    bad["RANK"] = "4";
    expect_refused(Code::InvalidArgument, Settings{}, bad, {"rank 4 is outside [0, 4)"});
    bad["RANK"] = "x";
    expect_refused(Code::InvalidArgument, Settings{}, bad, {"RANK", "'x'"});
    // RONDO_COMM_ID goes before.
    const EnvironmentId own = id_from_environment(settings_for("127.0.0.1:99", 0, 2), variables(torchrun), 0);
    EXPECT_EQ(decode(own.id).root.port, 99);
}

TEST(Environment, SlurmsVariablesAreTaken) {
    Settings settings;
    settings.network.comm_secret = kSecret;
    const auto place_of = [&](const std::string& nodes, const std::string& job) {
        return id_from_environment(settings,
                                   variables({{"SLURM_PROCID", "3"},
                                              {"SLURM_STEP_NUM_TASKS", "8"},
                                              {"SLURM_STEP_ID", "0"},
                                              {"SLURM_NTASKS", "16"},
                                              {"SLURM_STEP_NODELIST", nodes},
                                              {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"},
                                              {"SLURM_JOB_ID", job}}),
                                   0);
    };
    const EnvironmentId found = place_of("", "12");
    EXPECT_EQ(found.rank, 3);
    EXPECT_EQ(found.nranks, 8);
    const Contact root = decode(found.id).root;
    EXPECT_EQ(root.addresses, std::vector<Address>{*Address::parse("10.0.0.9")});
    EXPECT_GE(root.port, 20000);
    EXPECT_LT(root.port, 32000);
    EXPECT_NE(decode(place_of("", "13").id).root.port, root.port);
    for (const char* nodes :
         {"127.0.0.[7-9]", "127.0.0.7", "127.0.0.7,127.0.0.8", "127.0.0.[7,9]", "127.0.0.7,x[1-2]"}) {
        EXPECT_EQ(decode(place_of(nodes, "12").id).root.addresses, std::vector<Address>{*Address::parse("127.0.0.7")});
    }
    settings.network.port_range = {5000, 5003};
    EXPECT_GE(decode(place_of("", "12").id).root.port, 5000);
    EXPECT_LE(decode(place_of("", "12").id).root.port, 5003);
    const Map task{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "2"}};
    expect_refused(Code::InvalidUsage, settings, task, {"SLURM_LAUNCH_NODE_IPADDR", "SLURM_STEP_ID is set"});
    for (const auto& [gone, value] : task) {
        Map part = task;
        part.erase(gone);
        part["SLURM_LAUNCH_NODE_IPADDR"] = "10.0.0.9";
        expect_refused(Code::InvalidUsage, settings, part, {"the environment names no place to meet"});
    }
    // The shell of a batch script: the job's tasks are not there yet.
    expect_refused(Code::InvalidUsage, settings,
                   {{"SLURM_PROCID", "0"},
                    {"SLURM_LOCALID", "0"},
                    {"SLURM_NTASKS", "4"},
                    {"SLURM_JOB_ID", "12"},
                    {"SLURM_JOB_NODELIST", "node[1-4]"}},
                   {"the environment names no place to meet", "srun"});
}

TEST(Environment, WhatIsMissingIsNamed) {
    expect_refused(Code::InvalidUsage, Settings{}, {}, {"RONDO_COMM_ID", "RONDO_RANK", "torchrun"});
    expect_refused(Code::InvalidUsage, settings_for("127.0.0.1:1", -1, 2), {}, {"RONDO_RANK"});
    expect_refused(Code::InvalidUsage, settings_for("127.0.0.1:1", 0, 0), {}, {"RONDO_NRANKS"});
    expect_refused(Code::SystemError, settings_for("no-such-host.invalid:1", 0, 2, kSecret), {},
                   {"no-such-host.invalid", "does not resolve"});
}

/// A port that is free, most likely.
std::uint16_t free_port() { return listen_at(0, true).port; }

TEST(EnvironmentSessions, MeetInAnyOrderAndCloseTheirPort) {
    const std::string place = fmt::format("127.0.0.1:{}", free_port());
    for (std::uint64_t number = 0; number < 3; ++number) {  // one communicator after another, at one place
        Service services[3];
        Member members[3];
        for (const Rank rank : {2, 1, 0}) {
            EXPECT_EQ(services[rank].next_environment_number(), 0U);
            const Settings settings = settings_for(place, rank, 3);
            members[rank].open(
                options_for(&services[rank], id_from_environment(settings, variables({}), number).id, 3));
            members[rank].join(rank);
            if (rank != 0) {
                EXPECT_FALSE(members[rank].owner.await_roster(0.1));
            }
        }
        for (Member& member : members) ASSERT_TRUE(member.owner.await_roster());
        // Its port is free again though the communicator lives.
        const TcpListener again = listen_at(parse_host_port(place).port, true);
        EXPECT_TRUE(again.socket) << errno_text(errno);
    }
}

TEST(EnvironmentSessions, WithAWrongSecretAreToldSo) {
    const std::string place = fmt::format("127.0.0.1:{}", free_port());
    Service a;
    Service b;
    Member root;
    Member odd;
    root.open(options_for(&a, id_from_environment(settings_for(place, 0, 2, kSecret), variables({}), 0).id, 2));
    root.join(0);
    odd.open(options_for(
        &b, id_from_environment(settings_for(place, 1, 2, std::string(kSecret) + "!"), variables({}), 0).id, 2));
    odd.join(1);
    const Cause cause = odd.owner.await_failure(3);
    EXPECT_EQ(cause.code, Code::InvalidUsage);
    EXPECT_NE(cause.text.find("another secret"), std::string::npos) << cause.text;
}

TEST(EnvironmentSessions, WaitForATakenPortAndNameItInTheEnd) {
    TcpListener holder = listen_at(0, true);
    const std::string place = fmt::format("127.0.0.1:{}", holder.port);
    const UniqueId id = id_from_environment(settings_for(place, 0, 2), variables({}), 0).id;
    {
        Service service;
        Member root;
        root.open(options_for(&service, id, 2, 0.5));
        root.join(0);
        const Cause cause = root.owner.await_failure(3);
        EXPECT_EQ(cause.code, Code::Timeout);
        for (const std::string& part :
             {fmt::format("port {}", holder.port), std::string("in use"), std::string("RONDO_COMM_ID")}) {
            EXPECT_NE(cause.text.find(part), std::string::npos) << cause.text;
        }
    }
    Service a;
    Service b;
    Member root;
    Member other;
    root.open(options_for(&a, id, 2));
    root.join(0);
    other.open(options_for(&b, id, 2));
    other.join(1);
    EXPECT_FALSE(other.owner.await_roster(0.3));
    holder.socket.reset();
    EXPECT_TRUE(other.owner.await_roster(3));
}

TEST(EnvironmentSessions, PassOverAnotherProgramAtTheFirstAddress) {
    const std::uint16_t port = free_port();
    Identity identity =
        decode(id_from_environment(settings_for(fmt::format("127.0.0.1:{}", port), 0, 2), variables({}), 0).id);
    Service a;
    Service b;
    Service stranger;  // knows the protocol, and not this communicator
    Member root;
    Member other;
    root.open(options_for(&a, encode(identity), 2));
    root.join(0);
    ASSERT_FALSE(root.owner.await_roster(0.1));  // its port is open now, on 127.0.0.1 alone
    ProcessDescriptor listener = begin_connect(SocketAddress::tcp(Address::v4_loopback(), port));
    ASSERT_TRUE(listener);
    identity.root.addresses = {*Address::parse("127.7.7.7"), Address::v4_loopback()};
    const SocketAddress where = SocketAddress::tcp(identity.root.addresses[0], port);
    ProcessDescriptor web = ProcessDescriptor::open([&] {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return ::bind(fd, where.get(), where.size) == 0 && ::listen(fd, 5) == 0 ? fd : -1;
    });
    ASSERT_TRUE(web) << errno_text(errno);  // takes connections and never answers
    other.open(options_for(&b, encode(identity), 2));
    other.join(1);
    EXPECT_TRUE(other.owner.await_roster(2));
}

}  // namespace
}  // namespace rondo::bootstrap
