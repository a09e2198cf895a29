#include "base/parse.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "base/error.hpp"

namespace rondo {
namespace {

/// The text of the Error that `call` throws; its code must be InvalidArgument.
template <class Call>
std::string error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::InvalidArgument);
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(ParseSize, ReadsDigitsWithSuffix) {
    EXPECT_EQ(parse_size("0"), 0U);
    EXPECT_EQ(parse_size("8"), 8U);
    EXPECT_EQ(parse_size("64K"), 65536U);
    EXPECT_EQ(parse_size("64k"), 65536U);
    EXPECT_EQ(parse_size("1M"), 1048576U);
    EXPECT_EQ(parse_size("2G"), 2147483648U);
    EXPECT_EQ(parse_size("3T"), 3298534883328U);
    EXPECT_EQ(parse_size("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(parse_size("16777215T"), 16777215ULL << 40U);
}

TEST(ParseSize, RefusesEverythingElse) {
    for (const std::string_view text : {"", "K", "-1", "+1", " 1", "1 ", "1.5M", "1KB", "1KiB", "0x10", "1e3", "K1",
                                        "1KK", "18446744073709551616", "16777216T", "99999999999999999999999K"}) {
        const std::string error = error_of([&] { return parse_size(text); });
        EXPECT_TRUE(contains(error, "'" + std::string(text) + "'")) << error;
        EXPECT_TRUE(contains(error, kSizeForm)) << error;
    }
}

TEST(ParseSize, RangeNamesItsLimits) {
    EXPECT_EQ(parse_size("16K", 16384, 1U << 30U), 16384U);
    const std::string error = error_of([] { return parse_size("15K", 16384, 1U << 30U); });
    EXPECT_EQ(error, "'15K' is out of range (allowed: 16K to 1G)");
}

TEST(ParseInteger, KeepsToItsRange) {
    EXPECT_EQ(parse_integer("-1", -1, 5), -1);
    EXPECT_EQ(parse_integer("5", -1, 5), 5);
    EXPECT_EQ(error_of([] { return parse_integer("6", -1, 5); }), "'6' is out of range (allowed: -1 to 5)");
    for (const std::string_view text : {"", "x", "1x", "1.0", "+1", " 1", "9223372036854775808", "--1"}) {
        EXPECT_TRUE(contains(error_of([&] { return parse_integer(text, -1, 5); }), "allowed: -1 to 5"));
    }
}

TEST(ParseReal, TakesFractionsAndNoNan) {
    EXPECT_EQ(parse_real("0.25", 0, 1), 0.25);
    EXPECT_EQ(parse_real("1e-1", 0, 1), 0.1);
    for (const std::string_view text : {"nan", "inf", "-inf", "1.5", "-0.5", "", ".", "0.5s", "1e999"}) {
        EXPECT_TRUE(contains(error_of([&] { return parse_real(text, 0, 1); }), "allowed: 0 to 1"));
    }
}

TEST(SizeText, IsReadBack) {
    EXPECT_EQ(size_text(0), "0");
    EXPECT_EQ(size_text(1000), "1000");
    EXPECT_EQ(size_text(1536), "1536");
    EXPECT_EQ(size_text(65536), "64K");
    EXPECT_EQ(size_text(1ULL << 50U), "1024T");
    std::mt19937_64 random(20240611);
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t bytes = random() >> (random() % 64) << (random() % 45);
        EXPECT_EQ(parse_size(size_text(bytes)), bytes);
    }
}

TEST(ParseFuzz, RandomTextsAreReadOrRefused) {
    using namespace std::string_view_literals;
    constexpr std::string_view kLikely = "0123456789KMGTkmgt.-+eE \0\xff,:;^=#x"sv;
    std::mt19937 random(77);
    int read = 0;
    int refused = 0;
    for (int i = 0; i < 50'000; ++i) {
        std::string text(random() % 12, '\0');
        for (char& c : text) {
            c = random() % 4 == 0 ? static_cast<char>(random()) : kLikely[random() % kLikely.size()];
        }
        const auto attempt = [&](auto&& parse) {
            try {
                parse();
                ++read;
            } catch (const Error& error) {
                ++refused;
                EXPECT_TRUE(contains(error.what(), "'" + printable(text) + "'")) << error.what();
                EXPECT_TRUE(contains(error.what(), "allowed: ")) << error.what();
            }
        };
        attempt([&] { return parse_size(text); });
        attempt([&] { return parse_integer(text, -1000, 1000); });
        attempt([&] { return parse_real(text, -1000, 1000); });
    }
    EXPECT_GT(read, 1000);
    EXPECT_GT(refused, 10'000);
}

TEST(Printable, EscapesAndCuts) {
    EXPECT_EQ(printable("a\nb\x7f\xff"), "a\\x0ab\\x7f\\xff");
    EXPECT_EQ(printable(std::string(81, 'a')), std::string(80, 'a') + "...");
}

TEST(Words, TrimSplitJoinLower) {
    EXPECT_EQ(trim(" \ta b\r"), "a b");
    EXPECT_EQ(trim(" \t"), "");
    EXPECT_EQ(split_text("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(split_text("", ','), (std::vector<std::string_view>{""}));
    EXPECT_EQ(join(std::array<std::string_view, 2>{"x", "y"}), "x, y");
    EXPECT_EQ(lower("Ring_7\xC4"), "ring_7\xC4");
}

TEST(Nearest, FindsTypingErrorsOnly) {
    constexpr std::array<std::string_view, 3> kWords{"ring", "tree", "halving_doubling"};
    EXPECT_EQ(nearest("rinng", kWords), "ring");
    EXPECT_EQ(nearest("RNIG", kWords), "ring");
    EXPECT_EQ(nearest("halvingdubling", kWords), "halving_doubling");
    EXPECT_EQ(nearest("broadcast", kWords), "");
    EXPECT_EQ(nearest("", kWords), "");
    EXPECT_EQ(nearest("xy", kWords), "");
    EXPECT_EQ(nearest(std::string(100'000, 'r'), kWords), "");
}

}  // namespace
}  // namespace rondo
