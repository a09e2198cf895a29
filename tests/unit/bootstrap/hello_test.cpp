#include "bootstrap/hello.hpp"

#include <gtest/gtest.h>

#include <random>

#include "bootstrap/crypto.hpp"

namespace rondo::bootstrap {
namespace {

using Client = ClientHandshake::State;
using Server = ServerHandshake::State;

constexpr std::size_t kHelloBytes = 75;

Hello example() {
    Hello hello;
    hello.purpose = Purpose::Data;
    for (std::size_t i = 0; i < hello.key.size(); ++i) hello.key[i] = static_cast<std::uint8_t>(i + 1);
    hello.token = 0x123456789abcdef0;
    hello.source = 5;
    hello.destination = 11;
    hello.flow = 3;
    return hello;
}

Secret secret_of(std::uint8_t seed) {
    Secret secret{};
    secret.fill(seed);
    return secret;
}

ServerHandshake::Lookup always(const Secret& secret) {
    return [secret](const Hello&) { return ServerHandshake::Answer{secret, {}}; };
}

ServerHandshake::Lookup never(Refusal refusal) {
    return [refusal](const Hello&) { return ServerHandshake::Answer{std::nullopt, refusal}; };
}

/// Passes on what the two say until neither says any more.
void run(ClientHandshake& client, ServerHandshake& server, std::size_t piece = 1000) {
    while (true) {
        const std::string to_server = client.take_output();
        for (std::size_t at = 0; at < to_server.size(); at += piece) server.feed(to_server.substr(at, piece));
        const std::string to_client = server.take_output();
        for (std::size_t at = 0; at < to_client.size(); at += piece) client.feed(to_client.substr(at, piece));
        if (to_server.empty() && to_client.empty()) return;
    }
}

TEST(Handshake, BothSidesEndWithTheHello) {
    for (const std::size_t piece : {1U, 7U, 1000U}) {
        ClientHandshake client(example(), secret_of(1));
        ServerHandshake server(always(secret_of(1)));
        run(client, server, piece);
        EXPECT_EQ(client.state(), Client::Done);
        EXPECT_EQ(server.state(), Server::Done);
        EXPECT_EQ(server.hello(), example());
        EXPECT_EQ(client.wanted(), 0U);
        EXPECT_EQ(server.wanted(), 0U);
    }
}

TEST(Handshake, NeitherSideIsDoneBeforeTheOtherHasProved) {
    ClientHandshake client(example(), secret_of(1));
    ServerHandshake server(always(secret_of(1)));
    server.feed(client.take_output());
    EXPECT_EQ(server.state(), Server::Running);
    client.feed(server.take_output());
    EXPECT_EQ(client.state(), Client::Running);
    server.feed(client.take_output());
    EXPECT_EQ(server.state(), Server::Done);
    EXPECT_EQ(client.state(), Client::Running);
    client.feed(server.take_output());
    EXPECT_EQ(client.state(), Client::Done);
}

TEST(Handshake, TakesNoByteThatBelongsToTheOwner) {
    ClientHandshake client(example(), secret_of(1));
    ServerHandshake server(always(secret_of(1)));
    const std::string hello = client.take_output();
    ASSERT_EQ(hello.size(), kHelloBytes);
    std::size_t at = 0;
    while (server.take_output().empty()) {
        ASSERT_LE(at + server.wanted(), hello.size());
        const std::size_t wanted = server.wanted();
        server.feed(hello.substr(at, wanted));
        at += wanted;
        if (at == hello.size()) break;
    }
    EXPECT_EQ(at, hello.size());
    EXPECT_EQ(server.wanted(), kMacBytes);
}

TEST(Handshake, AWrongSecretIsSeenByTheClientFirst) {
    ClientHandshake client(example(), secret_of(1));
    ServerHandshake server(always(secret_of(2)));
    run(client, server);
    EXPECT_EQ(client.state(), Client::WrongSecret);
    EXPECT_EQ(server.state(), Server::Running);
    // A client that goes on all the same proves nothing.
    server.feed(std::string(kMacBytes, 'x'));
    EXPECT_EQ(server.state(), Server::WrongSecret);
    EXPECT_EQ(server.take_output(), "");
}

TEST(Handshake, EveryByteOfTheHelloCounts) {
    for (std::size_t at = 0; at < kHelloBytes; ++at) {
        ClientHandshake client(example(), secret_of(1));
        ServerHandshake server(always(secret_of(1)));
        std::string hello = client.take_output();
        hello[at] = static_cast<char>(hello[at] ^ 0x10);
        server.feed(hello);
        client.feed(server.take_output());
        server.feed(client.take_output());
        EXPECT_NE(server.state(), Server::Done) << "byte " << at;
        EXPECT_NE(client.state(), Client::Done) << "byte " << at;
    }
}

TEST(Handshake, EveryByteOfTheAnswersCounts) {
    for (std::size_t at = 0; at < 1 + kNonceBytes + kMacBytes; ++at) {
        ClientHandshake client(example(), secret_of(1));
        ServerHandshake server(always(secret_of(1)));
        server.feed(client.take_output());
        std::string challenge = server.take_output();
        ASSERT_EQ(challenge.size(), 1 + kNonceBytes + kMacBytes);
        challenge[at] = static_cast<char>(challenge[at] ^ 0x10);
        client.feed(challenge);
        EXPECT_NE(client.state(), Client::Running) << "byte " << at;
        EXPECT_NE(client.state(), Client::Done) << "byte " << at;
        EXPECT_EQ(client.take_output(), "");
    }
    for (std::size_t at = 0; at < kMacBytes; ++at) {
        ClientHandshake client(example(), secret_of(1));
        ServerHandshake server(always(secret_of(1)));
        server.feed(client.take_output());
        client.feed(server.take_output());
        std::string proof = client.take_output();
        proof[at] = static_cast<char>(proof[at] ^ 0x10);
        server.feed(proof);
        EXPECT_EQ(server.state(), Server::WrongSecret) << "byte " << at;
    }
}

TEST(Handshake, AReplayIsWorthNothing) {
    ClientHandshake client(example(), secret_of(1));
    ServerHandshake first(always(secret_of(1)));
    const std::string hello = client.take_output();
    first.feed(hello);
    client.feed(first.take_output());
    const std::string proof = client.take_output();
    first.feed(proof);
    ASSERT_EQ(first.state(), Server::Done);
    ServerHandshake second(always(secret_of(1)));
    second.feed(hello);
    second.feed(proof);
    EXPECT_EQ(second.state(), Server::WrongSecret);
}

TEST(Handshake, AnAnswerIsNoProof) {
    // The server's own MAC, sent back to it.
    ClientHandshake client(example(), secret_of(1));
    ServerHandshake server(always(secret_of(1)));
    server.feed(client.take_output());
    server.feed(server.take_output().substr(1 + kNonceBytes));
    EXPECT_EQ(server.state(), Server::WrongSecret);
}

TEST(Handshake, RefusalsSayWhy) {
    for (const Refusal refusal : {Refusal::UnknownId, Refusal::UsedId}) {
        ClientHandshake client(example(), secret_of(1));
        ServerHandshake server(never(refusal));
        run(client, server);
        EXPECT_EQ(client.state(), Client::Refused);
        EXPECT_EQ(client.refusal(), refusal);
        EXPECT_EQ(server.state(), Server::Refused);
    }
}

TEST(Handshake, AnotherVersionIsToldOurs) {
    ClientHandshake client(example(), secret_of(1));
    ServerHandshake server(always(secret_of(1)));
    std::string hello = client.take_output();
    hello[4] = static_cast<char>(kWireVersion + 1);
    server.feed(hello.substr(0, 8));  // its length may differ: nothing more is read
    EXPECT_EQ(server.state(), Server::Refused);
    client.feed(server.take_output());
    EXPECT_EQ(client.state(), Client::Refused);
    EXPECT_EQ(client.refusal(), Refusal::Version);
    EXPECT_EQ(client.server_version(), kWireVersion);
}

TEST(Handshake, LengthsAreJudgedBeforeTheyAreRead) {
    for (const int length : {0, 8, static_cast<int>(kHelloBytes) - 1, static_cast<int>(kHelloBytes) + 1, 512, 65535}) {
        ClientHandshake client(example(), secret_of(1));
        ServerHandshake server(always(secret_of(1)));
        std::string head = client.take_output().substr(0, 8);
        head[6] = static_cast<char>(length & 0xff);
        head[7] = static_cast<char>(length >> 8);
        server.feed(head);
        EXPECT_EQ(server.state(), Server::Garbage) << length;
        EXPECT_EQ(server.wanted(), 0U);
    }
}

TEST(Handshake, OtherProtocolsAreGarbage) {
    const std::string tls("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9);
    for (const std::string& text :
         {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), tls, std::string("SSH-2.0-x\r\n")}) {
        ServerHandshake server(always(secret_of(1)));
        server.feed(text);
        EXPECT_EQ(server.state(), Server::Garbage) << text;
        ClientHandshake client(example(), secret_of(1));
        client.feed(text);
        EXPECT_EQ(client.state(), Client::Garbage) << text;
    }
}

TEST(HandshakeFuzz, RandomBytesNeverProveAnything) {
    std::mt19937 random(4711);
    int asked = 0;
    for (int i = 0; i < 20'000; ++i) {
        ServerHandshake server([&](const Hello&) {
            ++asked;
            return ServerHandshake::Answer{secret_of(1), {}};
        });
        ClientHandshake client(example(), secret_of(1));
        std::string bytes = i % 2 == 0 ? client.take_output() : std::string();
        // A hello with some bytes changed, then noise; or noise alone.
        for (auto n = random() % 3; n > 0 && !bytes.empty(); --n) {
            bytes[8 + random() % (bytes.size() - 8)] = static_cast<char>(random());
        }
        for (auto n = random() % 200; n > 0; --n) bytes += static_cast<char>(random());
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t piece = 1 + random() % 40;
            server.feed(std::string_view(bytes).substr(at, piece));
            client.feed(std::string_view(bytes).substr(at, piece));
            at += piece;
        }
        EXPECT_NE(server.state(), Server::Done);
        EXPECT_NE(client.state(), Client::Done);
    }
    EXPECT_GT(asked, 5'000);
}

}  // namespace
}  // namespace rondo::bootstrap
