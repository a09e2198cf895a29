#include "transport/memory/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace rondo::transport::memory {

namespace {

std::byte* map(std::size_t bytes, int flags, int descriptor) {
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, descriptor, 0);
    if (base == MAP_FAILED) {
        throw make_system_error(errno, "mmap of {} bytes of memory for communication (see ulimit -v)", bytes);
    }
    return static_cast<std::byte*>(base);
}

/// A file larger than RLIMIT_FSIZE would end the process by SIGXFSZ.
void check_file_limit(std::size_t bytes) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes) return;
    throw make_error(Code::SystemError,
                     "shared memory of {} bytes is beyond the limit of {} bytes for files (ulimit -f); raise it", bytes,
                     static_cast<std::uint64_t>(limit.rlim_cur));
}

}  // namespace

Segment Segment::anonymous(std::size_t bytes) { return {map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1), bytes, {}}; }

Segment Segment::create(std::size_t bytes) {
    check_file_limit(bytes);
    Descriptor descriptor(::memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!descriptor) throw make_system_error(errno, "memfd_create");
    if (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) {
        throw make_system_error(errno, "ftruncate of shared memory to {} bytes", bytes);
    }
    if (::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        throw make_system_error(errno, "sealing the size of shared memory");
    }
    std::byte* base = map(bytes, MAP_SHARED, descriptor.get());
    return {base, bytes, std::move(descriptor)};
}

Segment Segment::attach(Descriptor descriptor) {
    struct stat status {};
    if (::fstat(descriptor.get(), &status) != 0) throw make_system_error(errno, "fstat of shared memory");
    if ((::fcntl(descriptor.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
        throw make_error(Code::SystemError, "shared memory from a peer is not sealed: its size could change");
    }
    const auto bytes = static_cast<std::size_t>(status.st_size);
    std::byte* base = map(bytes, MAP_SHARED, descriptor.get());
    return {base, bytes, std::move(descriptor)};
}

Segment::Segment(Segment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(other.size_), descriptor_(std::move(other.descriptor_)) {}

Segment::~Segment() {
    if (base_ != nullptr) ::munmap(base_, size_);
}

void Segment::reserve(std::size_t offset, std::size_t bytes) const {
    if (!descriptor_) return;  // private memory is the process's own matter, as its heap is
    if (::fallocate(descriptor_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
        throw make_system_error(errno, "reserving {} bytes of shared memory", bytes);
    }
}

}  // namespace rondo::transport::memory
