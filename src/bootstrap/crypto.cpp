#include "bootstrap/crypto.hpp"

#include <sodium.h>

#include "base/error.hpp"

namespace rondo::bootstrap {

namespace {

static_assert(crypto_generichash_BYTES == kMacBytes);

/// May be called any number of times, from any thread.
void start_library() {
    if (::sodium_init() < 0) throw Error(Code::SystemError, "libsodium cannot start: no source of random bytes");
}

std::string hash(const unsigned char* key, std::size_t key_bytes, std::string_view message) {
    start_library();
    std::string result(kMacBytes, '\0');
    ::crypto_generichash(reinterpret_cast<unsigned char*>(result.data()), result.size(),
                         reinterpret_cast<const unsigned char*>(message.data()), message.size(), key, key_bytes);
    return result;
}

}  // namespace

void fill_random(std::uint8_t* data, std::size_t size) {
    start_library();
    ::randombytes_buf(data, size);
}

std::string random_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    fill_random(reinterpret_cast<std::uint8_t*>(bytes.data()), size);
    return bytes;
}

std::uint64_t random_u64() {
    std::uint64_t value = 0;
    fill_random(reinterpret_cast<std::uint8_t*>(&value), sizeof value);
    return value;
}

std::string keyed_hash(const Secret& secret, std::string_view message) {
    return hash(secret.data(), secret.size(), message);
}

std::string plain_hash(std::string_view message) { return hash(nullptr, 0, message); }

bool equal(std::string_view a, std::string_view b) {
    return a.size() == b.size() && ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace rondo::bootstrap
