#pragma once
// Watches over other processes of this pid namespace: the death of one is seen at once, whoever holds copies of its
// sockets. On the service thread alone.

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>

#include "base/process_descriptor.hpp"
#include "bootstrap/loop.hpp"

namespace rondo::bootstrap {

class Liveness {
public:
    explicit Liveness(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}
    Liveness(const Liveness&) = delete;
    Liveness& operator=(const Liveness&) = delete;

    /// Calls `on_death` once, later, when the process that has this pid and started at this time has ended; at once
    /// where it has already. Until the ticket is dropped, on the service thread. Null where the process cannot be
    /// watched.
    std::shared_ptr<void> watch(std::int32_t pid, std::uint64_t start_time, Loop::Task on_death);

    void clear();

private:
    struct Watched {
        ProcessDescriptor pidfd;
        std::list<Loop::Task> tasks;
    };
    using Name = std::pair<std::int32_t, std::uint64_t>;

    void on_end(const Name& name);
    void drop(const Name& name, std::list<Loop::Task>::iterator task);

    const std::shared_ptr<Loop> loop_;
    std::map<Name, Watched> watched_;
};

}  // namespace rondo::bootstrap
