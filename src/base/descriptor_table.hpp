#pragma once
// The file descriptors of this process that its forked children must not keep. Used by ProcessDescriptor and Runtime.

#include <mutex>
#include <set>

namespace rondo {

class DescriptorTable {
public:
    /// Guards the table, and all opening of descriptors that go into it. Held across fork().
    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

    // With the mutex held.
    void insert(int fd) { open_.insert(fd); }
    void erase(int fd) { open_.erase(fd); }
    /// In a forked child: closes all.
    void close_all() noexcept;

    /// Raises the soft limit of descriptors to the hard one; false where nothing was gained.
    static bool raise_limit() noexcept;

private:
    std::mutex mutex_;
    std::set<int> open_;
};

}  // namespace rondo
