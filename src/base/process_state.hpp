#pragma once
// What the system says about another process (proc(5), stat). `pid` is one of this process's pid namespace.

#include <sys/types.h>

#include <cstdint>

namespace rondo {

/// True where the process is stopped by a signal or a tracer, as far as it can be seen.
bool process_is_stopped(pid_t pid);

/// True where the process no longer runs, whether its parent has noticed or not.
bool process_has_ended(pid_t pid);

/// When the process started, in clock ticks since boot: tells it from a later one with its pid. 0: unknown.
std::uint64_t process_start_time(pid_t pid);

}  // namespace rondo
