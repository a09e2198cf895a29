#include "bootstrap/unique_id.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/error.hpp"
#include "bootstrap/service.hpp"

namespace rondo::bootstrap {
namespace {

Identity example() {
    Identity identity = new_identity();
    identity.root = {{*Address::parse("10.0.0.1"), *Address::parse("fd00::2"), Address::v4_loopback()}, 4711};
    return identity;
}

std::string refusal(const UniqueId& id) {
    try {
        decode(id);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidArgument);
        return error.what();
    }
    return {};
}

TEST(UniqueId, ComesBackAsItWas) {
    for (int flags = 0; flags < 16; ++flags) {
        Identity identity = example();
        identity.local = (flags & 1) != 0;
        identity.late_root = (flags & 2) != 0;
        identity.own_port = (flags & 4) != 0;
        identity.loopback = (flags & 8) != 0;
        EXPECT_EQ(decode(encode(identity)), identity);
    }
}

TEST(UniqueId, HoldsTheFirstAddressesThatFitAndTheLast) {
    Identity identity = example();
    identity.root.addresses.clear();
    for (int i = 0; i < 9; ++i) identity.root.addresses.push_back(*Address::parse(fmt::format("fd00::{}", i)));
    identity.root.addresses.push_back(*Address::parse("::1"));
    const std::vector<Address> kept = decode(encode(identity)).root.addresses;
    ASSERT_EQ(kept.size(), 4U);
    EXPECT_EQ(kept[0].text(), "fd00::");
    EXPECT_EQ(kept[2].text(), "fd00::2");
    EXPECT_EQ(kept[3].text(), "::1");
    identity.root.addresses.assign(40, *Address::parse("10.0.0.9"));
    EXPECT_EQ(decode(encode(identity)).root.addresses.size(), 14U);
    identity.root.addresses.clear();
    EXPECT_TRUE(decode(encode(identity)).root.addresses.empty());
}

TEST(UniqueId, OfAServiceNamesItsPort) {
    Service service;
    const Identity identity = decode(make_unique_id(service, Settings{}));
    EXPECT_EQ(identity.root.port, service.port());
    EXPECT_NE(identity.root.port, 0);
    ASSERT_FALSE(identity.root.addresses.empty());
    EXPECT_TRUE(identity.root.addresses.back().loopback());
    EXPECT_FALSE(identity.local || identity.late_root || identity.own_port);
    std::set<UniqueId> ids;
    for (int i = 0; i < 100; ++i) ids.insert(make_unique_id(service, Settings{}));
    EXPECT_EQ(ids.size(), 100U);
}

TEST(UniqueId, LocalOnesNeedNoService) {
    const Identity identity = decode(make_local_id());
    EXPECT_TRUE(identity.local);
    EXPECT_TRUE(identity.root.addresses.empty());
}

TEST(UniqueId, OtherBytesAreRefusedWithAReason) {
    std::mt19937 random(5);
    for (int i = 0; i < 1000; ++i) {
        UniqueId id{};
        for (std::byte& byte : id) byte = static_cast<std::byte>(random());
        EXPECT_NE(refusal(id).find("no unique id"), std::string::npos);
    }
    EXPECT_NE(refusal(UniqueId{}).find("no unique id"), std::string::npos);
    UniqueId id = encode(example());
    id[4] = std::byte{9};
    EXPECT_NE(refusal(id).find("format 9"), std::string::npos) << refusal(id);
    id = encode(example());
    id[5] = std::byte{0x80};
    EXPECT_NE(refusal(id).find("damaged"), std::string::npos) << refusal(id);
    id = encode(example());
    id[56] = std::byte{200};
    EXPECT_NE(refusal(id).find("damaged"), std::string::npos) << refusal(id);
}

TEST(DerivedId, IsTheSameForTheSameAndAnotherForAnythingElse) {
    const UniqueId parent = encode(example());
    const Contact root{{*Address::parse("10.0.0.7")}, 99};
    const UniqueId id = derive_id(parent, "split", 1, 2, root);
    EXPECT_EQ(derive_id(parent, "split", 1, 2, root), id);
    const Identity identity = decode(id);
    EXPECT_TRUE(identity.late_root);
    EXPECT_EQ(identity.root, root);
    std::set<Key> keys{identity.key, decode(parent).key};
    std::set<Secret> secrets{identity.secret, decode(parent).secret};
    for (const UniqueId& other :
         {derive_id(parent, "shrink", 1, 2, root), derive_id(parent, "split", 2, 2, root),
          derive_id(parent, "split", 1, 3, root), derive_id(encode(example()), "split", 1, 2, root),
          derive_id(id, "split", 1, 2, root)}) {
        EXPECT_TRUE(keys.insert(decode(other).key).second);
        EXPECT_TRUE(secrets.insert(decode(other).secret).second);
    }
    EXPECT_TRUE(decode(derive_id(make_local_id(), "split", 1, 2, root)).local);
}

}  // namespace
}  // namespace rondo::bootstrap
