#include "bootstrap/host_identity.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string_view>

namespace rondo::bootstrap {

namespace {

std::uint64_t inode_of(const char* path) {
    struct stat status {};
    return ::stat(path, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

std::string default_host_id() {
    std::string boot;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, boot);
    if (boot.empty()) return {};
    return fmt::format("{}/net:{}", boot, inode_of("/proc/self/ns/net"));
}

std::uint64_t pid_namespace() { return inode_of("/proc/self/ns/pid"); }

std::uint64_t start_time_of(std::int32_t pid) {
    std::string line;
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::getline(file, line);
    // The second field is the name in parentheses, which may hold anything; the time is field 22.
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream fields(line.substr(name_end + 1));
    std::string skipped;
    constexpr int kFieldsBetween = 19;
    for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
    std::uint64_t ticks = 0;
    fields >> ticks;
    return fields ? ticks : 0;
}

}  // namespace rondo::bootstrap
