#include "transport/memory/pull.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <vector>

namespace rondo::transport::memory::test {

namespace {

/// A child of this process that has changed `words` for itself, and waits to be killed.
class Sleeper {
public:
    explicit Sleeper(std::vector<std::uint32_t>& words) {
        int ready[2];
        if (::pipe(ready) != 0) std::abort();
        pid_ = ::fork();
        if (pid_ == 0) {
            for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i * 7 + 3);
            static_cast<void>(::write(ready[1], "r", 1) == 1);
            while (true) ::pause();
        }
        char mark = 0;
        if (::read(ready[0], &mark, 1) != 1) std::abort();
        ::close(ready[0]);
        ::close(ready[1]);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() { end(); }

    void end() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    pid_t pid_ = 0;
};

/// In a container that forbids the call there is nothing to test here; what the library does then is tested elsewhere.
bool allowed() {
    const int own = 5;
    int copy = 0;
    return pull(::getpid(), &own, &copy, sizeof(own)) == 0 && copy == 5;
}

}  // namespace

TEST(Pull, CopiesWhatIsThereInTheOtherProcess) {
    if (!allowed()) GTEST_SKIP() << "process_vm_readv is not allowed here";
    std::vector<std::uint32_t> words(100'000, 1);
    const Sleeper child(words);
    std::vector<std::uint32_t> copy(words.size() + 2, 9);
    ASSERT_EQ(pull(child.pid(), words.data(), copy.data() + 1, words.size() * 4), 0);
    for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(copy[i + 1], i * 7 + 3) << i;
    EXPECT_EQ(copy.front(), 9U);
    EXPECT_EQ(copy.back(), 9U);
    EXPECT_EQ(words[5], 1U) << "this process's own are as they were";
}

TEST(Pull, SaysWhyItCannot) {
    if (!allowed()) GTEST_SKIP() << "process_vm_readv is not allowed here";
    std::vector<std::uint32_t> words(16, 1);
    Sleeper child(words);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* gap = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(gap, MAP_FAILED);
    std::vector<std::byte> copy(2 * page);
    // Mapped after the fork, so that the child has nothing there.
    EXPECT_EQ(pull(child.pid(), gap, copy.data(), page), EFAULT);
    ASSERT_EQ(::munmap(static_cast<std::byte*>(gap) + page, page), 0);
    EXPECT_EQ(pull(::getpid(), gap, copy.data(), 2 * page), EFAULT) << "the second half is missing";
    ::munmap(gap, page);
    const pid_t pid = child.pid();
    child.end();
    EXPECT_EQ(pull(pid, words.data(), copy.data(), 16), ESRCH);
}

TEST(PullSample, KnowsItsData) {
    if (!allowed()) GTEST_SKIP() << "process_vm_readv is not allowed here";
    const PullSample sample(77);
    EXPECT_EQ(PullSample::test(::getpid(), sample.data(), 77), 0);
    EXPECT_EQ(PullSample::test(::getpid(), sample.data(), 78), EILSEQ);
    EXPECT_EQ(PullSample::test(::getpid(), sample.data() + 1, 77), EILSEQ);
    EXPECT_NE(PullSample().key(), PullSample().key());
}

}  // namespace rondo::transport::memory::test
