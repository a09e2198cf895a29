#pragma once
// What a program tells the driver about its collective: a table of facts and small functions, no loop of its own.

#include <rondo/rondo.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace rondo::perf {

/// Sizes in elements, for one call on every rank.
struct Layout {
    std::size_t send_count = 0;     ///< of the send buffer
    std::size_t recv_count = 0;     ///< of the receive buffer
    std::size_t param_count = 0;    ///< the count argument
    std::size_t send_in_place = 0;  ///< in place, rank r's send buffer begins at r times this in the shared buffer
    std::size_t recv_in_place = 0;  ///< likewise the receive buffer
};

/// What the receive buffer of a rank must hold, piece by piece.
struct Segment {
    enum class Content {
        Reduced,    ///< the reduction over all ranks of the elements from source_begin on
        Copied,     ///< rank source_rank's input from element source_begin on
        Untouched,  ///< what was there before
    };
    Content content = Content::Reduced;
    int source_rank = 0;
    std::size_t source_begin = 0;
    std::size_t recv_begin = 0;
    std::size_t count = 0;
};

/// Everything that a segment depends on.
struct Position {
    int nranks = 1;
    int rank = 0;
    int root = 0;
};

/// Arguments of one call.
struct Call {
    const void* send = nullptr;
    void* recv = nullptr;
    std::size_t count = 0;
    rondoDataType_t type = rondoFloat32;
    rondoRedOp_t op = rondoSum;
    int root = 0;
    Position where{};
    rondoComm_t comm = nullptr;
    rondoStream_t stream = nullptr;
};

struct Collective {
    std::string_view program;      ///< "all_reduce_perf"
    std::string_view function;     ///< "rondoAllReduce", for messages
    bool reduces = false;          ///< -o has a meaning
    bool rooted = false;           ///< -r has a meaning
    bool in_place = false;         ///< has an in-place form
    bool moves_data = true;        ///< false: barrier
    std::string_view bus_formula;  ///< "2(n-1)/n": bus bandwidth = algorithm bandwidth times this
    double (*bus_factor)(int nranks) = nullptr;
    /// `count`: elements that fit into the size asked for.
    Layout (*layout)(std::size_t count, int nranks) = nullptr;
    std::vector<Segment> (*expected)(const Layout& layout, const Position& where) = nullptr;
    rondoResult_t (*call)(const Call& call) = nullptr;
};

/// Ranks that the call of `where` receives from and sends to in the ring of sendrecv_perf.
constexpr int next_rank(const Position& where) noexcept { return (where.rank + 1) % where.nranks; }
constexpr int previous_rank(const Position& where) noexcept { return (where.rank + where.nranks - 1) % where.nranks; }

/// Same count in and out (all_reduce, reduce, broadcast, sendrecv).
constexpr Layout same_layout(std::size_t count, int) noexcept { return {count, count, count, 0, 0}; }

/// Bus bandwidth factors, as nccl-tests defines them in doc/PERFORMANCE.md.
constexpr double bus_factor_one(int) noexcept { return 1.0; }
constexpr double bus_factor_all_but_own(int nranks) noexcept { return (nranks - 1.0) / nranks; }

/// Runs the program: parses flags, measures, checks, prints. Returns the exit status: 0 all right, 1 wrong values or an
/// error, 2 wrong usage.
int run_program(const Collective& collective, int argc, char** argv);

}  // namespace rondo::perf
