// Plans over connections: each rank has a Network of its own, and what plans need besides FIFOs (call records) lies in
// one domain. Ranks are driven by one thread in random turns or by a thread each, as a communicator drives them: the
// executor, then the network, until both are done.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tcp_networks.hpp"
#include "unit/host/host_ranks.hpp"

namespace rondo::transport::tcp::test {

namespace {

using host::test::HostRank;
using host::test::Job;
using host::test::RankJob;
using plan::Algorithm;
using plan::Collective;

struct RanksSetup {
    Rank nranks = 2;
    std::uint32_t slots = 2;
    std::int64_t chunk = 40;  ///< elements of int32
    int flows = 1;
    int buffer = 0;
};

std::size_t slot_bytes_for(const std::vector<Job>& jobs, Rank nranks) {
    std::int64_t most = 1;
    for (const Job& job : jobs) {
        for (Rank rank = 0; rank < nranks; ++rank) {
            most = std::max<std::int64_t>(most, job.shape->build(job.facts, rank).message_parts * job.chunk * 4);
        }
    }
    return static_cast<std::size_t>(most);
}

/// A rank's FIFOs to itself and to ranks of its host in memory, the others over connections.
class Routes final : public FifoSource {
public:
    Routes(Rank rank, memory::Domain& domain, Network& network, std::vector<Rank> host)
        : rank_(rank), domain_(domain), network_(network), host_(std::move(host)) {}
    memory::Fifo& fifo(int channel, Rank source, Rank destination, int tag, bool long_messages) override {
        const Rank peer = source == rank_ ? destination : source;
        FifoSource& chosen = peer == rank_ || std::ranges::find(host_, peer) != host_.end()
                                 ? static_cast<FifoSource&>(domain_)
                                 : network_;
        return chosen.fifo(channel, source, destination, tag, long_messages);
    }
    [[nodiscard]] std::size_t slot_bytes() const noexcept override { return domain_.slot_bytes(); }

private:
    const Rank rank_;
    memory::Domain& domain_;
    Network& network_;
    const std::vector<Rank> host_;  // the ranks of this one's
};

std::vector<Rank> host_of(Rank rank, const std::vector<std::vector<Rank>>& hosts) {
    for (const std::vector<Rank>& host : hosts) {
        if (std::ranges::find(host, rank) != host.end()) return host;
    }
    return {rank};
}

class Ranks {
public:
    Ranks(const RanksSetup& setup, const std::vector<Job>& jobs)
        : domain_(setup.nranks, setup.slots, slot_bytes_for(jobs, setup.nranks)),
          networks_(setup.nranks, setup.slots, domain_.slot_bytes(), setup.flows, Wire::Loopback, setup.buffer),
          longest_(jobs.front().facts.hosts.empty() ? 2'000'000 : 500) {
        for (Rank rank = 0; rank < setup.nranks; ++rank) {
            ranks_.push_back(std::make_unique<HostRank>(domain_, rank));
            Routes routes(rank, domain_, networks_[rank], host_of(rank, jobs.front().facts.hosts));
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                ranks_.back()->jobs.push_back(std::make_unique<RankJob>(jobs[i], rank, i + 1, routes));
            }
        }
    }

    void run_by_turns(std::uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<Rank> open(ranks_.size());
        std::iota(open.begin(), open.end(), 0);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!open.empty()) {
            std::shuffle(open.begin(), open.end(), random);
            for (const Rank rank : open) {
                step(rank);
                // A rank that is done is driven no more, as if its program did something else.
                if (random() % 4 == 0) break;
            }
            std::erase_if(open, [&](Rank rank) { return over(rank); });
            ASSERT_LT(std::chrono::steady_clock::now(), end) << open.size() << " ranks are stuck";
        }
    }

