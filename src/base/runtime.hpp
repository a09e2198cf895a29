#pragma once
// The process: the one mutable global of the library.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "base/descriptor_table.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"

namespace rondo {

/// Which process something was made in. A fork makes a new process whose copies of old tokens tell it apart.
struct ProcessToken {
    pid_t pid = 0;
    std::uint32_t generation = 0;
};

class Runtime {
public:
    /// Made at the first call, never destroyed: threads may outlive main(). Reads nothing from the environment.
    static Runtime& get();

    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    [[nodiscard]] const std::string& host() const noexcept { return host_; }
    [[nodiscard]] Logger& logger() noexcept { return log_; }

    /// Reads the settings anew, sets the logger up by them, and logs the version, warnings and non-default settings;
    /// what was logged before is not logged again. For each new communicator. Throws Error(InvalidArgument) for bad
    /// values.
    Settings load_settings();

    /// For an object that must not be used in a child process.
    [[nodiscard]] ProcessToken token() const noexcept;

    /// Is this still the process of the token? One relaxed load, fit for every operation. A child made by clone()
    /// without the C library's knowledge is not seen.
    [[nodiscard]] bool same_process(const ProcessToken& token) const noexcept {
        return token.generation == generation_.load(std::memory_order_relaxed);
    }

    /// Throws Error(InvalidUsage) "communicator belongs to pid N ..." where same_process() is false.
    void check_fork(const ProcessToken& token) const;

    /// The descriptors that a forked child closes; see ProcessDescriptor.
    [[nodiscard]] DescriptorTable& descriptors() noexcept { return descriptors_; }

    /// The one object of type T in this process, made at the first call: for rooms above this one, which would need a
    /// global of their own otherwise. A forked child makes objects of its own; those of its parent are never touched
    /// again there, not even destroyed.
    template <class T>
    T& service() {
        const std::lock_guard lock(services_mutex_);
        std::shared_ptr<void>& service = services_[std::type_index(typeid(T))];
        if (!service) service = std::make_shared<T>();
        return *static_cast<T*>(service.get());
    }

    /// Keeps an object for ever: one that a forked child inherited, and must not destroy as its locks may be held.
    void keep(std::shared_ptr<void> object) {
        const std::lock_guard lock(services_mutex_);
        kept_.push_back(std::move(object));
    }

private:
    Runtime();

    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

    [[nodiscard]] bool first_time(const std::string& text);

    const std::string host_;
    std::atomic<std::uint32_t> generation_{0};
    Logger log_;
    DescriptorTable descriptors_;
    std::mutex services_mutex_;
    using Services = std::map<std::type_index, std::shared_ptr<void>>;
    Services services_;                        // under services_mutex_
    std::vector<Services> abandoned_;          // of the parents of this process
    std::vector<std::shared_ptr<void>> kept_;  // under services_mutex_
    std::mutex mutex_;                         // of load_settings
    std::set<std::string> said_;               // under mutex_
};

}  // namespace rondo
