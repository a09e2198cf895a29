// Random traffic of tagged messages, checked against what every rank knows was sent.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "message_ranks.hpp"

namespace rondo::api::test {

namespace {

struct Sent {
    int source = 0;
    int destination = 0;
    int tag = 0;
    std::size_t bytes = 0;
    std::uint64_t key = 0;  // of its values
};

using Random = std::mt19937_64;

std::size_t draw_bytes(Random& random) {
    switch (random() % 8) {
        case 0: return 0;
        case 1: return random() % 80;
        case 2: return 70 + random() % 60;
        case 3: return 131072 - 40 + random() % 80;  // about a slot
        case 4: return 262144 + random() % 300'000;
        default: return random() % 5000;
    }
}

/// The messages of one round, in the order in which each source sends them.
std::vector<Sent> draw_round(Random& random, int nranks, std::uint64_t& keys) {
    std::vector<Sent> round(1 + random() % 20);
    for (Sent& sent : round) {
        sent.source = static_cast<int>(random() % static_cast<unsigned>(nranks));
        sent.destination = static_cast<int>(random() % static_cast<unsigned>(nranks));
        sent.tag = static_cast<int>(random() % 3);
        sent.bytes = draw_bytes(random);
        sent.key = ++keys;
    }
    return round;
}

/// What one rank has still to receive: for each source and tag in the order of the sends.
class Model {
public:
    Model(const std::vector<Sent>& round, int rank) {
        for (const Sent& sent : round) {
            if (sent.destination == rank) left_[{sent.source, sent.tag}].push_back(sent);
        }
    }

    [[nodiscard]] bool take(const std::vector<std::uint8_t>& data, const rondoMessage_t& message) {
        std::deque<Sent>& queue = left_[{message.source, message.tag}];
        if (queue.empty()) return false;
        // Of those with one source and tag only the first may come, unless what came is not in order.
        const Sent sent = queue.front();
        queue.pop_front();
        if (message.bytes != sent.bytes) return false;
        for (std::size_t i = 0; i < data.size(); ++i) {
            if (data[i] != (i < sent.bytes ? byte_of(sent.key, i) : 0xee)) return false;
        }
        return true;
    }

    [[nodiscard]] bool empty() const {
        return std::ranges::all_of(left_, [](const auto& entry) { return entry.second.empty(); });
    }

private:
    std::map<std::pair<int, int>, std::deque<Sent>> left_;
};

enum class Wild { None, Source, Tag, Both };

struct Posted {
    std::vector<std::uint8_t> data;
    rondoMessage_t message{};
};

/// One rank's part of a round: sends on streams of their own or in a group, receives blocking, on streams, or in the
/// group; those of one kind of wildcard, so that none takes what another one needs.
class Part {
public:
    Part(rondoComm_t comm, int rank, const std::vector<Sent>& round, Random& random)
        : comm_(comm), rank_(rank), round_(round), random_(random), model_(round, rank) {}

    void run() {
        const bool grouped = random_() % 3 == 0;
        const bool receives_first = random_() % 2 == 0;
        if (grouped) {
            EXPECT_EQ(rondoGroupStart(), rondoSuccess);
        }
        if (receives_first) post_receives(grouped);
        post_sends(grouped);
        if (!receives_first) post_receives(grouped);
        if (grouped) {
            EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
        }
        for (const auto& stream : streams_) {
            EXPECT_EQ(rondoStreamSynchronize(stream->get()), rondoSuccess) << rondoGetLastError(comm_);
        }
        for (const auto& posted : posted_) {
            EXPECT_TRUE(model_.take(posted->data, posted->message))
                << "rank " << rank_ << ", source " << posted->message.source << ", tag " << posted->message.tag << ", "
                << posted->message.bytes << " bytes";
        }
        EXPECT_TRUE(model_.empty());
    }

private:
    rondoStream_t stream() {
        streams_.push_back(std::make_unique<OwnStream>());
        return streams_.back()->get();
    }

