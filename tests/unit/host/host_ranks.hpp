#pragma once
// Ranks on one domain that run plans through BoundPlan and Execution without a communicator: by one thread that lets
// them take turns at random, or by a thread each. Buffers are int32 with guards around them; results are compared with
// a reference that is written from the collectives' definitions.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/bound_plan.hpp"
#include "host/execution.hpp"
#include "plan/shapes.hpp"
#include "plan/traffic.hpp"
#include "transport/memory/domain.hpp"

namespace rondo::host::test {

using plan::Collective;

/// One operation of all ranks.
struct Job {
    const plan::Shape* shape = nullptr;
    plan::Facts facts{};
    std::int64_t count = 0;
    std::int64_t chunk = 1;  ///< elements of a part of a full tile
    ReduceOp op = ReduceOp::Sum;
};

constexpr std::int32_t kGuard = 0x5a5a5a5a;
constexpr std::size_t kGuards = 16;

/// Element `i` of the input of `rank`; sums of up to 64 ranks wrap, which int32 sums may.
inline std::int32_t input_of(Rank rank, std::int64_t i) {
    const auto mixed = static_cast<std::uint64_t>(i * 64 + rank + 1) * 0x9e3779b97f4a7c15U;
    return static_cast<std::int32_t>(mixed >> 32U);
}

/// Elements that rank `from` sends to rank `to` in an all_to_all_v with base size `count`: uneven, some of them none.
inline std::int64_t share_of(Rank from, Rank to, std::int64_t count) {
    const std::int64_t kind = (from * 5 + to * 3) % 4;
    return kind == 0 ? 0 : count * kind / 2 + (kind == 3 ? from : 0);
}

inline std::int64_t displacement(const std::vector<std::int64_t>& extents, Rank block) {
    std::int64_t sum = 0;
    for (Rank i = 0; i < block; ++i) sum += extents[static_cast<std::size_t>(i)];
    return sum;
}

/// One rank's side of a job: buffers, bound plan, what is expected.
class RankJob {
public:
    RankJob(const Job& job, Rank rank, std::uint64_t sequence, transport::FifoSource& fifos)
        : job_(job), rank_(rank), sequence_(sequence), bound_(job.shape->build(job.facts, rank), job.chunk * 4, fifos) {
        const Rank n = job.facts.nranks;
        if (v_form()) {
            for (Rank peer = 0; peer < n; ++peer) {
                sends_.push_back(share_of(rank, peer, job.count));
                receives_.push_back(share_of(peer, rank, job.count));
            }
        }
        const std::int64_t in = input_size();
        input_.assign(kGuards + static_cast<std::size_t>(in) + kGuards, kGuard);
        for (std::int64_t i = 0; i < in; ++i) input_[kGuards + static_cast<std::size_t>(i)] = input_of(rank, i);
        output_.assign(kGuards + static_cast<std::size_t>(output_size()) + kGuards, kGuard);
        scratch_.resize(static_cast<std::size_t>(bound_.plan().scratch_blocks * job.chunk * bound_.plan().parts) *
                        bound_.plan().channels.size());
    }

    void start(Execution& execution, transport::memory::Domain& domain) {
        const plan::Plan& plan = bound_.plan();
        blocks(sends_, input_, input_blocks_);
        blocks(receives_, output_, output_blocks_);
        const std::uint64_t signature = sequence_ * 0x9e3779b97f4a7c15U + 1;
        execution.launch() = {.sequence = sequence_,
                              .signature = signature,
                              .count = job_.count,
                              .element_bytes = 4,
                              .cut = cut(plan),
                              .kernel = reduce::kernel_for(DataType::Int32, job_.op),
                              .divisor = job_.op == ReduceOp::Avg ? static_cast<std::uint32_t>(plan.nranks) : 1,
                              .input = reinterpret_cast<const std::byte*>(input_.data() + kGuards),
                              .output = reinterpret_cast<std::byte*>(output_.data() + kGuards),
                              .scratch = reinterpret_cast<std::byte*>(scratch_.data()),
                              .input_blocks = input_blocks_,
                              .output_blocks = output_blocks_};
        domain.records(rank_).publish({.sequence = sequence_,
                                       .signature = signature,
                                       .input = input_.data() + kGuards,
                                       .output = output_.data() + kGuards});
        execution.start(bound_);
    }

