#pragma once
// Bytes of messages: little-endian integers, and texts with their lengths before them.

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo::bootstrap {

class Writer {
public:
    void u8(std::uint8_t value) { integer(value, 1); }
    void u16(std::uint16_t value) { integer(value, 2); }
    void u32(std::uint32_t value) { integer(value, 4); }
    void u64(std::uint64_t value) { integer(value, 8); }
    void i32(std::int32_t value) { integer(static_cast<std::uint32_t>(value), 4); }
    void text(std::string_view value) {
        u32(static_cast<std::uint32_t>(value.size()));
        raw(value);
    }
    void raw(std::string_view value) { bytes_ += value; }
    void raw(const std::uint8_t* data, std::size_t size) { bytes_.append(data, data + size); }

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::string take() noexcept { return std::move(bytes_); }

private:
    void integer(std::uint64_t value, int size) {
        for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> static_cast<unsigned>(8 * i));
    }

    std::string bytes_;
};

/// Reads what a Writer wrote. Errors of all functions: RemoteError where the bytes end too early or a length is larger
/// than what is left or than the limit: nothing is allocated by a claim alone.
class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }
    std::uint16_t u16() { return static_cast<std::uint16_t>(integer(2)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
    std::uint64_t u64() { return integer(8); }
    std::int32_t i32() { return static_cast<std::int32_t>(integer(4)); }
    std::string text(std::size_t limit);
    std::string_view raw(std::size_t size);
    void raw(std::uint8_t* data, std::size_t size);

    /// A number of items, each of at least `least_bytes` here.
    std::size_t count(std::size_t least_bytes);

    [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }
    /// Everything must have been read.
    void end() const;

private:
    std::uint64_t integer(std::size_t size);
    void need(std::size_t size) const;

    std::string_view bytes_;
    std::size_t at_ = 0;
};

}  // namespace rondo::bootstrap
