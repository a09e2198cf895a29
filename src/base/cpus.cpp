#include "base/cpus.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/descriptor_table.hpp"
#include "base/parse.hpp"

namespace rondo {

namespace {

int count_affinity() {
    // The kernel refuses a set smaller than its own; 8,192 processors is the most that Linux is built for.
    constexpr int kMost = 8192;
    cpu_set_t* set = CPU_ALLOC(kMost);
    if (set == nullptr) return 1;
    const std::size_t bytes = CPU_ALLOC_SIZE(kMost);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 1;
    CPU_FREE(set);
    return std::max(count, 1);
}

double smaller_limit(double a, double b) noexcept {
    if (a <= 0) return b;
    return b <= 0 ? a : std::min(a, b);
}

/// cgroup v2: "max 100000" or "150000 100000" (quota and period in microseconds).
double quota_v2(const std::string& directory) {
    std::ifstream file = DescriptorTable::read(directory + "/cpu.max");
    double quota = 0;
    double period = 0;
    return file >> quota >> period && period > 0 ? quota / period : 0;
}

/// cgroup v1: -1 is no limit.
double quota_v1(const std::string& directory) {
    std::ifstream quota_file = DescriptorTable::read(directory + "/cpu.cfs_quota_us");
    std::ifstream period_file = DescriptorTable::read(directory + "/cpu.cfs_period_us");
    double quota = 0;
    double period = 0;
    return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period : 0;
}

/// The smallest quota of the group `path` and the groups around it. Inside a container the path may name a directory
/// that is not to be seen; the mount's top is then this container's own group.
double quota_along(const std::string& mount, std::string_view path, double (*quota)(const std::string&)) {
    double limit = quota(mount);
    std::string directory = mount;
    for (const std::string_view name : split_text(path, '/')) {
        if (name.empty() || name == "..") continue;
        directory.append("/").append(name);
        limit = smaller_limit(limit, quota(directory));
    }
    return limit;
}

double cgroup_quota(const std::string& root) {
    std::ifstream groups = DescriptorTable::read(root + "/proc/self/cgroup");
    double limit = 0;
    std::string line;
    while (std::getline(groups, line)) {  // "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1)
        const std::vector<std::string_view> fields = split_text(line, ':');
        if (fields.size() < 3) continue;
        if (fields[0] == "0" && fields[1].empty()) {
            limit = smaller_limit(limit, quota_along(root + "/sys/fs/cgroup", fields[2], quota_v2));
            continue;
        }
        const std::vector<std::string_view> controllers = split_text(fields[1], ',');
        if (std::find(controllers.begin(), controllers.end(), "cpu") == controllers.end()) continue;
        for (const char* mount : {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"}) {
            std::error_code ignored;
            if (std::filesystem::is_directory(root + mount, ignored)) {
                limit = smaller_limit(limit, quota_along(root + mount, fields[2], quota_v1));
                break;
            }
        }
    }
    return limit;
}

std::string cpu_model() {
    std::ifstream info = DescriptorTable::read("/proc/cpuinfo");
    std::string line;
    while (std::getline(info, line)) {
        if (line.rfind("model name", 0) == 0) {
            const std::size_t colon = line.find(':');
            if (colon != std::string::npos) return std::string(trim(std::string_view(line).substr(colon + 1)));
        }
    }
    return "unknown CPU";
}

}  // namespace

int CpuLimits::usable() const noexcept {
    if (quota <= 0 || quota >= affinity) return affinity;
    return std::max(1, static_cast<int>(quota));
}

CpuLimits cpu_limits(const std::string& root) {
    CpuLimits limits;
    limits.online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    limits.affinity = count_affinity();
    limits.quota = cgroup_quota(root);
    return limits;
}

Machine describe_machine() {
    Machine machine;
    utsname names{};
    if (uname(&names) == 0) {
        machine.host = names.nodename;
        machine.kernel = fmt::format("{} {}", names.sysname, names.release);
    }
    machine.cpu = cpu_model();
    machine.cpus = cpu_limits();
    machine.memory_bytes = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                           static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
    return machine;
}

std::string machine_text(const Machine& machine) {
    constexpr double kGiB = 1024.0 * 1024 * 1024;
    return fmt::format("{}, {} of {} cores usable, {:.1f} GiB memory, {}", machine.cpu, machine.cpus.usable(),
                       machine.cpus.online, static_cast<double>(machine.memory_bytes) / kGiB, machine.kernel);
}

}  // namespace rondo
