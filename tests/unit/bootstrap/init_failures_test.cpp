// Joins that do not fit, ranks that do not come, ids that are no good.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "base/error.hpp"
#include "bootstrap/session.hpp"
#include "bootstrap/sockets.hpp"
#include "unit/bootstrap/members.hpp"

namespace rondo::bootstrap {
namespace {

using std::chrono::steady_clock;

void expect_cause(const Cause& cause, Code code, std::initializer_list<std::string> parts) {
    EXPECT_EQ(name_of(cause.code), name_of(code)) << cause.text;
    for (const std::string& part : parts)
        EXPECT_NE(cause.text.find(part), std::string::npos) << part << "|" << cause.text;
}

double seconds_since(steady_clock::time_point start) {
    return std::chrono::duration<double>(steady_clock::now() - start).count();
}

TEST(Init, MissingRanksAreNamedWhenTheTimeIsOver) {
    Party party(5, 0.8);
    const auto start = steady_clock::now();
    party.start(0);
    party.start(3);
    for (const Rank rank : {0, 3}) {
        expect_cause(party.member(rank).owner.await_failure(3), Code::Timeout,
                     {"2 of 5 ranks joined", "missing: 1-2, 4", "127.0.0.1:", "800 ms", "RONDO_TIMEOUT", "raise it"});
        EXPECT_EQ(party.member(rank).session->missing(), "1-2, 4");
    }
    EXPECT_GT(seconds_since(start), 0.79);
    EXPECT_LT(seconds_since(start), 2.5);
    // The one that comes too late hears the same at once.
    party.start(1);
    expect_cause(party.member(1).owner.await_failure(3), Code::Timeout, {"missing: 1-2, 4"});
}

TEST(Init, ARankClaimedTwiceIsToldToAll) {
    Party party(4);
    party.start(0);
    party.start(1);
    party.start(2);
    ASSERT_FALSE(party.member(0).owner.await_roster(0.2));
    party.open(3);
    party.member(3).join(1);
    for (const auto& member : party.members) {
        const std::string self = fmt::format("pid {}", ::getpid());
        expect_cause(member->owner.await_failure(2), Code::InvalidUsage, {"rank 1 was claimed twice", "host ", self});
        EXPECT_EQ(member->owner.failures_, 1);
    }
    EXPECT_THROW(party.member(0).session->join(4, {0, "", ""}), Error);  // within a process the caller hears it
}

TEST(Init, DifferentNumbersOfRanksAreToldToAll) {
    Party party(3);
    party.start(0);
    party.start(1);
    ASSERT_FALSE(party.member(0).owner.await_roster(0.1));
    Member& odd = party.member(2);
    odd.open(options_for(party.services[2].get(), party.id, 4));
    odd.join(2);
    for (const auto& member : party.members) {
        expect_cause(member->owner.await_failure(2), Code::InvalidUsage, {"rank 2", "says 4 ranks", "says 3"});
    }
}

TEST(Init, DifferentFactsAreToldToAllWithTheFirstThatDiffers) {
    Party party(3);
    party.start(0);
    party.start(1);
    ASSERT_FALSE(party.member(0).owner.await_roster(0.1));
    party.open(2);
    party.member(2).join(2, "slots=4\nproto=ll\n");
    for (const auto& member : party.members) {
        expect_cause(member->owner.await_failure(2), Code::InvalidUsage,
                     {"proto=auto on rank", "proto=ll on rank 2", "set them alike"});
    }
}

TEST(Init, ARankOutsideIsRefusedToItsCaller) {
    Service service;
    Member member;
    const UniqueId id = make_unique_id(service, Settings{});
    member.open(options_for(&service, id, 3));
    for (const Rank rank : {-1, 3, 1 << 30}) EXPECT_THROW(member.session->join(3, {rank, "", ""}), Error);
    EXPECT_THROW(member.session->join(3, {0, std::string(kMostFactsBytes + 1, 'x'), ""}), Error);
    EXPECT_THROW(member.session->join(3, {0, "", std::string(kMostExtraBytes + 1, 'x')}), Error);
    Owner owner;
    EXPECT_THROW(Session::open(options_for(&service, id, 0), owner), Error);
    EXPECT_THROW(Session::open(options_for(&service, UniqueId{}, 1), owner), Error);
    EXPECT_THROW(Session::open(options_for(nullptr, id, 1), owner), Error);
}

TEST(Init, AUsedIdIsRefused) {
    Party party(2);
    ASSERT_TRUE(party.start_and_go());
    Service other;
    for (Service* service : {&other, party.services[0].get(), party.services[1].get()}) {
        Member late;
        late.open(options_for(service, party.id, 2));
        late.join(1);
        expect_cause(late.owner.await_failure(2), Code::InvalidUsage, {"already been used", "make a new one"});
    }
    for (const Rank rank : {0, 1}) {
        party.member(rank).session->depart(rank);
        party.member(rank).session->close();
        EXPECT_EQ(party.member(rank).owner.failures_, 0);
    }
    Member after;
    after.open(options_for(&other, party.id, 2));
    after.join(0);
    expect_cause(after.owner.await_failure(2), Code::InvalidUsage, {"already been used"});
}

TEST(Init, AnIdThatNobodyKnowsIsRefused) {
    Service root;
    Service service;
    Identity identity = decode(make_unique_id(root, Settings{}));
    identity.key[3] = static_cast<std::uint8_t>(identity.key[3] ^ 1U);
    Member member;
    member.open(options_for(&service, encode(identity), 2));
    member.join(1);
    expect_cause(member.owner.await_failure(2), Code::RemoteError,
                 {"no communicator with this unique id", "127.0.0.1:", "interfaces here: ", "lo 127.0.0.1"});
}

TEST(Init, AWrongSecretIsRefused) {
    Service root;
    Service service;
    Identity identity = decode(make_unique_id(root, Settings{}));
    identity.secret[3] = static_cast<std::uint8_t>(identity.secret[3] ^ 1U);
    Member member;
    member.open(options_for(&service, encode(identity), 2));
    member.join(1);
    expect_cause(member.owner.await_failure(2), Code::InvalidUsage, {"another secret", "RONDO_COMM_SECRET"});
}

TEST(Init, ARootThatIsGoneIsNamedWithItsAddresses) {
    UniqueId id{};
    std::string port;
    {
        Service root;
        id = make_unique_id(root, Settings{});
        port = fmt::format(":{}", root.port());
    }
    Service service;
    Member member;
    const auto start = steady_clock::now();
    member.open(options_for(&service, id, 2));
    member.join(1);
    expect_cause(member.owner.await_failure(2), Code::RemoteError,
                 {"no connection to the root", "127.0.0.1" + port, "refused", "RONDO_SOCKET_IFNAME"});
    EXPECT_LT(seconds_since(start), 2);
}

TEST(Init, ARootThatAnswersNothingIsATimeout) {
    // Something listens, takes the connection and says nothing.
    const TcpListener silent = listen_at(0, true);
    Identity identity = new_identity();
    identity.root = {{Address::v4_loopback()}, silent.port};
    Service service;
    Member member;
    member.open(options_for(&service, encode(identity), 2, 0.5));
    member.join(1);
    expect_cause(member.owner.await_failure(3), Code::Timeout, {"no connection to the root in time", "no answer yet"});
}

TEST(Init, AnotherProgramAtTheAddressIsPassedOver) {
    Service root;
    Service service;
    Identity identity = decode(make_unique_id(root, Settings{}));
    // First an address where nobody listens, then the right one.
    identity.root.addresses = {*Address::parse("127.9.9.9"), Address::v4_loopback()};
    const TcpListener other = listen_at(0, true);
    Member first;
    Member second;
    first.open(options_for(&root, encode(identity), 2));
    first.join(0);
    second.open(options_for(&service, encode(identity), 2));
    second.join(1);
    EXPECT_TRUE(second.owner.await_roster(5));
}

TEST(Init, AFailureDuringInitReachesAll) {
    Party party(3);
    party.start(0);
    party.start(1);
    ASSERT_FALSE(party.member(0).owner.await_roster(0.1));
    const Cause cause{.code = Code::SystemError,
                      .rank = 1,
                      .text = "rank 1: /no/such/file cannot be read",
                      .operation = "init",
                      .object = "/no/such/file"};
    party.member(1).session->fail(cause);
    for (const Rank rank : {0, 1}) EXPECT_EQ(party.member(rank).owner.await_failure(2), cause);
    party.start(2);  // after the failure
    EXPECT_EQ(party.member(2).owner.await_failure(2), cause);
}

TEST(Init, AFailureBeforeTheRootIsReachedComesThroughLater) {
    Service root;
    Service service;
    const UniqueId parent = make_unique_id(root, Settings{});
    const UniqueId id = derive_id(parent, "split", 1, 0, decode(parent).root);
    Member late;
    late.open(options_for(&service, id, 2));
    late.join(1);
    const Cause cause{.code = Code::SystemError, .rank = 1, .text = "rank 1 has no memory"};
    late.session->fail(cause);
    EXPECT_EQ(late.owner.await_failure(1), cause);
    late.session->close();
    Member first;
    first.open(options_for(&root, id, 2));
    first.join(0);
    EXPECT_EQ(first.owner.await_failure(3), cause);
}

TEST(Init, ARankThatGoesAwayDuringInitIsNamed) {
    Party party(3);
    party.start(0);
    party.start(2);
    ASSERT_FALSE(party.member(0).owner.await_roster(0.1));
    party.member(2).session->depart(2);
    party.member(2).session->close();
    expect_cause(party.member(0).owner.await_failure(2), Code::RemoteError,
                 {"rank 2", "left before all ranks had joined"});
}

TEST(Init, ADerivedIdWaitsForItsRank0) {
    Service root;
    Service service;
    const UniqueId parent = make_unique_id(root, Settings{});
    const UniqueId id = derive_id(parent, "split", 1, 0, decode(parent).root);
    Member early;
    early.open(options_for(&service, id, 3));
    early.join(1);
    Member first;
    first.open(options_for(&root, id, 3));
    first.join(2);  // in rank 0's process, before rank 0
    EXPECT_FALSE(early.owner.await_roster(0.3));
    const auto start = steady_clock::now();
    first.join(0);
    ASSERT_TRUE(early.owner.await_roster(5));
    ASSERT_TRUE(first.owner.await_roster(5));
    EXPECT_LT(seconds_since(start), 2);
    EXPECT_EQ(early.owner.roster_->process_of, (std::vector<std::int32_t>{0, 1, 0}));
    EXPECT_EQ(first.owner.roster_->ranks_of(0), (std::vector<Rank>{0, 2}));
    EXPECT_EQ(first.owner.roster_->root_process, 0);
}

TEST(Init, ARootOutsideTheCommunicatorServes) {
    Service root;
    const UniqueId id = make_unique_id(root, Settings{});
    Service a;
    Service b;
    Member first;
    Member second;
    first.open(options_for(&a, id, 2));
    first.join(0);
    second.open(options_for(&b, id, 2));
    second.join(1);
    ASSERT_TRUE(first.owner.await_roster());
    ASSERT_TRUE(second.owner.await_roster());
    EXPECT_EQ(first.owner.roster_->root_process, -1);
}

TEST(Init, ClosingDuringInitIsQuick) {
    Party party(2);
    party.start(1);
    const auto start = steady_clock::now();
    party.member(1).session->close();
    EXPECT_LT(seconds_since(start), 0.5);
    EXPECT_EQ(party.member(1).owner.failures_, 0);
}

TEST(PortRange, EveryListenerHonoursItAndExhaustionNamesIt) {
    // A port that is free now, and those after it.
    const std::uint16_t base = listen_anywhere({}).port;
    Settings settings;
    settings.network.port_range = {base, base};
    Service first;
    first.start(settings);
    EXPECT_EQ(first.port(), base);
    Service second;
    try {
        second.start(settings);
        FAIL() << "one port for two";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::SystemError);
        for (const std::string& part : {fmt::format("RONDO_PORT_RANGE={}-{}", base, base), std::string("1 port"),
                                        std::string("Address already in use")}) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    }
    EXPECT_FALSE(second.started());
    settings.network.port_range = {};
    second.start(settings);  // a failed start leaves nothing behind that would be in the way
    EXPECT_NE(second.port(), base);
}

}  // namespace
}  // namespace rondo::bootstrap
