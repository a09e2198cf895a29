// Each collective by Rondo and by MPI, on the same inputs, in the ranks that mpirun started. MPI carries Rondo's unique
// id and nothing else of it. Prints one line for each collective; the exit status is 0 when all results agree.

#include <mpi.h>
#include <rondo/rondo.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "values.hpp"

namespace rondo::test {
namespace {

using Buffer = std::vector<std::byte>;

constexpr std::byte kGuard{0xA5};
constexpr std::size_t kGuardBytes = 64;

/// Bytes between guards, filled with what no result has.
class Guarded {
public:
    explicit Guarded(std::size_t bytes) : memory_(bytes + 2 * kGuardBytes, kGuard) {}
    [[nodiscard]] std::byte* data() noexcept { return memory_.data() + kGuardBytes; }
    [[nodiscard]] std::size_t size() const noexcept { return memory_.size() - 2 * kGuardBytes; }
    [[nodiscard]] bool whole() const noexcept {
        const auto is_guard = [](std::byte byte) { return byte == kGuard; };
        return std::all_of(memory_.begin(), memory_.begin() + kGuardBytes, is_guard) &&
               std::all_of(memory_.end() - kGuardBytes, memory_.end(), is_guard);
    }

private:
    Buffer memory_;
};

class Comparison {
public:
    Comparison(rondoComm_t comm, int rank, int nranks) : comm_(comm), rank_(rank), nranks_(nranks) {}

    /// Runs one collective's cases; true if all agree on all ranks.
    bool run(const char* name, const std::function<void(Comparison&)>& cases) {
        name_ = name;
        cases_ = 0;
        wrong_ = 0;
        cases(*this);
        int all = 0;
        MPI_Allreduce(&wrong_, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank_ == 0)
            std::printf("%-16s %5d cases, %d ranks: %s\n", name, cases_, nranks_, all == 0 ? "ok" : "WRONG");
        std::fflush(stdout);
        return all == 0;
    }

    void expect(rondoResult_t result, const std::string& what) {
        if (result == rondoSuccess) return;
        std::fprintf(stderr, "rank %d: %s %s: %s\n", rank_, name_, what.c_str(), rondoGetLastError(comm_));
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }

    void compare(const Type& type, const Op& op, std::size_t count, Guarded& mine, const Buffer& theirs,
                 const std::string& what) {
        const std::size_t at = first_difference(type, op, count, mine.data(), theirs.data());
        if (at != count) complain(what + ": differs from MPI at element " + std::to_string(at));
        if (!mine.whole()) complain(what + ": bytes outside of the buffer were written");
    }

    void complain(const std::string& text) {
        if (++wrong_ <= 5) std::fprintf(stderr, "rank %d: %s %s\n", rank_, name_, text.c_str());
    }

