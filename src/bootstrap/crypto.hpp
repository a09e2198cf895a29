#pragma once
// The few things that are needed of libsodium.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bootstrap/unique_id.hpp"

namespace rondo::bootstrap {

inline constexpr std::size_t kMacBytes = 32;
inline constexpr std::size_t kNonceBytes = 32;

/// Errors: SystemError where the library cannot start.
void fill_random(std::uint8_t* data, std::size_t size);
std::string random_bytes(std::size_t size);
std::uint64_t random_u64();

/// BLAKE2b of 32 bytes, keyed by the secret.
std::string keyed_hash(const Secret& secret, std::string_view message);
/// BLAKE2b of 32 bytes.
std::string plain_hash(std::string_view message);

/// In a time that does not depend on the bytes.
bool equal(std::string_view a, std::string_view b);

}  // namespace rondo::bootstrap
