#pragma once
// What the system says about another process.

#include <sys/types.h>

namespace rondo {

/// True where the process is stopped by a signal or a tracer, as far as /proc tells (proc(5), stat). `pid` is one of
/// this process's pid namespace.
bool process_is_stopped(pid_t pid);

}  // namespace rondo