    /// What is wrong with the output; "" if nothing.
    [[nodiscard]] std::string fault() const {
        const std::int64_t out = output_size();
        for (std::int64_t i = 0; i < out; ++i) {
            const std::int32_t found = output_[kGuards + static_cast<std::size_t>(i)];
            const std::int32_t right = expected(i);
            if (found != right) {
                return "rank " + std::to_string(rank_) + " element " + std::to_string(i) + " is " +
                       std::to_string(found) + " instead of " + std::to_string(right);
            }
        }
        for (std::size_t i = 0; i < kGuards; ++i) {
            for (const auto* buffer : {&input_, &output_}) {
                if ((*buffer)[i] != kGuard || (*buffer)[buffer->size() - 1 - i] != kGuard) return "a guard is broken";
            }
        }
        for (std::int64_t i = 0; i < input_size(); ++i) {
            if (input_[kGuards + static_cast<std::size_t>(i)] != input_of(rank_, i)) return "the input has changed";
        }
        return "";
    }

    [[nodiscard]] plan::PlannedTraffic planned() const {
        return plan::traffic_of(bound_.plan(), {.count = job_.count,
                                                .element_bytes = 4,
                                                .cut = cut(bound_.plan()),
                                                .input_extents = sends_,
                                                .output_extents = receives_});
    }

private:
    [[nodiscard]] bool v_form() const { return job_.shape->collective == Collective::AllToAllV; }

    [[nodiscard]] plan::Cut cut(const plan::Plan& plan) const {
        return {.chunk = job_.chunk,
                .parts = plan.parts,
                .channels = static_cast<std::int32_t>(plan.channels.size()),
                .align = job_.chunk % 4 == 0 ? 4 : 1};
    }

    [[nodiscard]] std::int64_t input_size() const {
        const Rank n = job_.facts.nranks;
        switch (job_.shape->collective) {
            case Collective::ReduceScatter:
            case Collective::AllToAll: return n * job_.count;
            case Collective::AllToAllV: return displacement(sends_, n);
            case Collective::Barrier: return 0;
            case Collective::Broadcast: return rank_ == job_.facts.root ? job_.count : 0;
            default: return job_.count;
        }
    }

    [[nodiscard]] std::int64_t output_size() const {
        const Rank n = job_.facts.nranks;
        switch (job_.shape->collective) {
            case Collective::AllGather:
            case Collective::AllToAll: return n * job_.count;
            case Collective::AllToAllV: return displacement(receives_, n);
            case Collective::Barrier: return 0;
            case Collective::Reduce: return rank_ == job_.facts.root ? job_.count : 0;
            default: return job_.count;
        }
    }

    [[nodiscard]] std::int32_t reduced(std::int64_t i) const {
        std::uint32_t sum = 0;
        std::int32_t largest = INT32_MIN;
        for (Rank rank = 0; rank < job_.facts.nranks; ++rank) {
            sum += static_cast<std::uint32_t>(input_of(rank, i));
            largest = std::max(largest, input_of(rank, i));
        }
        if (job_.op == ReduceOp::Max) return largest;
        return static_cast<std::int32_t>(sum) / (job_.op == ReduceOp::Avg ? job_.facts.nranks : 1);
    }

    [[nodiscard]] std::int32_t expected(std::int64_t i) const {
        const std::int64_t count = job_.count;
        switch (job_.shape->collective) {
            case Collective::Broadcast: return input_of(job_.facts.root, i);
            case Collective::AllGather: return input_of(static_cast<Rank>(i / count), i % count);
            case Collective::ReduceScatter: return reduced(rank_ * count + i);
            case Collective::AllToAll: return input_of(static_cast<Rank>(i / count), rank_ * count + i % count);
            case Collective::AllToAllV: {
                Rank from = 0;
                while (i >= receives_[static_cast<std::size_t>(from)]) i -= receives_[static_cast<std::size_t>(from++)];
                std::int64_t before = 0;
                for (Rank to = 0; to < rank_; ++to) before += share_of(from, to, count);
                return input_of(from, before + i);
            }
            default: return reduced(i);
        }
    }

    static void blocks(const std::vector<std::int64_t>& extents, std::vector<std::int32_t>& buffer,
                       std::vector<BlockExtent>& made) {
        made.clear();
        for (std::size_t block = 0; block < extents.size(); ++block) {
            auto* data = buffer.data() + kGuards + displacement(extents, static_cast<Rank>(block));
            const auto size = static_cast<std::uint64_t>(extents[block]);
            made.push_back({reinterpret_cast<std::byte*>(data), extents[block], size * 77 + 5});
        }
    }

