#include "driver/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <rondo/rondo.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace rondo::perf {

namespace {

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// "  16384 kB" -> bytes.
std::uint64_t kibibytes(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    std::uint64_t value = 0;
    std::from_chars(text.data() + begin, text.data() + text.size(), value);
    return value * 1024;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
    const std::string text = read_text(path);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;  // no file, or "max"
    return value;
}

/// What the memory limit of this process's control group (version 2) leaves; the smallest up to the root.
std::optional<std::uint64_t> control_group_memory() {
    const std::string groups = read_text("/proc/self/cgroup");
    const std::size_t begin = groups.find("0::");
    if (begin == std::string::npos) return std::nullopt;
    std::string path = groups.substr(begin + 3, groups.find('\n', begin) - begin - 3);
    std::optional<std::uint64_t> least;
    while (true) {
        const std::string directory = "/sys/fs/cgroup" + (path == "/" ? "" : path);
        const auto limit = read_number(directory + "/memory.max");
        const auto used = read_number(directory + "/memory.current");
        if (limit && used) {
            const std::uint64_t left = *limit > *used ? *limit - *used : 0;
            least = std::min(least.value_or(left), left);
        }
        const std::size_t slash = path.rfind('/');
        if (path.size() <= 1 || slash == std::string::npos) return least;
        path.resize(std::max<std::size_t>(slash, 1));
    }
}

int allowed_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
    return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

std::string proc_value(const std::string& text, const std::string& key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::size_t end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
        if (end == std::string::npos || line.substr(0, end + 1) != key) continue;
        const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? "" : line.substr(begin);
    }
    return "";
}

Machine describe_machine() {
    Machine machine;
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) == 0) machine.host = host.data();
    machine.host = machine.host.substr(0, machine.host.find('.'));
    const std::string cpu = read_text("/proc/cpuinfo");
    machine.cpu = proc_value(cpu, "model name");
    if (machine.cpu.empty()) machine.cpu = proc_value(cpu, "CPU part");
    utsname names{};
    if (uname(&names) == 0) {
        machine.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
        if (machine.cpu.empty()) machine.cpu = names.machine;
    }
    machine.boot = read_text("/proc/sys/kernel/random/boot_id");
    machine.boot = machine.boot.substr(0, machine.boot.find('\n'));
    machine.cores = allowed_cores();
    machine.memory_bytes = kibibytes(proc_value(read_text("/proc/meminfo"), "MemTotal"));
    return machine;
}

std::uint64_t available_memory() {
    const std::uint64_t free = kibibytes(proc_value(read_text("/proc/meminfo"), "MemAvailable"));
    const auto group = control_group_memory();
    if (!group) return free;
    return free == 0 ? *group : std::min(free, *group);
}

std::vector<std::string> rondo_environment() {
    std::vector<std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (text.substr(0, 6) != "RONDO_") continue;
        // Result files are handed around; the secret of a job is not.
        const bool secret = text.substr(0, text.find('=')) == "RONDO_COMM_SECRET";
        variables.emplace_back(secret ? "RONDO_COMM_SECRET=(not shown)" : text);
    }
    std::sort(variables.begin(), variables.end());
    return variables;
}

std::string version_line() {
    int library = 0;
    rondoGetVersion(&library);
    return fmt::format("rondo perf-tests version {}.{}.{} rondo-headers={} rondo-library={}", RONDO_MAJOR, RONDO_MINOR,
                       RONDO_PATCH, RONDO_VERSION_CODE, library);
}

std::string now_text() { return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr))); }

}  // namespace rondo::perf
