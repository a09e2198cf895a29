#pragma once
// The 128 bytes that name a communicator to be, say where its ranks meet, and hold the secret by which they know each
// other. Callers pass them along as opaque bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/settings.hpp"
#include "bootstrap/address.hpp"

namespace rondo::bootstrap {

class Service;

using UniqueId = std::array<std::byte, 128>;
using Key = std::array<std::uint8_t, 16>;     ///< public name of a communicator
using Secret = std::array<std::uint8_t, 32>;  ///< known to its members alone

/// What a UniqueId holds.
struct Identity {
    Key key{};
    Secret secret{};
    Contact root;            ///< empty for a local id; cut to the addresses that fit
    bool local = false;      ///< all ranks are in this process: no service thread, no socket
    bool late_root = false;  ///< rank 0 brings the root along: until then nobody answers at the root's address
    bool own_port = false;   ///< the root listens at root.port for this communicator, until all have joined
    bool loopback = false;   ///< own_port: serves the loopback interface alone

    bool operator==(const Identity&) const = default;
};

/// With a random key and secret.
Identity new_identity();

UniqueId encode(const Identity& identity);

/// Errors: InvalidArgument for bytes that no version of this library made, or another version than this one.
Identity decode(const UniqueId& id);

/// A new id whose root is in this process: registered with the service, whose thread and listener are started if need
/// be. The root serves until its communicator has ended. Errors: SystemError (no port, no thread).
UniqueId make_unique_id(Service& service, const Settings& settings);

/// A new id for ranks that are all threads of this process.
UniqueId make_local_id();

/// The id of a communicator made out of another one: the same on every rank that passes the same arguments. Local where
/// the parent is; else its root comes with its rank 0, whose process listens at `root` (see Roster).
UniqueId derive_id(const UniqueId& parent, std::string_view purpose, std::uint64_t counter, std::uint64_t colour,
                   const Contact& root);

}  // namespace rondo::bootstrap
