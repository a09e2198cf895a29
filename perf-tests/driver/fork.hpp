#pragma once
// --procs: processes forked from this one, and the parent that waits for them.

#include <functional>
#include <vector>

#include "driver/launch.hpp"

namespace rondo::perf {

/// How the forked processes get the ids: process 0 writes them into a pipe for each of the others.
class IdPipes {
public:
    /// The pipes of `processes` processes. Throws RunError.
    explicit IdPipes(int processes);
    IdPipes(const IdPipes&) = delete;
    IdPipes& operator=(const IdPipes&) = delete;
    ~IdPipes();

    /// In a child: keeps only the ends of process `process`, makes (process 0) or reads the ids. Throws RunError, also
    /// where process 0 died before it had written.
    Ids exchange(int process);

    void close_all() noexcept;

private:
    struct Pipe {
        int in = -1;
        int out = -1;
    };

    std::vector<Pipe> pipes_;  ///< of process i + 1
};

/// Forks `processes` processes, runs `body(process, pipes)` in each, and returns in each child its status. In the
/// parent returns once all have ended, with the worst status: 0 if all of them ended with 0. A process that died by a
/// signal, or failed, is named on stderr; the others get 15 s to end by themselves and are killed then. SIGINT, SIGTERM
/// and SIGHUP of the parent end the children; they also end when the parent dies. No thread may run yet. Throws
/// RunError if a process cannot be made.
int run_forked(const char* program, int processes, const std::function<int(int, IdPipes&)>& body);

}  // namespace rondo::perf
