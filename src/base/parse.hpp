#pragma once
// Strict readers of numbers, and the text forms that go with them. All throw Error(InvalidArgument) whose text holds
// the given text and what is allowed.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

inline constexpr std::string_view kSizeForm = "a number of bytes with an optional suffix K, M, G or T, as 64K";

/// Bytes: digits and an optional suffix K, M, G or T (powers of 1024, either case). No sign, blank, or fraction.
std::uint64_t parse_size(std::string_view text);

/// The same, and within [min, max].
std::uint64_t parse_size(std::string_view text, std::uint64_t min, std::uint64_t max);

/// A decimal integer within [min, max].
std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max);

/// A decimal number, with fraction and exponent if wanted, within [min, max]; never NaN.
double parse_real(std::string_view text, double min, double max);

/// The shortest exact form that parse_size reads back: 65536 is "64K", 1000 is "1000".
std::string size_text(std::uint64_t bytes);

/// `text` fit for a message: other than printable ASCII as \xNN, cut after 80 characters with "...".
std::string printable(std::string_view text);

/// In lower case; ASCII only.
std::string lower(std::string_view text);

/// Without blanks and tabs at both ends.
std::string_view trim(std::string_view text) noexcept;

/// `text` cut at each `separator`; never empty, pieces may be.
std::vector<std::string_view> split_text(std::string_view text, char separator);

/// "a, b, c".
std::string join(std::span<const std::string_view> words);

/// The word of `words` that is nearest to `text` in Levenshtein distance, if it is near enough to be a typing error (at
/// most a third of its length, at least 2, and less than the length of `text`); else "". Letter case counts for
/// nothing.
std::string_view nearest(std::string_view text, std::span<const std::string_view> words);

}  // namespace rondo
