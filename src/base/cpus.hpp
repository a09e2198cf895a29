#pragma once
// What the machine is, and how much of it this process may use.

#include <cstdint>
#include <string>

namespace rondo {

struct CpuLimits {
    int online = 1;    ///< processors that are switched on
    int affinity = 1;  ///< processors that this thread may run on
    double quota = 0;  ///< processors' worth of time that the cgroups grant; 0: no limit
    /// Whole processors that can be kept busy: min(affinity, quota rounded down), at least 1.
    [[nodiscard]] int usable() const noexcept;
};

/// Limits of the calling thread. Reads /proc and /sys below `root` (for tests).
CpuLimits cpu_limits(const std::string& root = "");

struct Machine {
    std::string host;
    std::string cpu;  ///< model name
    CpuLimits cpus;
    std::uint64_t memory_bytes = 0;
    std::string kernel;  ///< "Linux 6.1.0-18-amd64"
};

Machine describe_machine();

/// "Intel(R) Xeon(R) ..., 2 of 8 cores usable, 16 GiB memory, Linux 6.1.0".
std::string machine_text(const Machine& machine);

}  // namespace rondo
