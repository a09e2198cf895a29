#pragma once
// The file descriptors of this process that its forked children must not keep. Used by ProcessDescriptor and Runtime.

#include <cerrno>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

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

    /// `attempt()`; where that is false for want of descriptors (errno EMFILE), raises the process's soft limit of them
    /// to the hard one and tries again.
    template <class Attempt>
    static bool with_room(Attempt&& attempt) {
        return attempt() || (errno == EMFILE && raise_limit() && attempt());
    }
    /// A file to read, opened with_room(). Not open on failure.
    static std::ifstream read(const std::string& path);

private:
    /// True where another attempt may go better: other threads raise it too.
    static bool raise_limit() noexcept;

    std::mutex mutex_;
    std::set<int> open_;
};

}  // namespace rondo