    void run_by_threads() {
        std::vector<std::thread> threads;
        for (Rank rank = 0; rank < domain_.nranks(); ++rank) {
            threads.emplace_back([this, rank] {
                const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                while (!over(rank) && std::chrono::steady_clock::now() < end) {
                    if (!step(rank)) networks_[rank].wait(longest_);
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }

    void check() {
        for (Rank rank = 0; rank < domain_.nranks(); ++rank) {
            ASSERT_TRUE(over(rank)) << "rank " << rank << " is stuck";
            ASSERT_FALSE(networks_[rank].lost().has_value()) << networks_[rank].lost()->text;
            const auto& jobs = ranks_[static_cast<std::size_t>(rank)]->jobs;
            for (std::size_t job = 0; job < jobs.size(); ++job) ASSERT_EQ(jobs[job]->fault(), "") << "job " << job;
        }
    }

private:
    [[nodiscard]] bool over(Rank rank) {
        const HostRank& one = *ranks_[static_cast<std::size_t>(rank)];
        return !one.running && one.next == one.jobs.size();
    }

    bool step(Rank rank) {
        HostRank& one = *ranks_[static_cast<std::size_t>(rank)];
        if (!one.running) {
            if (over(rank)) return false;
            one.jobs[one.next++]->start(one.execution, domain_);
            one.running = true;
        }
        bool any = one.execution.progress();
        any = networks_[rank].progress() || any;
        EXPECT_NE(one.execution.state(), host::State::Mismatch);
        if (one.execution.state() != host::State::Running && networks_[rank].flushed()) {
            one.running = false;
            return true;
        }
        return any;
    }

    memory::Domain domain_;
    Networks networks_;
    // Messages in memory ring another bell.
    const std::chrono::microseconds longest_;
    std::vector<std::unique_ptr<HostRank>> ranks_;
};

std::vector<Job> jobs_of(const plan::Shape& shape, const RanksSetup& setup) {
    plan::Facts facts{.nranks = setup.nranks, .slots = static_cast<std::int32_t>(setup.slots)};
    if (!shape.serves(facts) && setup.nranks == 4) facts.hosts = {{0, 2}, {3, 1}};
    if (!shape.serves(facts)) return {};
    const std::int64_t tile = setup.chunk * shape.build(facts, 0).parts;
    std::vector<std::int64_t> counts{1, tile, 9 * tile + 3, 0, 2 * tile + 1};
    if (shape.collective == Collective::Barrier) counts = {1, 1, 1};
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        Job job{.shape = &shape, .facts = facts, .count = counts[i], .chunk = setup.chunk};
        if (plan::rooted(shape.collective)) job.facts.root = static_cast<Rank>(i) % setup.nranks;
        jobs.push_back(job);
    }
    return jobs;
}

std::vector<const plan::Shape*> shapes_over_connections() {
    std::vector<const plan::Shape*> shapes;
    for (const plan::Shape& shape : plan::shapes()) {
        if (!shape.needs.multicast && !shape.needs.windows && !shape.needs.peer_reads && !shape.needs.peer_memory)
            shapes.push_back(&shape);
    }
    return shapes;
}

class TcpPlans : public testing::TestWithParam<const plan::Shape*> {
protected:
    template <class Run>
    void for_each_setup(Run run) {
        int cases = 0;
        for (const Rank nranks : {2, 3, 4}) {
            for (const RanksSetup& setup :
                 {RanksSetup{.nranks = nranks, .slots = 1, .chunk = 4},
                  RanksSetup{.nranks = nranks, .slots = 2, .chunk = 300, .flows = 2, .buffer = 4096},
                  RanksSetup{.nranks = nranks, .slots = 4, .chunk = 20'000, .flows = 3}}) {
                const std::vector<Job> jobs = jobs_of(*GetParam(), setup);
                if (jobs.empty()) continue;
                SCOPED_TRACE(std::to_string(nranks) + " ranks, " + std::to_string(setup.slots) + " slots, " +
                             std::to_string(setup.flows) + " connections");
                Ranks ranks(setup, jobs);
                run(ranks);
                if (HasFatalFailure()) return;
                ranks.check();
                if (HasFatalFailure()) return;
                ++cases;
            }
        }
        EXPECT_GT(cases, 0);
    }
};

}  // namespace

TEST_P(TcpPlans, RunByTurns) {
    std::uint32_t seed = 1;
    for_each_setup([&](Ranks& ranks) { ranks.run_by_turns(++seed); });
}

TEST_P(TcpPlans, RunByThreads) {
    for_each_setup([](Ranks& ranks) { ranks.run_by_threads(); });
}

INSTANTIATE_TEST_SUITE_P(Shapes, TcpPlans, testing::ValuesIn(shapes_over_connections()), [](const auto& shape) {
    return std::string(name_of(shape.param->collective)) + "_" + std::string(name_of(shape.param->algorithm));
});

// Different collectives one after another over the same FIFOs, ranks running ahead.
TEST(TcpPlansMixed, FollowEachOther) {
    std::mt19937 random(3);
    const auto shapes = shapes_over_connections();
    for (const Rank nranks : {2, 3, 4}) {
        std::vector<Job> jobs;
        while (jobs.size() < 40) {
            const plan::Shape* shape = shapes[random() % shapes.size()];
            plan::Facts facts{.nranks = nranks};
            if (plan::rooted(shape->collective))
                facts.root = static_cast<Rank>(random() % static_cast<unsigned>(nranks));
            if (!shape->serves(facts)) continue;
            const bool barrier = shape->collective == Collective::Barrier;
            jobs.push_back({.shape = shape,
                            .facts = facts,
                            .count = barrier ? 1 : static_cast<std::int64_t>(random() % 3000),
                            .chunk = 1 + static_cast<std::int64_t>(random() % 200)});
        }
        Ranks turns({.nranks = nranks, .slots = 2, .flows = 2}, jobs);
        turns.run_by_turns(static_cast<std::uint32_t>(nranks));
        turns.check();
        Ranks threads({.nranks = nranks, .slots = 2, .flows = 2}, jobs);
        threads.run_by_threads();
        threads.check();
    }
}

// --- Groups of sends and receives ------------------------------------------------------------------------------------

namespace {

constexpr int kMessages = 3;  // from each rank to each other

std::int64_t size_of_transfer(Rank from, Rank to, int number) { return (from * 7 + to * 3 + number) % 4 * 700; }

std::int32_t element_of(Rank from, Rank to, int number, std::int64_t i) {
    return static_cast<std::int32_t>(((from * 8 + to) * 8 + number) * 100'000 + i);
}

/// One rank's group: its operations in an order of its own, their buffers.
struct GroupRank {
    GroupRank(Rank own, Rank nranks, Networks& networks, memory::Domain& domain)
        : rank(own), traffic(nranks), execution(domain, own, traffic, false) {
        std::vector<plan::GroupOp> ops;
        std::vector<int> numbers;
        for (int number = 0; number < kMessages; ++number) {
            for (Rank step = 1; step < nranks; ++step) {
                const Rank peer = (rank + step * (rank % 2 == 0 ? 1 : nranks - 1)) % nranks;
                for (const bool send : {rank % 2 == 0, rank % 2 != 0}) {
                    ops.push_back({.peer = peer, .send = send});
                    numbers.push_back(number);
                }
            }
        }
        buffers.resize(ops.size());
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Rank from = ops[i].send ? rank : ops[i].peer;
            const Rank to = ops[i].send ? ops[i].peer : rank;
            const std::int64_t size = size_of_transfer(from, to, numbers[i]);
            for (std::int64_t e = 0; e < size; ++e) {
                expected.push_back(element_of(from, to, numbers[i], e));
                buffers[i].push_back(ops[i].send ? expected.back() : -1);
            }
            const host::BlockExtent block{reinterpret_cast<std::byte*>(buffers[i].data()), size,
                                          static_cast<std::uint64_t>(size + 1)};
            (ops[i].send ? sends : receives).resize(ops.size());
            (ops[i].send ? sends : receives)[i] = block;
        }
        bound = std::make_unique<host::BoundPlan>(plan::build_group(nranks, rank, ops), 400, networks[rank]);
        execution.launch() = {.sequence = 1,
                              .signature = 5,
                              .element_bytes = 4,
                              .cut = {.chunk = 100},
                              .kernel = reduce::kernel_for(DataType::Int32, ReduceOp::Sum),
                              .input_blocks = sends,
                              .output_blocks = receives};
        execution.start(*bound);
    }

    [[nodiscard]] bool right() const {
        std::vector<std::int32_t> all;
        for (const auto& buffer : buffers) all.insert(all.end(), buffer.begin(), buffer.end());
        return all == expected;
    }

    Rank rank;
    host::Traffic traffic;
    host::Execution execution;
    std::unique_ptr<host::BoundPlan> bound;
    std::vector<std::vector<std::int32_t>> buffers;
    std::vector<std::int32_t> expected;
    std::vector<host::BlockExtent> sends;
    std::vector<host::BlockExtent> receives;
};

}  // namespace

TEST(TcpGroups, SendAndReceiveInWhateverOrder) {
    for (const Rank nranks : {2, 3, 4}) {
        memory::Domain domain(nranks, 2, 400);
        Networks networks(nranks, 2, 400, 2, Wire::Loopback, 4096);
        std::vector<std::unique_ptr<GroupRank>> ranks;
        for (Rank rank = 0; rank < nranks; ++rank) {
            ranks.push_back(std::make_unique<GroupRank>(rank, nranks, networks, domain));
        }
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        std::size_t done = 0;
        while (done < ranks.size()) {
            done = 0;
            for (const auto& one : ranks) {
                one->execution.progress();
                networks[one->rank].progress();
                done += one->execution.state() == host::State::Done && networks[one->rank].flushed() ? 1 : 0;
            }
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "stuck";
        }
        for (const auto& one : ranks) EXPECT_TRUE(one->right()) << "rank " << one->rank << " of " << nranks;
    }
}

}  // namespace rondo::transport::tcp::test
