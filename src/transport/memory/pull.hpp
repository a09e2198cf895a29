#pragma once
// Copies out of another process's memory, by address: cross memory attach (process_vm_readv(2)). Whether the system
// allows it depends on users, ptrace scope and the container's system call filter, so each process tries it on every
// other at init, on data that it can check, and says what came of it where all can read it.

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>

namespace rondo::transport::memory {

/// Copies `bytes` from `source` in process `pid` to `target` here. Returns 0, or the errno value of what failed: EFAULT
/// where the other's memory is not (all) there, ESRCH where the process has ended, EPERM where it is not allowed.
int pull(pid_t pid, const void* source, void* target, std::size_t bytes) noexcept;

/// Data for others to try on. Its words all differ, so that a copy of another place or of too little is found out.
class PullSample {
public:
    static constexpr std::size_t kWords = 1024;

    explicit PullSample(std::uint64_t key) noexcept : key_(key) {
        for (std::size_t i = 0; i < kWords; ++i) words_[i] = word(key, i);
    }
    PullSample() : PullSample(std::uint64_t{std::random_device{}()} << 32U | std::random_device{}()) {}

    [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
    [[nodiscard]] const std::uint64_t* data() const noexcept { return words_.data(); }

    /// Pulls a sample. Returns 0, the errno value of what failed, or EILSEQ where other data came.
    static int test(pid_t pid, const std::uint64_t* data, std::uint64_t key) noexcept;

private:
    static std::uint64_t word(std::uint64_t key, std::uint64_t i) noexcept {
        return (key + i) * 0x9e3779b97f4a7c15U ^ i << 20U;
    }

    std::uint64_t key_;
    std::array<std::uint64_t, kWords> words_{};
};

/// What a process tells the others, in shared memory, one of these for each rank. All fields but the verdict are
/// written before `pid` (release), which is 0 until then; the verdict comes later.
struct alignas(128) PullRecord {
    static constexpr std::int32_t kWorks = 1;

    std::atomic<std::int32_t> pid;
    std::atomic<std::int32_t> verdict;      // 0: none yet; kWorks; else the errno value of what failed, negative
    std::atomic<std::int32_t> failed_with;  // the rank on whose process it failed
    std::atomic<const std::uint64_t*> sample;
    std::atomic<std::uint64_t> key;
};

}  // namespace rondo::transport::memory
