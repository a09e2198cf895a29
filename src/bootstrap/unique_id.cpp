#include "bootstrap/unique_id.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/crypto.hpp"
#include "bootstrap/wire.hpp"

namespace rondo::bootstrap {

namespace {

constexpr std::uint32_t kMagic = 0x6f646e72;  // "rndo"
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kLocal = 1;
constexpr std::uint8_t kLateRoot = 2;
constexpr std::uint8_t kOwnPort = 4;
constexpr std::uint8_t kLoopback = 8;
constexpr std::uint8_t kAllFlags = kLocal | kLateRoot | kOwnPort | kLoopback;
constexpr std::size_t kIdBytes = std::tuple_size_v<UniqueId>;

std::uint8_t flags_of(const Identity& identity) {
    std::uint8_t flags = 0;
    if (identity.local) flags |= kLocal;
    if (identity.late_root) flags |= kLateRoot;
    if (identity.own_port) flags |= kOwnPort;
    if (identity.loopback) flags |= kLoopback;
    return flags;
}

/// Writes the addresses that fit, in order, after a byte that counts them. The last one is that of the loopback
/// interface in most ids, and is what a job on one host may need: it gets its place first.
void write_addresses(Writer& out, const std::vector<Address>& addresses) {
    const auto size_of_one = [](const Address& address) { return address.v6 ? std::size_t{17} : std::size_t{5}; };
    std::size_t room = kIdBytes - out.bytes().size() - 1;
    std::vector<Address> chosen;
    if (!addresses.empty()) room -= size_of_one(addresses.back());
    for (std::size_t i = 0; i + 1 < addresses.size(); ++i) {
        if (size_of_one(addresses[i]) > room) continue;
        room -= size_of_one(addresses[i]);
        chosen.push_back(addresses[i]);
    }
    if (!addresses.empty()) chosen.push_back(addresses.back());
    out.u8(static_cast<std::uint8_t>(chosen.size()));
    for (const Address& address : chosen) {
        out.u8(address.v6 ? 6 : 4);
        out.raw(address.bytes.data(), address.v6 ? 16 : 4);
    }
}

Address read_address(Reader& in) {
    Address address;
    const std::uint8_t family = in.u8();
    if (family != 4 && family != 6) throw make_error(Code::InvalidArgument, "address family {}", family);
    address.v6 = family == 6;
    in.raw(address.bytes.data(), address.v6 ? 16 : 4);
    return address;
}

}  // namespace

Identity new_identity() {
    Identity identity;
    fill_random(identity.key.data(), identity.key.size());
    fill_random(identity.secret.data(), identity.secret.size());
    return identity;
}

UniqueId encode(const Identity& identity) {
    Writer out;
    out.u32(kMagic);
    out.u8(kVersion);
    out.u8(flags_of(identity));
    out.u16(identity.root.port);
    out.raw(identity.key.data(), identity.key.size());
    out.raw(identity.secret.data(), identity.secret.size());
    write_addresses(out, identity.root.addresses);
    UniqueId id{};
    std::transform(out.bytes().begin(), out.bytes().end(), id.begin(),
                   [](char byte) { return static_cast<std::byte>(byte); });
    return id;
}

Identity decode(const UniqueId& id) {
    Reader in({reinterpret_cast<const char*>(id.data()), id.size()});
    if (in.u32() != kMagic) {
        throw Error(Code::InvalidArgument,
                    "these 128 bytes are no unique id of this library; pass on all bytes that rondoGetUniqueId made");
    }
    if (const std::uint8_t version = in.u8(); version != kVersion) {
        throw make_error(Code::InvalidArgument,
                         "the unique id has format {}, this library knows format {}; use one version on all ranks",
                         version, kVersion);
    }
    try {
        Identity identity;
        const std::uint8_t flags = in.u8();
        if ((flags & ~kAllFlags) != 0) throw make_error(Code::InvalidArgument, "flags {}", flags);
        identity.local = (flags & kLocal) != 0;
        identity.late_root = (flags & kLateRoot) != 0;
        identity.own_port = (flags & kOwnPort) != 0;
        identity.loopback = (flags & kLoopback) != 0;
        identity.root.port = in.u16();
        in.raw(identity.key.data(), identity.key.size());
        in.raw(identity.secret.data(), identity.secret.size());
        const std::size_t addresses = in.u8();
        for (std::size_t i = 0; i < addresses; ++i) identity.root.addresses.push_back(read_address(in));
        return identity;
    } catch (const Error& error) {
        throw make_error(Code::InvalidArgument, "the unique id is damaged ({}); pass on all its bytes", error.what());
    }
}

UniqueId make_local_id() {
    Identity identity = new_identity();
    identity.local = true;
    return encode(identity);
}

UniqueId derive_id(const UniqueId& parent, std::string_view purpose, std::uint64_t counter, std::uint64_t colour,
                   const Contact& root) {
    const Identity from = decode(parent);
    Writer message;
    message.raw(from.key.data(), from.key.size());
    message.text(purpose);
    message.u64(counter);
    message.u64(colour);
    Identity identity;
    const std::string key = keyed_hash(from.secret, "key" + message.bytes());
    const std::string secret = keyed_hash(from.secret, "secret" + message.bytes());
    Reader(key).raw(identity.key.data(), identity.key.size());
    Reader(secret).raw(identity.secret.data(), identity.secret.size());
    identity.local = from.local;
    if (!from.local) {
        identity.root = root;
        identity.late_root = true;
    }
    return encode(identity);
}

}  // namespace rondo::bootstrap
