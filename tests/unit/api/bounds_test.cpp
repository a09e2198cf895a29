// No byte outside a buffer is read or written: buffers end, or begin, at a page that faults.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "collective_case.hpp"

namespace rondo::api::test {

namespace {

/// Memory between two pages that fault.
class Fenced {
public:
    explicit Fenced(std::size_t bytes) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        inner_ = (bytes + page - 1) / page * page;
        whole_ = inner_ + 2 * page;
        void* mapped = ::mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(mapped, MAP_FAILED);
        base_ = static_cast<std::byte*>(mapped);
        EXPECT_EQ(::mprotect(base_ + page, inner_, PROT_READ | PROT_WRITE), 0);
        first_ = base_ + page;
    }
    ~Fenced() { ::munmap(base_, whole_); }
    Fenced(const Fenced&) = delete;
    Fenced& operator=(const Fenced&) = delete;

    /// `bytes` bytes that end, or begin, at the fence.
    std::byte* at_end(std::size_t bytes) { return first_ + inner_ - bytes; }
    std::byte* at_begin() { return first_; }

private:
    std::byte* base_ = nullptr;
    std::byte* first_ = nullptr;
    std::size_t inner_ = 0;
    std::size_t whole_ = 0;
};

class FencedCollective : public testing::TestWithParam<Collective> {};

}  // namespace

TEST_P(FencedCollective, StaysInsideItsBuffers) {
    constexpr int kRanks = 3;
    const Ranks ranks(kRanks);
    ranks.run([&](int rank, rondoComm_t comm) {
        Fenced in(kRanks * 65 * 8);
        Fenced out(kRanks * 65 * 8);
        for (std::size_t count = 1; count <= 65; ++count) {
            for (const rondoDataType_t type : kTypes) {
                const Case given{.collective = GetParam(),
                                 .type = type,
                                 .op = kOps[(count + static_cast<std::size_t>(type)) % std::size(kOps)],
                                 .root = static_cast<int>(count % kRanks),
                                 .count = count};
                const std::vector<std::byte> input = input_of(given, rank, kRanks);
                const std::vector<std::byte> right = expected_of(given, rank, kRanks);
                const bool ends = count % 2 == 0;
                std::byte* sendbuff = ends ? in.at_end(input.size()) : in.at_begin();
                std::byte* recvbuff = ends ? out.at_end(right.size()) : out.at_begin();
                if (!input.empty()) std::memcpy(sendbuff, input.data(), input.size());
                ASSERT_EQ(call(given, sendbuff, recvbuff, comm), rondoSuccess) << rondoGetLastError(comm);
                ASSERT_TRUE(std::equal(right.begin(), right.end(), recvbuff)) << describe(given);
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Collectives, FencedCollective,
                         testing::Values(Collective::AllReduce, Collective::Reduce, Collective::Broadcast,
                                         Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll),
                         [](const auto& collective) { return std::string(plan::name_of(collective.param)); });

TEST(FencedSend, StaysInsideItsBuffers) {
    const Ranks ranks(2);
    ranks.run([](int rank, rondoComm_t comm) {
        Fenced memory(4096);
        for (std::size_t bytes = 1; bytes <= 300; ++bytes) {
            std::byte* data = bytes % 2 == 0 ? memory.at_end(bytes) : memory.at_begin();
            if (rank == 0) {
                for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(bytes * 3 + i);
                ASSERT_EQ(rondoSend(data, bytes, rondoUint8, 1, comm, nullptr), rondoSuccess);
            } else {
                ASSERT_EQ(rondoRecv(data, bytes, rondoUint8, 0, comm, nullptr), rondoSuccess);
                for (std::size_t i = 0; i < bytes; ++i)
                    ASSERT_EQ(data[i], static_cast<std::byte>(bytes * 3 + i)) << bytes;
            }
        }
    });
}

}  // namespace rondo::api::test
