#include "bootstrap/host_identity.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <fstream>

#include "base/descriptor_table.hpp"

namespace rondo::bootstrap {

namespace {

std::uint64_t inode_of(const char* path) {
    struct stat status {};
    return ::stat(path, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

std::string default_host_id() {
    std::string boot;
    std::ifstream file = DescriptorTable::read("/proc/sys/kernel/random/boot_id");
    std::getline(file, boot);
    if (boot.empty()) return {};
    return fmt::format("{}/net:{}", boot, inode_of("/proc/self/ns/net"));
}

std::uint64_t pid_namespace() { return inode_of("/proc/self/ns/pid"); }

}  // namespace rondo::bootstrap
