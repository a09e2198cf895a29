#pragma once
// What tells hosts and processes apart.

#include <cstdint>
#include <string>

namespace rondo::bootstrap {

/// Boot id and network namespace of this process, "" where the system does not say.
std::string default_host_id();

/// Inode of this process's pid namespace; 0 where the system does not say.
std::uint64_t pid_namespace();

}  // namespace rondo::bootstrap
