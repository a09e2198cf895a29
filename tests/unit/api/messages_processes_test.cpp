// Tagged messages between processes, and what becomes of them when one dies.

#include <gtest/gtest.h>

#include <memory>

#include "message_ranks.hpp"
#include "unit/bootstrap/processes.hpp"

namespace rondo::api::test {

namespace {

using bootstrap::Child;

constexpr int kRanks = 3;

/// What a rank does with its communicator; a text for its parent: "" where all is well.
using Body = std::string (*)(int rank, rondoComm_t comm);

void tell(int out, const std::string& line) {
    const std::string text = line + "\n";
    static_cast<void>(::write(out, text.data(), text.size()) == 0);
}

void be_rank(int out, int rank, const rondoUniqueId& id, Body body) {
    rondoComm_t comm = nullptr;
    rondoConfig_t config = with_timeout(30);
    if (rondoCommInitRankConfig(&comm, kRanks, id, rank, &config) != rondoSuccess) {
        tell(out, rondoGetLastError(nullptr));
        return;
    }
    tell(out, "joined");
    const std::string text = body(rank, comm);
    tell(out, text.empty() ? "well" : text);
    if (rondoCommDestroy(comm) != rondoSuccess) tell(out, "destroy failed");
}

/// Rank 0 makes the id.
class Processes {
public:
    explicit Processes(Body body) {
        ranks_.push_back(std::make_unique<Child>([body](int, int out) {
            rondoUniqueId id;
            if (rondoGetUniqueId(&id) != rondoSuccess) std::abort();
            static_cast<void>(::write(out, id.internal, sizeof(id.internal)) == 0);
            be_rank(out, 0, id, body);
        }));
        rondoUniqueId id{};
        ranks_[0]->read_bytes(id.internal, sizeof(id.internal));
        for (int rank = 1; rank < kRanks; ++rank) {
            ranks_.push_back(std::make_unique<Child>([rank, id, body](int, int out) { be_rank(out, rank, id, body); }));
        }
        for (const auto& child : ranks_) EXPECT_EQ(child->line(30), "joined");
    }

    [[nodiscard]] Child& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

private:
    std::vector<std::unique_ptr<Child>> ranks_;
};

std::string exchange(int rank, rondoComm_t comm) {
    const int right = (rank + 1) % kRanks;
    const int left = (rank + 2) % kRanks;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{112}, std::size_t{113},
                                    std::size_t{131072}, std::size_t{131073}, std::size_t{10} << 20U}) {
        const auto own = static_cast<std::uint64_t>(rank);
        const std::vector<std::uint8_t> to_right = values(own, bytes);
        const std::vector<std::uint8_t> to_left = values(own + 50, bytes);
        const OwnStream one;
        const OwnStream two;
        if (send(comm, to_right, right, 1, one.get()) != rondoSuccess) return "send";
        if (send(comm, to_left, left, 2, two.get()) != rondoSuccess) return "send";
        if (!receive(comm, bytes, right, 2).is(static_cast<std::uint64_t>(right) + 50, bytes)) return "from the right";
        if (!receive(comm, bytes, RONDO_ANY_SOURCE, 1).is(static_cast<std::uint64_t>(left), bytes)) return "from left";
        if (rondoStreamSynchronize(one.get()) != rondoSuccess) return rondoGetLastError(comm);
        if (rondoStreamSynchronize(two.get()) != rondoSuccess) return rondoGetLastError(comm);
        std::int32_t sum = rank;
        if (rondoAllReduce(&sum, &sum, 1, rondoInt32, rondoSum, comm, nullptr) != rondoSuccess || sum != 3) {
            return std::string("all-reduce: ") + rondoGetLastError(comm);
        }
    }
    return "";
}

/// Ranks 0 and 1 wait for rank 2, which does nothing.
std::string wait_for_the_last(int rank, rondoComm_t comm) {
    if (rank == 2) {
        std::this_thread::sleep_for(std::chrono::seconds(60));
        return "";
    }
    const std::vector<std::uint8_t> data = values(1, 3'000'000);
    const Outcome outcome =
        outcome_of([&] { return rank == 0 ? receive(comm, 10, 2, 1).result : send(comm, data, 2, 1); });
    return std::to_string(outcome.result) + " " + outcome.text;
}

class TaggedProcesses : public ::testing::TestWithParam<const char*> {
protected:
    const TransportSetting transport_{GetParam()};
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Over, TaggedProcesses, ::testing::Values("memory", "tcp"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(TaggedProcesses, ExchangeInRingsBetweenCollectives) {
    Processes ranks(exchange);
    for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(ranks[rank].line(60), "well") << rank;
        EXPECT_EQ(ranks[rank].wait_for_exit(10), 0) << rank;
    }
}

TEST_P(TaggedProcesses, ADeadPeerIsNamed) {
    Processes ranks(wait_for_the_last);
    const std::string dead = "pid " + std::to_string(ranks[2].pid());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ranks[2].kill();
    for (int rank = 0; rank < 2; ++rank) {
        const std::string line = ranks[rank].line(5);
        EXPECT_EQ(line.substr(0, 2), std::to_string(rondoRemoteError) + " ") << line;
        EXPECT_NE(line.find("rank 2"), std::string::npos) << line;
        EXPECT_NE(line.find(dead), std::string::npos) << line;
        EXPECT_EQ(ranks[rank].wait_for_exit(10), 0) << rank;
    }
}

}  // namespace rondo::api::test
