#include "bootstrap/liveness.hpp"
#include "base/process_state.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "bootstrap/host_identity.hpp"

namespace rondo::bootstrap {

namespace {

ProcessDescriptor open_pid(std::int32_t pid) {
    return ProcessDescriptor::open([=] { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); });
}

}  // namespace

std::shared_ptr<void> Liveness::watch(std::int32_t pid, std::uint64_t start_time, Loop::Task on_death) {
    const Name name(pid, start_time);
    auto found = watched_.find(name);
    if (found == watched_.end()) {
        ProcessDescriptor pidfd = open_pid(pid);
        const bool gone = !pidfd && errno == ESRCH;
        // The pid may be another process's by now. The times are compared after the process has been got hold of.
        const std::uint64_t now = pidfd ? process_start_time(pid) : 0;
        const bool other = start_time != 0 && now != 0 && now != start_time;
        if (gone || other) {
            auto ticket = std::make_shared<Loop::Task>(std::move(on_death));
            loop_->post([weak = std::weak_ptr<Loop::Task>(ticket)] {
                if (const auto task = weak.lock()) (*task)();
            });
            return ticket;
        }
        if (!pidfd) return nullptr;
        const int fd = pidfd.get();
        found = watched_.emplace(name, Watched{std::move(pidfd), {}}).first;
        loop_->watch(fd, EPOLLIN, [this, name](std::uint32_t) { on_end(name); });
    }
    auto& tasks = found->second.tasks;
    const auto place = tasks.insert(tasks.end(), std::move(on_death));
    return {this, [this, name, place](void*) { drop(name, place); }};
}

void Liveness::on_end(const Name& name) {
    const auto found = watched_.find(name);
    if (found == watched_.end()) return;
    loop_->forget(found->second.pidfd.get());
    // A task may drop tickets, its own among them: run copies of those that were there.
    const std::list<Loop::Task> tasks = found->second.tasks;
    for (const Loop::Task& task : tasks) task();
}

void Liveness::drop(const Name& name, std::list<Loop::Task>::iterator task) {
    const auto found = watched_.find(name);
    if (found == watched_.end()) return;
    found->second.tasks.erase(task);
    if (!found->second.tasks.empty()) return;
    loop_->forget(found->second.pidfd.get());
    watched_.erase(found);
}

void Liveness::clear() {
    for (const auto& [name, watched] : watched_) loop_->forget(watched.pidfd.get());
    watched_.clear();
}

}  // namespace rondo::bootstrap