    void post_sends(bool grouped) {
        for (const Sent& sent : round_) {
            if (sent.source != rank_) continue;
            sources_.push_back(std::make_unique<std::vector<std::uint8_t>>(values(sent.key, sent.bytes)));
            EXPECT_EQ(send(comm_, *sources_.back(), sent.destination, sent.tag, grouped ? nullptr : stream()),
                      rondoSuccess)
                << rondoGetLastError(nullptr);
        }
    }

    void post_receives(bool grouped) {
        std::vector<Sent> wanted;
        for (const Sent& sent : round_) {
            if (sent.destination == rank_) wanted.push_back(sent);
        }
        const bool blocking = !grouped && sends_are_posted();
        const auto wild = static_cast<Wild>(random_() % 4);
        // Across sources and tags in any order; the buffers are long enough for whichever comes.
        std::shuffle(wanted.begin(), wanted.end(), random_);
        std::size_t room = 0;
        for (const Sent& sent : wanted) room = std::max(room, sent.bytes);
        for (const Sent& sent : wanted) {
            posted_.push_back(std::make_unique<Posted>());
            Posted& posted = *posted_.back();
            posted.data.assign(room, 0xee);
            const int source = wild == Wild::Source || wild == Wild::Both ? RONDO_ANY_SOURCE : sent.source;
            const int tag = wild == Wild::Tag || wild == Wild::Both ? RONDO_ANY_TAG : sent.tag;
            EXPECT_EQ(rondoRecvTagged(posted.data.data(), room, rondoUint8, source, tag, comm_, &posted.message,
                                      grouped || blocking ? nullptr : stream()),
                      rondoSuccess)
                << rondoGetLastError(nullptr);
        }
    }

    /// Then receives may block.
    [[nodiscard]] bool sends_are_posted() const {
        return !sources_.empty() ||
               std::ranges::none_of(round_, [this](const Sent& sent) { return sent.source == rank_; });
    }

    rondoComm_t comm_;
    int rank_;
    const std::vector<Sent>& round_;
    Random& random_;
    Model model_;
    std::vector<std::unique_ptr<std::vector<std::uint8_t>>> sources_;
    std::vector<std::unique_ptr<Posted>> posted_;
    std::vector<std::unique_ptr<OwnStream>> streams_;
};

class TaggedTraffic : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Over, TaggedTraffic,
                         ::testing::Combine(::testing::Values("memory", "tcp"), ::testing::Values(2, 3, 5)),
                         [](const auto& given) {
                             return std::string(std::get<0>(given.param)) + std::to_string(std::get<1>(given.param));
                         });

TEST_P(TaggedTraffic, IsWhatTheModelSays) {
    const auto [transport, nranks] = GetParam();
    const TransportSetting setting(transport);
    const int count = nranks;
    std::cout << "seed " << seed() << " (RONDO_TESTS_SEED)\n";
    const Ranks ranks(count, with_timeout(60));
    ranks.run([count](int rank, rondoComm_t comm) {
        Random shared(seed());  // the same on every rank
        Random own(seed() * 1000 + static_cast<unsigned>(rank));
        std::uint64_t keys = 0;
        for (int i = 0; i < 60; ++i) {
            const std::vector<Sent> round = draw_round(shared, count, keys);
            Part(comm, rank, round, own).run();
            if (shared() % 3 == 0) {
                std::int32_t sum = rank + i;
                ASSERT_EQ(rondoAllReduce(&sum, &sum, 1, rondoInt32, rondoSum, comm, nullptr), rondoSuccess);
                ASSERT_EQ(sum, count * i + count * (count - 1) / 2);
            }
            // A wildcard must not take what the next round sends.
            ASSERT_EQ(rondoBarrier(comm, nullptr), rondoSuccess) << rondoGetLastError(comm);
            if (::testing::Test::HasFailure()) break;
        }
    });
}

}  // namespace rondo::api::test
