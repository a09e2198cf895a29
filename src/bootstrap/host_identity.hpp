#pragma once
// What tells hosts and processes apart.

#include <cstdint>
#include <string>

namespace rondo::bootstrap {

/// Boot id and network namespace of this process, "" where the system does not say.
std::string default_host_id();

/// Inode of this process's pid namespace; 0 where the system does not say.
std::uint64_t pid_namespace();

/// When a process of this pid namespace started, in clock ticks since boot; 0 where the system does not say.
std::uint64_t start_time_of(std::int32_t pid);

}  // namespace rondo::bootstrap
