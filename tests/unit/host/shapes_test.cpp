// Every shape that host memory can run, executed: by one thread in random turns and by a thread for each rank, with few
// slots and short ones, so that there are many tiles and every FIFO is full at times.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "host_ranks.hpp"

namespace rondo::host::test {

namespace {

/// Layouts of hosts that a shape may be built for, flat first.
std::vector<std::vector<std::vector<Rank>>> layouts(Rank nranks) {
    std::vector<std::vector<std::vector<Rank>>> made{{}};
    for (const Rank per_host : {2, 3, 4}) {
        if (nranks % per_host != 0 || nranks == per_host) continue;
        std::vector<std::vector<Rank>> neighbours(static_cast<std::size_t>(nranks / per_host));
        std::vector<std::vector<Rank>> scattered(neighbours.size());
        for (Rank rank = 0; rank < nranks; ++rank) {
            neighbours[static_cast<std::size_t>(rank / per_host)].push_back(rank);
            scattered[static_cast<std::size_t>(rank) % scattered.size()].push_back(rank);
        }
        made.push_back(neighbours);
        made.push_back(scattered);
    }
    return made;
}

std::vector<const plan::Shape*> host_shapes() {
    std::vector<const plan::Shape*> shapes;
    for (const plan::Shape& shape : plan::shapes()) {
        if (!shape.needs.multicast) shapes.push_back(&shape);
    }
    return shapes;
}

/// Jobs of one shape that follow each other without a pause: from nothing to many tiles with tails.
std::vector<Job> jobs_of(const plan::Shape& shape, const plan::Facts& facts, std::int64_t chunk) {
    const plan::Plan plan = shape.build(facts, 0);
    const std::int64_t tile = chunk * plan.parts * static_cast<std::int64_t>(plan.channels.size());
    std::vector<std::int64_t> counts{0, 1, tile, 7 * tile + 3, std::max<std::int64_t>(tile - 1, 2), 2 * tile + 1};
    if (shape.collective == Collective::Barrier) counts = {1, 1, 1, 1};
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        Job job{.shape = &shape, .facts = facts, .count = counts[i], .chunk = chunk};
        if (plan::reduces(shape.collective)) job.op = std::array{ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Max}[i % 3];
        if (plan::rooted(shape.collective)) job.facts.root = static_cast<Rank>(i) % facts.nranks;
        jobs.push_back(job);
    }
    return jobs;
}

class HostShape : public testing::TestWithParam<const plan::Shape*> {
protected:
    /// Calls run(nranks, slots, slot bytes, jobs, name) for every combination.
    template <class Run>
    void for_each_case(std::initializer_list<Rank> rank_counts, Run run) {
        const plan::Shape& shape = *GetParam();
        for (const Rank nranks : rank_counts) {
            for (const auto& hosts : layouts(nranks)) {
                for (const std::uint32_t slots : {1U, 2U, 4U}) {
                    // Chunk 4: messages in lines; 40: beyond a line, in slots.
                    const std::int64_t chunk = slots == 2 ? 40 : 4;
                    const plan::Facts facts{.nranks = nranks,
                                            .channels = slots == 4 ? 2 : 1,
                                            .hosts = hosts,
                                            .slots = static_cast<std::int32_t>(slots)};
                    if (!shape.serves(facts)) continue;
                    const std::vector<Job> jobs = jobs_of(shape, facts, chunk);
                    const std::size_t message = slot_bytes_for(jobs.front(), slots);
                    SCOPED_TRACE(std::to_string(nranks) + " ranks, " + std::to_string(hosts.size()) + " hosts, " +
                                 std::to_string(slots) + " slots of " + std::to_string(message) + " bytes");
                    run(nranks, slots, message, jobs);
                    if (HasFatalFailure()) return;
                    ++cases_;
                }
            }
        }
        EXPECT_GT(cases_, 0);
    }

    int cases_ = 0;
};

}  // namespace

TEST_P(HostShape, RunsByTurns) {
    std::uint32_t seed = 1;
    for_each_case({1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16},
                  [&](Rank nranks, std::uint32_t slots, std::size_t slot_bytes, const std::vector<Job>& jobs) {
                      HostRanks ranks(nranks, slots, slot_bytes, jobs);
                      ranks.run_by_turns(++seed);
                      if (!HasFatalFailure()) ranks.check();
                  });
}

TEST_P(HostShape, RunsByThreads) {
    for_each_case({1, 2, 3, 4, 6, 8},
                  [&](Rank nranks, std::uint32_t slots, std::size_t slot_bytes, const std::vector<Job>& jobs) {
                      HostRanks ranks(nranks, slots, slot_bytes, jobs);
                      ranks.run_by_threads();
                      if (!HasFatalFailure()) ranks.check();
                  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, HostShape, testing::ValuesIn(host_shapes()), [](const auto& shape) {
    return std::string(name_of(shape.param->collective)) + "_" + std::string(name_of(shape.param->algorithm));
});

// Different collectives and algorithms share FIFOs, counters and domain: ranks run ahead from one into the next.
TEST(HostShapes, FollowEachOtherOnOneDomain) {
    std::mt19937 random(7);
    for (const Rank nranks : {2, 3, 5, 8}) {
        for (const std::uint32_t slots : {1U, 3U}) {
            std::vector<Job> jobs;
            std::size_t slot_bytes = 0;
            for (int i = 0; i < 40; ++i) {
                const auto shapes = host_shapes();
                const plan::Shape* shape = shapes[random() % shapes.size()];
                plan::Facts facts{.nranks = nranks};
                if (plan::rooted(shape->collective)) {
                    facts.root = static_cast<Rank>(random() % static_cast<std::uint32_t>(nranks));
                }
                if (!shape->serves(facts)) continue;
                const std::int64_t count =
                    shape->collective == Collective::Barrier ? 1 : static_cast<std::int64_t>(random() % 500);
                jobs.push_back({.shape = shape,
                                .facts = facts,
                                .count = count,
                                .chunk = 1 + static_cast<std::int64_t>(random() % 40)});
                slot_bytes = std::max(slot_bytes, slot_bytes_for(jobs.back(), slots));
            }
            HostRanks turns(nranks, slots, slot_bytes, jobs);
            turns.run_by_turns(static_cast<std::uint32_t>(random()));
            turns.check();
            HostRanks threads(nranks, slots, slot_bytes, jobs);
            threads.run_by_threads();
            threads.check();
        }
    }
}

}  // namespace rondo::host::test
