#pragma once
// Tagged messages with values that tell who sent which.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "comm_ranks.hpp"

namespace rondo::api::test {

/// A stream; destroyed at the end.
class OwnStream {
public:
    OwnStream() { EXPECT_EQ(rondoStreamCreate(&stream_), rondoSuccess) << rondoGetLastError(nullptr); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    ~OwnStream() { EXPECT_EQ(rondoStreamDestroy(stream_), rondoSuccess); }
    [[nodiscard]] rondoStream_t get() const { return stream_; }

private:
    rondoStream_t stream_ = nullptr;
};

/// Sets RONDO_TRANSPORT for its life. Not while other threads run.
class TransportSetting {
public:
    explicit TransportSetting(const char* value) { ::setenv("RONDO_TRANSPORT", value, 1); }
    TransportSetting(const TransportSetting&) = delete;
    TransportSetting& operator=(const TransportSetting&) = delete;
    ~TransportSetting() { ::unsetenv("RONDO_TRANSPORT"); }
};

inline std::uint8_t byte_of(std::uint64_t key, std::size_t at) {
    std::uint64_t value = key * 0x9e3779b97f4a7c15U + at;
    value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9U;
    return static_cast<std::uint8_t>(value >> 40U);
}

/// `bytes` bytes that no other key has.
inline std::vector<std::uint8_t> values(std::uint64_t key, std::size_t bytes) {
    std::vector<std::uint8_t> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = byte_of(key, i);
    return made;
}

inline rondoResult_t send(rondoComm_t comm, const std::vector<std::uint8_t>& data, int peer, int tag,
                          rondoStream_t stream = nullptr) {
    return rondoSendTagged(data.data(), data.size(), rondoUint8, peer, tag, comm, stream);
}

/// Receives a message of at most `room` bytes; what came is in `data` and `message`.
struct Receipt {
    std::vector<std::uint8_t> data;
    rondoMessage_t message{-7, -7, 777, 777};
    rondoResult_t result = rondoInternalError;

    [[nodiscard]] bool is(std::uint64_t key, std::size_t bytes) const {
        if (result != rondoSuccess || message.bytes != bytes || data.size() < bytes) return false;
        for (std::size_t i = 0; i < data.size(); ++i) {
            if (data[i] != (i < bytes ? byte_of(key, i) : 0xee)) return false;
        }
        return true;
    }
};

inline Receipt receive(rondoComm_t comm, std::size_t room, int source, int tag) {
    Receipt got;
    got.data.assign(room + 3, 0xee);
    got.result = rondoRecvTagged(got.data.data(), room, rondoUint8, source, tag, comm, &got.message, nullptr);
    return got;
}

}  // namespace rondo::api::test