    std::uint64_t next() { return static_cast<std::uint64_t>(++cases_); }
    [[nodiscard]] rondoComm_t comm() const noexcept { return comm_; }
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int nranks() const noexcept { return nranks_; }

private:
    rondoComm_t comm_;
    int rank_;
    int nranks_;
    const char* name_ = "";
    int cases_ = 0;
    int wrong_ = 0;
};

/// None, one, odd, several chunks, and for one type of each width 1 MiB.
std::vector<std::size_t> counts(const Type& type) {
    std::vector<std::size_t> all{0, 1, 7, 1023, 20'011};
    for (const rondoDataType_t large : {rondoUint8, rondoInt16, rondoFloat32, rondoFloat64}) {
        if (type.rondo == large) all.push_back((1U << 20) / type.size);
    }
    return all;
}

std::string text_of(const Type& type, const Op& op, std::size_t count, bool in_place, int root = -1) {
    std::string text = std::string(type.name) + " " + std::string(op.name) + " count " + std::to_string(count);
    if (root >= 0) text += " root " + std::to_string(root);
    return text + (in_place ? " in place" : "");
}

/// Calls body(type, op, count, in_place) for every combination; sums only unless `all_ops`.
template <class Body>
void for_all(bool all_ops, Body&& body) {
    for (const Type& type : types()) {
        for (const Op& op : ops()) {
            if (!all_ops && op.rondo != rondoSum) continue;
            for (const std::size_t count : counts(type)) {
                for (const bool in_place : {false, true}) body(type, op, count, in_place);
            }
        }
    }
}

void all_reduce(Comparison& c) {
    for_all(true, [&](const Type& type, const Op& op, std::size_t count, bool in_place) {
        const std::uint64_t call = c.next();
        Buffer in(count * type.size);
        fill(type, op, call, c.rank(), count, in.data());
        Buffer theirs(in.size());
        MPI_Allreduce(in.data(), theirs.data(), static_cast<int>(count), type.mpi, op.mpi, MPI_COMM_WORLD);
        if (op.rondo == rondoAvg) divide(type, c.nranks(), count, theirs.data());
        Guarded mine(in.size());
        if (in_place) std::copy(in.begin(), in.end(), mine.data());
        const std::string text = text_of(type, op, count, in_place);
        c.expect(rondoAllReduce(in_place ? mine.data() : in.data(), mine.data(), count, type.rondo, op.rondo, c.comm(),
                                nullptr),
                 text);
        c.compare(type, op, count, mine, theirs, text);
    });
}

void reduce(Comparison& c) {
    for_all(true, [&](const Type& type, const Op& op, std::size_t count, bool in_place) {
        const std::uint64_t call = c.next();
        const auto root = static_cast<int>(call % static_cast<std::uint64_t>(c.nranks()));
        Buffer in(count * type.size);
        fill(type, op, call, c.rank(), count, in.data());
        Buffer theirs(in.size());
        MPI_Reduce(in.data(), theirs.data(), static_cast<int>(count), type.mpi, op.mpi, root, MPI_COMM_WORLD);
        if (op.rondo == rondoAvg) divide(type, c.nranks(), count, theirs.data());
        Guarded mine(in.size());
        const bool here = in_place && c.rank() == root;
        if (here) std::copy(in.begin(), in.end(), mine.data());
        const std::string text = text_of(type, op, count, in_place, root);
        c.expect(rondoReduce(here ? mine.data() : in.data(), c.rank() == root ? mine.data() : nullptr, count,
                             type.rondo, op.rondo, root, c.comm(), nullptr),
                 text);
        if (c.rank() == root) c.compare(type, op, count, mine, theirs, text);
    });
}

void broadcast(Comparison& c) {
    for_all(false, [&](const Type& type, const Op& op, std::size_t count, bool in_place) {
        for (int root = 0; root < c.nranks(); ++root) {
            const std::uint64_t call = c.next();
            Buffer in(count * type.size);
            fill_bits(call, c.rank(), in.size(), in.data());
            Buffer theirs = in;
            MPI_Bcast(theirs.data(), static_cast<int>(count), type.mpi, root, MPI_COMM_WORLD);
            Guarded mine(in.size());
            if (in_place) std::copy(in.begin(), in.end(), mine.data());
            const std::byte* const send = in_place ? mine.data() : c.rank() == root ? in.data() : nullptr;
            const std::string text = text_of(type, op, count, in_place, root);
            c.expect(rondoBroadcast(send, mine.data(), count, type.rondo, root, c.comm(), nullptr), text);
            c.compare(type, op, count, mine, theirs, text);
        }
    });
}

void all_gather(Comparison& c) {
    const auto n = static_cast<std::size_t>(c.nranks());
    for_all(false, [&](const Type& type, const Op& op, std::size_t count, bool in_place) {
        const std::uint64_t call = c.next();
        Buffer in(count * type.size);
        fill_bits(call, c.rank(), in.size(), in.data());
        Buffer theirs(in.size() * n);
        MPI_Allgather(in.data(), static_cast<int>(count), type.mpi, theirs.data(), static_cast<int>(count), type.mpi,
                      MPI_COMM_WORLD);
        Guarded mine(in.size() * n);
        std::byte* const own = mine.data() + static_cast<std::size_t>(c.rank()) * in.size();
        if (in_place) std::copy(in.begin(), in.end(), own);
        const std::string text = text_of(type, op, count, in_place);
        c.expect(rondoAllGather(in_place ? own : in.data(), mine.data(), count, type.rondo, c.comm(), nullptr), text);
        c.compare(type, op, count * n, mine, theirs, text);
    });
}

void reduce_scatter(Comparison& c) {
    const auto n = static_cast<std::size_t>(c.nranks());
    for_all(true, [&](const Type& type, const Op& op, std::size_t count, bool in_place) {
        const std::uint64_t call = c.next();
        Guarded in(count * n * type.size);
        fill(type, op, call, c.rank(), count * n, in.data());
        Buffer theirs(count * type.size);
        MPI_Reduce_scatter_block(in.data(), theirs.data(), static_cast<int>(count), type.mpi, op.mpi, MPI_COMM_WORLD);
        if (op.rondo == rondoAvg) divide(type, c.nranks(), count, theirs.data());
        Guarded mine(theirs.size());
        std::byte* const own = in.data() + static_cast<std::size_t>(c.rank()) * theirs.size();
        const std::string text = text_of(type, op, count, in_place);
        c.expect(
            rondoReduceScatter(in.data(), in_place ? own : mine.data(), count, type.rondo, op.rondo, c.comm(), nullptr),
            text);
        if (in_place) std::copy(own, own + theirs.size(), mine.data());
        if (!in.whole()) c.complain(text + ": bytes outside of the input were written");
        c.compare(type, op, count, mine, theirs, text);
    });
}

void all_to_all(Comparison& c) {
    const auto n = static_cast<std::size_t>(c.nranks());
    for_all(false, [&](const Type& type, const Op& op, std::size_t count, bool in_place) {
        if (in_place) return;
        const std::uint64_t call = c.next();
        Buffer in(count * n * type.size);
        fill_bits(call, c.rank(), in.size(), in.data());
        Buffer theirs(in.size());
        MPI_Alltoall(in.data(), static_cast<int>(count), type.mpi, theirs.data(), static_cast<int>(count), type.mpi,
                     MPI_COMM_WORLD);
        Guarded mine(in.size());
        const std::string text = text_of(type, op, count, false);
        c.expect(rondoAllToAll(in.data(), mine.data(), count, type.rondo, c.comm(), nullptr), text);
        c.compare(type, op, count * n, mine, theirs, text);
    });
}

/// In one group every rank sends three messages to every rank, itself included, each of a length of its own.
void send_recv(Comparison& c) {
    constexpr int kMessages = 3;
    const Type& type = types()[2];  // two bytes: odd counts end in the middle of words
    const Op& op = ops()[0];
    for (int round = 0; round < 20; ++round) {
        const std::uint64_t call = c.next();
        const auto length = [&](int from, int to, int message) {
            const std::uint64_t bits = hash(call, from * 64 + to, static_cast<std::size_t>(message));
            constexpr std::size_t kMost[] = {1, 8, 1000, 100'000};
            return static_cast<std::size_t>(bits >> 8) % (kMost[bits % 4] + 1);
        };
        std::vector<Buffer> sent;
        std::vector<Guarded> mine;
        std::vector<Buffer> theirs;
        for (int peer = 0; peer < c.nranks(); ++peer) {
            for (int m = 0; m < kMessages; ++m) {
                sent.emplace_back(length(c.rank(), peer, m) * type.size);
                fill_bits(call, c.rank() * 64 + peer * 8 + m, sent.back().size(), sent.back().data());
                const std::size_t bytes = length(peer, c.rank(), m) * type.size;
                mine.emplace_back(bytes);
                theirs.emplace_back(bytes);
            }
        }
        std::vector<MPI_Request> requests(2 * sent.size());
        for (std::size_t i = 0; i < sent.size(); ++i) {
            const int peer = static_cast<int>(i) / kMessages;
            MPI_Irecv(theirs[i].data(), static_cast<int>(theirs[i].size()), MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                      &requests[2 * i]);
            MPI_Isend(sent[i].data(), static_cast<int>(sent[i].size()), MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                      &requests[2 * i + 1]);
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        c.expect(rondoGroupStart(), "rondoGroupStart");
        for (std::size_t i = 0; i < sent.size(); ++i) {
            const int peer = static_cast<int>(i) / kMessages;
            c.expect(rondoSend(sent[i].data(), sent[i].size() / type.size, type.rondo, peer, c.comm(), nullptr),
                     "send");
            c.expect(rondoRecv(mine[i].data(), mine[i].size() / type.size, type.rondo, peer, c.comm(), nullptr),
                     "recv");
        }
        c.expect(rondoGroupEnd(), "group of sends and receives, round " + std::to_string(round));
        for (std::size_t i = 0; i < sent.size(); ++i) {
            c.compare(type, op, mine[i].size() / type.size, mine[i], theirs[i],
                      "message " + std::to_string(i) + " of round " + std::to_string(round));
        }
    }
}

/// A collective and messages in one group, and outside of groups a chain of sends.
void mixed_groups(Comparison& c) {
    const Type& type = types()[6];
    const Op& op = ops()[0];
    const int next = (c.rank() + 1) % c.nranks();
    const int previous = (c.rank() + c.nranks() - 1) % c.nranks();
    for (const std::size_t count : {std::size_t{1}, std::size_t{777}, std::size_t{50'001}}) {
        const std::uint64_t call = c.next();
        Buffer in(count * type.size);
        fill(type, op, call, c.rank(), count, in.data());
        Buffer sums(in.size());
        Buffer received(in.size());
        MPI_Allreduce(in.data(), sums.data(), static_cast<int>(count), type.mpi, MPI_SUM, MPI_COMM_WORLD);
        MPI_Sendrecv(in.data(), static_cast<int>(count), type.mpi, next, 0, received.data(), static_cast<int>(count),
                     type.mpi, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        Guarded my_sums(in.size());
        Guarded my_received(in.size());
        c.expect(rondoGroupStart(), "rondoGroupStart");
        c.expect(rondoAllReduce(in.data(), my_sums.data(), count, type.rondo, op.rondo, c.comm(), nullptr), "all");
        c.expect(rondoSend(in.data(), count, type.rondo, next, c.comm(), nullptr), "send");
        c.expect(rondoRecv(my_received.data(), count, type.rondo, previous, c.comm(), nullptr), "recv");
        c.expect(rondoGroupEnd(), "group");
        c.compare(type, op, count, my_sums, sums, "all_reduce beside messages, count " + std::to_string(count));
        c.compare(type, op, count, my_received, received, "message beside all_reduce, count " + std::to_string(count));

        // Around the ring, each rank adding nothing: what comes back to rank 0 is what it sent.
        Guarded token(in.size());
        if (c.rank() == 0) {
            c.expect(rondoSend(in.data(), count, type.rondo, next, c.comm(), nullptr), "first send");
            c.expect(rondoRecv(token.data(), count, type.rondo, previous, c.comm(), nullptr), "last receive");
            c.compare(type, op, count, token, in, "token, count " + std::to_string(count));
        } else {
            c.expect(rondoRecv(token.data(), count, type.rondo, previous, c.comm(), nullptr), "receive");
            c.expect(rondoSend(token.data(), count, type.rondo, next, c.comm(), nullptr), "send on");
        }
        c.expect(rondoBarrier(c.comm(), nullptr), "barrier");
    }
}

struct Part {
    const char* name;
    void (*cases)(Comparison&);
};

constexpr Part kParts[] = {{"all_reduce", all_reduce},         {"reduce", reduce},
                           {"broadcast", broadcast},           {"all_gather", all_gather},
                           {"reduce_scatter", reduce_scatter}, {"alltoall", all_to_all},
                           {"send_recv", send_recv},           {"mixed_groups", mixed_groups}};

int run(int argc, char** argv) {
    int rank = 0;
    int nranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    rondoUniqueId id{};
    if (rank == 0 && rondoGetUniqueId(&id) != rondoSuccess) {
        std::fprintf(stderr, "rondoGetUniqueId: %s\n", rondoGetLastError(nullptr));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    rondoComm_t comm = nullptr;
    if (rondoCommInitRank(&comm, nranks, id, rank) != rondoSuccess) {
        std::fprintf(stderr, "rank %d: rondoCommInitRank: %s\n", rank, rondoGetLastError(nullptr));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    bool ok = true;
    int parts = 0;
    Comparison comparison(comm, rank, nranks);
    for (const Part& part : kParts) {
        if (argc > 1 && std::string(argv[1]) != part.name) continue;
        ok = comparison.run(part.name, part.cases) && ok;
        ++parts;
    }
    if (rondoCommDestroy(comm) != rondoSuccess) ok = false;
    if (parts == 0) std::fprintf(stderr, "no collective '%s'\n", argv[1]);
    return ok && parts > 0 ? 0 : 1;
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int status = rondo::test::run(argc, argv);
    MPI_Finalize();
    return status;
}
