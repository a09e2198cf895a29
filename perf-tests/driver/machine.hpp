#pragma once
// What the results were measured on, and how much memory there is.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::perf {

struct Machine {
    std::string host;
    std::string cpu;
    int cores = 0;  ///< that this process may run on
    std::uint64_t memory_bytes = 0;
    std::string kernel;
    std::string boot;  ///< id of this boot of the kernel; "" where it cannot be read
};

Machine describe_machine();

/// The value of `key` in the text of /proc/cpuinfo or /proc/meminfo ("key : value" lines); "" if it is not there.
std::string proc_value(const std::string& text, const std::string& key);

/// Bytes that this process may still take: MemAvailable, or what its control group leaves if that is less.
/// 0 where neither can be read.
std::uint64_t available_memory();

/// The RONDO_* variables of the environment, as NAME=VALUE, without the value of a secret.
std::vector<std::string> rondo_environment();

/// "rondo perf-tests version 0.1.0 rondo-headers=100 rondo-library=100"
std::string version_line();

/// Local time as "2026-01-31 23:59:59".
std::string now_text();

}  // namespace rondo::perf
