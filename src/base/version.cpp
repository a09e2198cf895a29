#include "base/version.hpp"

#include <string_view>

// RONDO_VERSION, RONDO_BUILD_TYPE and RONDO_SANITIZERS come from src/CMakeLists.txt.

namespace rondo {

namespace {

constexpr int parse_version(std::string_view text) noexcept {
    int number = 0;
    int part = 0;
    for (const char c : text) {
        if (c == '.') {
            number = (number + part) * 100;
            part = 0;
        } else {
            part = part * 10 + (c - '0');
        }
    }
    return number + part;
}

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

std::string make_build_info() {
    std::string text = std::string("rondo ") + version_text() + ", commit " + build_commit() + ", " + kCompiler + ", " +
                       RONDO_BUILD_TYPE;
    if (const std::string_view sanitizers = RONDO_SANITIZERS; !sanitizers.empty()) {
        text.append(", sanitizers ").append(sanitizers);
    }
    return text;
}

}  // namespace

int version_number() noexcept { return parse_version(RONDO_VERSION); }

const char* version_text() noexcept { return RONDO_VERSION; }

const std::string& build_info() {
    static const std::string text = make_build_info();
    return text;
}

}  // namespace rondo
