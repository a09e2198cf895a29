#include "base/parse.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace rondo {

namespace {

constexpr std::string_view kSuffixes = "KMGT";

constexpr char to_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// Reads all of `text` by from_chars; false where it is not one number, is too large or has anything after it.
template <class Number>
bool read_all(std::string_view text, Number& number) noexcept {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end;
}

std::size_t distance(std::string_view a, std::string_view b) {
    // One row of Levenshtein's table at a time.
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (to_lower(a[i]) == to_lower(b[j]) ? 0 : 1);
            diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
        }
    }
    return row.back();
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
    return parse_size(text, 0, std::numeric_limits<std::uint64_t>::max());
}

std::uint64_t parse_size(std::string_view text, std::uint64_t min, std::uint64_t max) {
    std::string_view digits = text;
    unsigned shift = 0;
    if (!text.empty()) {
        const std::size_t suffix = kSuffixes.find(to_upper(text.back()));
        if (suffix != std::string_view::npos) {
            shift = 10 * static_cast<unsigned>(suffix + 1);
            digits.remove_suffix(1);
        }
    }
    std::uint64_t number = 0;
    if (!read_all(digits, number)) {
        const bool too_large =
            !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
        throw make_error(Code::InvalidArgument, "'{}' is {} (allowed: {})", printable(text),
                         too_large ? "more than 64 bits hold" : "no size", kSizeForm);
    }
    if (number > std::numeric_limits<std::uint64_t>::max() >> shift) {
        throw make_error(Code::InvalidArgument, "'{}' is more than 64 bits hold (allowed: {})", printable(text),
                         kSizeForm);
    }
    const std::uint64_t bytes = number << shift;
    if (bytes < min || bytes > max) {
        throw make_error(Code::InvalidArgument, "'{}' is out of range (allowed: {} to {})", printable(text),
                         size_text(min), size_text(max));
    }
    return bytes;
}

std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max) {
    std::int64_t number = 0;
    if (!read_all(text, number)) {
        throw make_error(Code::InvalidArgument, "'{}' is no integer (allowed: {} to {})", printable(text), min, max);
    }
    if (number < min || number > max) {
        throw make_error(Code::InvalidArgument, "'{}' is out of range (allowed: {} to {})", printable(text), min, max);
    }
    return number;
}

double parse_real(std::string_view text, double min, double max) {
    double number = 0;
    // from_chars reads "inf" and "nan" too: the range excludes both.
    if (!read_all(text, number)) {
        throw make_error(Code::InvalidArgument, "'{}' is no number (allowed: {} to {})", printable(text), min, max);
    }
    if (!(number >= min && number <= max)) {
        throw make_error(Code::InvalidArgument, "'{}' is out of range (allowed: {} to {})", printable(text), min, max);
    }
    return number;
}

std::string size_text(std::uint64_t bytes) {
    std::size_t suffix = 0;
    while (bytes != 0 && bytes % 1024 == 0 && suffix < kSuffixes.size()) {
        bytes /= 1024;
        ++suffix;
    }
    return suffix == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, kSuffixes[suffix - 1]);
}

std::string printable(std::string_view text) {
    constexpr std::size_t kMost = 80;
    std::string shown;
    for (const char c : text.substr(0, kMost)) {
        if (c >= ' ' && c <= '~') {
            shown += c;
        } else {
            shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    if (text.size() > kMost) shown += "...";
    return shown;
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), to_lower);
    return result;
}

std::string_view trim(std::string_view text) noexcept {
    constexpr std::string_view kBlanks = " \t\r";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    std::size_t begin = 0;
    for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
        pieces.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    pieces.push_back(text.substr(begin));
    return pieces;
}

std::string join(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) {
        if (!text.empty()) text += ", ";
        text += word;
    }
    return text;
}

std::string_view nearest(std::string_view text, std::span<const std::string_view> words) {
    constexpr std::size_t kLongest = 64;  // no name is as long; keeps the table small whatever the input
    if (text.size() > kLongest) return {};
    std::string_view best;
    std::size_t best_distance = text.size();
    for (const std::string_view word : words) {
        const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
        const std::size_t d = distance(text, word);
        if (d <= limit && d < best_distance) {
            best = word;
            best_distance = d;
        }
    }
    return best;
}

}  // namespace rondo
