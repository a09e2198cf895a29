#include "base/process_descriptor.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace rondo {

void DescriptorTable::close_all() noexcept {
    for (const int fd : open_) ::close(fd);
    open_.clear();
}

bool DescriptorTable::raise_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    limit.rlim_cur = limit.rlim_max;
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

std::ifstream DescriptorTable::read(const std::string& path) {
    std::ifstream file;
    with_room([&] {
        file.open(path);
        return file.is_open();
    });
    return file;
}

ProcessDescriptor ProcessDescriptor::keep(int fd) {
    ProcessDescriptor kept;
    if (fd < 0) return kept;
    Runtime& runtime = Runtime::get();
    try {
        runtime.descriptors().insert(fd);
    } catch (...) {
        ::close(fd);
        throw;
    }
    kept.fd_ = fd;
    kept.token_ = runtime.token();
    return kept;
}

ProcessDescriptor& ProcessDescriptor::operator=(ProcessDescriptor&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = std::exchange(other.fd_, -1);
        token_ = other.token_;
    }
    return *this;
}

void ProcessDescriptor::reset() noexcept {
    const int fd = std::exchange(fd_, -1);
    if (fd < 0 || !Runtime::get().same_process(token_)) return;
    // Closed before a fork can copy it, and out of the table before its number is another file's.
    const std::lock_guard lock(Runtime::get().descriptors().mutex());
    Runtime::get().descriptors().erase(fd);
    ::close(fd);
}

int ProcessDescriptor::release() noexcept {
    const int fd = std::exchange(fd_, -1);
    if (fd < 0 || !Runtime::get().same_process(token_)) return -1;
    const std::lock_guard lock(Runtime::get().descriptors().mutex());
    Runtime::get().descriptors().erase(fd);
    return fd;
}

}  // namespace rondo
