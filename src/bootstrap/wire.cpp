#include "bootstrap/wire.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"

namespace rondo::bootstrap {

void Reader::need(std::size_t size) const {
    if (left() >= size) return;
    throw make_error(Code::RemoteError, "malformed message: {} bytes wanted at byte {} of {}", size, at_,
                     bytes_.size());
}

std::uint64_t Reader::integer(std::size_t size) {
    need(size);
    std::uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&value, bytes_.data() + at_, size);
    } else {
        for (std::size_t i = 0; i < size; ++i) {
            value |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8U * i);
        }
    }
    at_ += size;
    return value;
}

std::string Reader::text(std::size_t limit) {
    const std::size_t size = u32();
    if (size > limit) {
        throw make_error(Code::RemoteError, "malformed message: a text of {} bytes at byte {}, at most {} may be there",
                         size, at_, limit);
    }
    return std::string(raw(size));
}

std::string_view Reader::raw(std::size_t size) {
    need(size);
    at_ += size;
    return bytes_.substr(at_ - size, size);
}

void Reader::raw(std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = raw(size);
    std::transform(bytes.begin(), bytes.end(), data, [](char byte) { return static_cast<std::uint8_t>(byte); });
}

std::size_t Reader::count(std::size_t least_bytes) {
    const std::size_t items = u32();
    if (items <= left() / least_bytes) return items;
    throw make_error(Code::RemoteError, "malformed message: {} items at byte {}, with {} bytes left", items, at_,
                     left());
}

void Reader::end() const {
    if (left() == 0) return;
    throw make_error(Code::RemoteError, "malformed message: {} bytes too many after byte {}", left(), at_);
}

}  // namespace rondo::bootstrap