    const Job job_;
    const Rank rank_;
    const std::uint64_t sequence_;
    BoundPlan bound_;
    std::vector<std::int64_t> sends_;
    std::vector<std::int64_t> receives_;
    std::vector<std::int32_t> input_;
    std::vector<std::int32_t> output_;
    std::vector<std::int32_t> scratch_;
    std::vector<BlockExtent> input_blocks_;
    std::vector<BlockExtent> output_blocks_;
};

/// A rank with the jobs that it runs one after another.
struct HostRank {
    HostRank(transport::memory::Domain& domain, Rank rank)
        : traffic(domain.nranks()), execution(domain, rank, traffic, true) {}
    Traffic traffic;
    Execution execution;
    std::vector<std::unique_ptr<RankJob>> jobs{};
    std::size_t next = 0;  ///< job to start
    bool running = false;
};

/// Slots that hold the messages of the job's plans, and windows that hold their scratch, of `slots` slots each.
inline std::size_t slot_bytes_for(const Job& job, std::uint32_t slots) {
    std::size_t bytes = 16;
    for (Rank rank = 0; rank < job.facts.nranks; ++rank) {
        const plan::Plan plan = job.shape->build(job.facts, rank);
        const auto element = static_cast<std::size_t>(job.chunk * 4);
        bytes = std::max(bytes, static_cast<std::size_t>(plan.message_parts) * element);
        if (!plan.window) continue;
        const std::size_t window =
            static_cast<std::size_t>(plan.scratch_blocks * plan.parts) * plan.channels.size() * element;
        bytes = std::max(bytes, window / transport::window_bytes(slots, 1) + 1);
    }
    return bytes;
}

class HostRanks {
public:
    HostRanks(Rank nranks, std::uint32_t slots, std::size_t slot_bytes, std::vector<Job> jobs)
        : domain_(nranks, slots, slot_bytes) {
        for (Rank rank = 0; rank < nranks; ++rank) {
            ranks_.push_back(std::make_unique<HostRank>(domain_, rank));
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                ranks_.back()->jobs.push_back(std::make_unique<RankJob>(jobs[i], rank, i + 1, domain_));
            }
        }
    }

    /// One thread, ranks in random turns, each running ahead into its next job as soon as it may.
    void run_by_turns(std::uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<std::size_t> open(ranks_.size());
        for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
        while (!open.empty()) {
            bool any = false;
            std::shuffle(open.begin(), open.end(), random);
            for (const std::size_t rank : open) any = step(*ranks_[rank]) || any;
            std::erase_if(open, [&](std::size_t rank) { return over(*ranks_[rank]); });
            ASSERT_TRUE(any || open.empty()) << "nobody can go on: " << open.size() << " ranks are stuck";
        }
    }

    void run_by_threads() {
        std::vector<std::thread> threads;
        for (const auto& rank : ranks_) {
            threads.emplace_back([this, &rank] {
                while (!over(*rank)) {
                    if (!step(*rank)) std::this_thread::yield();
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }

    /// Results right, guards whole, inputs untouched, traffic as planned.
    void check() {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            Traffic planned(domain_.nranks());
            for (std::size_t job = 0; job < ranks_[rank]->jobs.size(); ++job) {
                ASSERT_EQ(ranks_[rank]->jobs[job]->fault(), "") << "job " << job;
                const plan::PlannedTraffic more = ranks_[rank]->jobs[job]->planned();
                for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
                    planned.sent_bytes[peer] += more.sent_bytes[peer];
                    planned.sent_messages[peer] += more.sent_messages[peer];
                    planned.direct_bytes[peer] += more.direct_bytes[peer];
                }
            }
            ASSERT_EQ(ranks_[rank]->traffic.sent_bytes, planned.sent_bytes) << "rank " << rank;
            ASSERT_EQ(ranks_[rank]->traffic.sent_messages, planned.sent_messages) << "rank " << rank;
            ASSERT_EQ(ranks_[rank]->traffic.direct_bytes, planned.direct_bytes) << "rank " << rank;
        }
    }

private:
    static bool over(const HostRank& rank) { return !rank.running && rank.next == rank.jobs.size(); }

    bool step(HostRank& rank) {
        if (!rank.running) {
            if (over(rank)) return false;
            rank.jobs[rank.next++]->start(rank.execution, domain_);
            rank.running = true;
            return true;
        }
        const bool any = rank.execution.progress();
        if (rank.execution.state() == State::Running) return any;
        EXPECT_EQ(rank.execution.state(), State::Done) << "differs with rank " << rank.execution.disagreement().peer;
        rank.running = false;
        return true;
    }

    transport::memory::Domain domain_;
    std::vector<std::unique_ptr<HostRank>> ranks_;
};

}  // namespace rondo::host::test
