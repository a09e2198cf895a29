// Rondo for C++20: the C interface of rondo.h as objects that own what they hold and throw what goes wrong.
//
// What rondo.h says of order, buffers, in-place rules, streams and threads holds here too. Beyond that:
//
//  - Errors. A call that fails throws rondo::Error with the result code and the library's text. Destructors never
//  throw.
//  - Buffers are contiguous ranges: std::span, std::vector, std::array, ... The element type follows from the range
//    (data_type_of); sizes are numbers of elements, and a pair of sizes that cannot fit is InvalidArgument. Temporary
//    containers are refused at compile time; a temporary std::span is fine.
//  - Every collective takes a stream last. Null: the call blocks. Otherwise it is queued and the call returns at once;
//    buffers and communicator must live until the stream has passed the operation.
//  - Every collective exists typed and untyped (pointers, count, rondoDataType_t); the untyped form is the C function.
#ifndef RONDO_RONDO_HPP_
#define RONDO_RONDO_HPP_

#include <rondo/rondo.h>
#include <rondo/basics.hpp>
#include <rondo/element.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rondo {
inline namespace cpp0 {

// --- Communicators -------------------------------------------------------------------------------------------

/// How a communicator behaves; the fields of rondoConfig_t. What is left alone follows the RONDO_* settings.
struct Config {
    std::string device = "host";
    bool blocking = true;
    double timeout = 0;         ///< seconds; <= 0: RONDO_TIMEOUT
    std::string name{};         ///< appears in logs and errors
    std::string algo{};         ///< as RONDO_ALGO
    int slots = 0;              ///< of a FIFO; 0: RONDO_NSLOTS
    double stall_warning = -1;  ///< seconds; 0: never; < 0: RONDO_STALL_WARNING
};

/// Bytes and messages to each rank, since init or of one operation: arrays of one element for each rank.
struct Traffic {
    std::vector<std::uint64_t> sent_bytes;
    std::vector<std::uint64_t> sent_messages;
    std::vector<std::uint64_t> direct_bytes;  ///< loaded from or stored to the rank's own buffers
};

/// One rank's handle on a group of ranks. Movable, not copyable; a moved-from object may only be assigned or destroyed.
/// One thread at a time, as rondo.h says; abort(), state(), ready() and error_text() may come from any thread.
///
/// The destructor finalizes and frees: it waits for operations that streams still have to run on this communicator, and
/// for no other rank beyond those. It must not run while another thread is inside the communicator; the handle then
/// stays allocated, since freeing it would pull it from under that thread.
class Communicator {
public:
    /// Joins the communicator `id` of `nranks` ranks as rank `rank`. Blocks until all ranks have joined, unless
    /// config.blocking is false (then poll ready()) or a Group is open in this thread (then Group::end() waits).
    /// Errors: as rondoCommInitRank.
    [[nodiscard]] static Communicator init_rank(int nranks, const rondoUniqueId& id, int rank,
                                                const Config& config = {}) {
        const rondoConfig_t c = c_config(config);
        rondoComm_t made = nullptr;
        detail::check(rondoCommInitRankConfig(&made, nranks, id, rank, &c));
        return Communicator(made, rank, nranks);
    }

    /// All ranks of a communicator at once: element i is rank i. Use each from a thread of its own, or all from one
    /// thread inside a Group.
    [[nodiscard]] static std::vector<Communicator> init_all(int nranks, const Config& config = {}) {
        const rondoConfig_t c = c_config(config);
        std::vector<Communicator> communicators;
        std::vector<rondoComm_t> made(nranks > 0 ? static_cast<std::size_t>(nranks) : 1);
        communicators.reserve(made.size());
        detail::check(rondoCommInitAll(made.data(), nranks, &c));
        for (int rank = 0; rank < nranks; ++rank) {
            communicators.push_back(Communicator(made[static_cast<std::size_t>(rank)], rank, nranks));
        }
        return communicators;
    }

    /// Those ranks that pass the same colour (>= 0), ordered by key; nothing for RONDO_SPLIT_NOCOLOR. Collective.
    /// Errors: as rondoCommSplit.
    [[nodiscard]] std::optional<Communicator> split(int colour, int key) {
        rondoComm_t made = nullptr;
        detail::check(rondoCommSplit(get(), colour, key, &made, nullptr));
        if (made == nullptr) return std::nullopt;
        return adopt(made);
    }

    /// The ranks that are left without `excluded`; called by these alone, also after a failure. Errors: as
    /// rondoCommShrink.
    [[nodiscard]] Communicator shrink(const std::vector<int>& excluded) {
        rondoComm_t made = nullptr;
        detail::check(rondoCommShrink(get(), excluded.data(), static_cast<int>(excluded.size()), &made, nullptr));
        return adopt(made);
    }

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int nranks() const noexcept { return nranks_; }
    /// The C handle; stays owned by this object.
    [[nodiscard]] rondoComm_t get() const noexcept { return handle_.get(); }

    // Life and state.

    /// rondoSuccess, rondoInProgress while a non-blocking init runs, or the first error.
    [[nodiscard]] rondoResult_t state() const {
        rondoResult_t result = rondoSuccess;
        detail::check(rondoCommGetAsyncError(get(), &result));
        return result;
    }

    /// True once all ranks have joined, false before. Throws the first error, if the communicator has failed.
    [[nodiscard]] bool ready() const {
        const rondoResult_t result = state();
        if (result == rondoSuccess || result == rondoInProgress) return result == rondoSuccess;
        throw Error(result, error_text());
    }

    /// The communicator's first cause of failure; before one, the calling thread's last error, "" if there was none.
    [[nodiscard]] std::string error_text() const { return rondoGetLastError(get()); }

    /// The first cause of failure field by field; its code is rondoSuccess while there is none. Its strings live as
    /// long as the communicator.
    [[nodiscard]] rondoErrorInfo_t error_info() const {
        rondoErrorInfo_t info{};
        info.size = sizeof info;
        detail::check(rondoCommGetErrorInfo(get(), &info));
        return info;
    }

    /// For the calls from now on, in seconds: how long they may wait, and after which wait there is a warning (0:
    /// never).
    void set_timeout(double timeout, double stall_warning = 0) {
        detail::check(rondoCommSetTimeout(get(), timeout, stall_warning));
    }

    /// Waits for the operations that this rank has queued; afterwards the communicator takes no more. Errors: the first
    /// cause, if the communicator has failed.
    void finalize() {
        const rondoResult_t result = rondoCommFinalize(get());
        if (result != rondoSuccess) throw Error(result, error_text());
    }

    /// Ends all work of the communicator now, from any thread. After the return no peer touches this rank's buffers.
    void abort() { detail::check(rondoCommAbort(get())); }

    // What ran.

    /// The plan of this rank's last operation, as "all_reduce/ring/n4/c1/chunk131072/0123456789abcdef"; "" before one.
    [[nodiscard]] std::string last_plan() const {
        char text[256] = "";
        detail::check(rondoCommGetLastPlan(get(), text, sizeof text));
        return text;
    }

    /// What this rank has sent and touched since init.
    [[nodiscard]] Traffic traffic() const { return traffic_by(rondoCommGetTraffic); }
    /// What the last operation's plan moves by its own arithmetic.
    [[nodiscard]] Traffic planned_traffic() const { return traffic_by(rondoCommGetPlannedTraffic); }

    // Collectives on typed buffers. Errors of each: InvalidArgument (sizes, overlap other than the in-place rule), and
    // what the operation meets: InvalidUsage, RemoteError, Timeout, Aborted.

    /// output[i] = op over ranks of input[i]. Sizes equal on all ranks. In place: the same range twice, or the form
    /// below.
    template <class In, class Out>
    requires BufferPair<In, Out>
    void all_reduce(In&& input, Out&& output, rondoRedOp_t op = rondoSum, Stream* stream = nullptr) {
        require_equal("all_reduce", detail::size_of(input), detail::size_of(output));
        all_reduce(std::ranges::data(input), std::ranges::data(output), detail::size_of(input), detail::type_in<In>, op,
                   stream);
    }

    template <OutputBuffer InOut>
    void all_reduce(InOut&& buffer, rondoRedOp_t op = rondoSum, Stream* stream = nullptr) {
        all_reduce(buffer, buffer, op, stream);
    }

    /// As all_reduce, result on `root` only; elsewhere `output` is not touched and may be empty.
    template <class In, class Out>
    requires BufferPair<In, Out>
    void reduce(In&& input, Out&& output, int root, rondoRedOp_t op = rondoSum, Stream* stream = nullptr) {
        if (rank_ == root) require_equal("reduce", detail::size_of(input), detail::size_of(output));
        reduce(std::ranges::data(input), std::ranges::data(output), detail::size_of(input), detail::type_in<In>, op,
               root, stream);
    }

    /// output = root's input; `input` is used on root only and may be empty elsewhere. In place: the form below.
    template <class In, class Out>
    requires BufferPair<In, Out>
    void broadcast(In&& input, Out&& output, int root, Stream* stream = nullptr) {
        if (rank_ == root) require_equal("broadcast", detail::size_of(input), detail::size_of(output));
        broadcast(std::ranges::data(input), std::ranges::data(output), detail::size_of(output), detail::type_in<In>,
                  root, stream);
    }

    template <OutputBuffer InOut>
    void broadcast(InOut&& buffer, int root, Stream* stream = nullptr) {
        broadcast(buffer, buffer, root, stream);
    }

    /// output[r*m + i] = input[i] of rank r, m = input's size; output's size is nranks * m. In place: `input` is the
    /// rank's own block of `output`.
    template <class In, class Out>
    requires BufferPair<In, Out>
    void all_gather(In&& input, Out&& output, Stream* stream = nullptr) {
        if (detail::size_of(output) != blocks(detail::size_of(input))) {
            detail::refuse_sizes("all_gather", detail::size_of(input), detail::size_of(output),
                                 "an output of nranks (" + std::to_string(nranks_) + ") times the input");
        }
        all_gather(std::ranges::data(input), std::ranges::data(output), detail::size_of(input), detail::type_in<In>,
                   stream);
    }

    /// output[i] = op over ranks of input[rank*m + i], m = output's size; input's size is nranks * m. In place:
    /// `output` is the rank's own block of `input`.
    template <class In, class Out>
    requires BufferPair<In, Out>
    void reduce_scatter(In&& input, Out&& output, rondoRedOp_t op = rondoSum, Stream* stream = nullptr) {
        if (detail::size_of(input) != blocks(detail::size_of(output))) {
            detail::refuse_sizes("reduce_scatter", detail::size_of(input), detail::size_of(output),
                                 "an input of nranks (" + std::to_string(nranks_) + ") times the output");
        }
        reduce_scatter(std::ranges::data(input), std::ranges::data(output), detail::size_of(output),
                       detail::type_in<In>, op, stream);
    }

    /// output[r*m + i] = input[rank*m + i] of rank r; both have nranks * m elements. No overlap.
    template <class In, class Out>
    requires BufferPair<In, Out>
    void all_to_all(In&& input, Out&& output, Stream* stream = nullptr) {
        const std::size_t size = detail::size_of(input);
        const auto n = static_cast<std::size_t>(nranks_);
        if (size != detail::size_of(output) || size % n != 0) {
            detail::refuse_sizes("all_to_all", size, detail::size_of(output),
                                 "equal sizes, a multiple of nranks (" + std::to_string(nranks_) + ")");
        }
        all_to_all(std::ranges::data(input), std::ranges::data(output), size / n, detail::type_in<In>, stream);
    }

    /// The k-th send of a pair of ranks meets its k-th receive; both have the same number of bytes. rondo.h says when a
    /// send outside a group returns.
    template <InputBuffer In>
    void send(In&& input, int peer, Stream* stream = nullptr) {
        send(std::ranges::data(input), detail::size_of(input), detail::type_in<In>, peer, stream);
    }

    template <OutputBuffer Out>
    void recv(Out&& output, int peer, Stream* stream = nullptr) {
        recv(std::ranges::data(output), detail::size_of(output), detail::type_in<Out>, peer, stream);
    }

    /// A message with a tag; what rondo.h says of rondoSendTagged and rondoRecvTagged holds.
    template <InputBuffer In>
    void send_tagged(In&& input, int peer, int tag, Stream* stream = nullptr) {
        detail::check(rondoSendTagged(std::ranges::data(input), detail::size_of(input), detail::type_in<In>, peer, tag,
                                      get(), c_stream(stream)));
    }

    /// Receives at most output's size of elements from `source` or RONDO_ANY_SOURCE with `tag` or RONDO_ANY_TAG; waits
    /// for it. Returns what came.
    template <OutputBuffer Out>
    rondoMessage_t recv_tagged(Out&& output, int source, int tag) {
        rondoMessage_t message{};
        recv_tagged(std::forward<Out>(output), source, tag, &message, nullptr);
        return message;
    }

    /// With a stream, or in a group: output and *message must live until then; message may be null.
    template <OutputBuffer Out>
    void recv_tagged(Out&& output, int source, int tag, rondoMessage_t* message, Stream* stream) {
        detail::check(rondoRecvTagged(std::ranges::data(output), detail::size_of(output), detail::type_in<Out>, source,
                                      tag, get(), message, c_stream(stream)));
    }

    /// Returns (or lets the stream go on) when every rank has called it.
    void barrier(Stream* stream = nullptr) { detail::check(rondoBarrier(get(), c_stream(stream))); }

    // The same untyped: the C functions with this communicator.

    void all_reduce(const void* input, void* output, std::size_t count, rondoDataType_t type, rondoRedOp_t op,
                    Stream* stream = nullptr) {
        detail::check(rondoAllReduce(input, output, count, type, op, get(), c_stream(stream)));
    }

    void reduce(const void* input, void* output, std::size_t count, rondoDataType_t type, rondoRedOp_t op, int root,
                Stream* stream = nullptr) {
        detail::check(rondoReduce(input, output, count, type, op, root, get(), c_stream(stream)));
    }

    void broadcast(const void* input, void* output, std::size_t count, rondoDataType_t type, int root,
                   Stream* stream = nullptr) {
        detail::check(rondoBroadcast(input, output, count, type, root, get(), c_stream(stream)));
    }

    /// `count` elements of input.
    void all_gather(const void* input, void* output, std::size_t count, rondoDataType_t type,
                    Stream* stream = nullptr) {
        detail::check(rondoAllGather(input, output, count, type, get(), c_stream(stream)));
    }

    /// `count` elements of output.
    void reduce_scatter(const void* input, void* output, std::size_t count, rondoDataType_t type, rondoRedOp_t op,
                        Stream* stream = nullptr) {
        detail::check(rondoReduceScatter(input, output, count, type, op, get(), c_stream(stream)));
    }

    /// `count` elements for each rank.
    void all_to_all(const void* input, void* output, std::size_t count, rondoDataType_t type,
                    Stream* stream = nullptr) {
        detail::check(rondoAllToAll(input, output, count, type, get(), c_stream(stream)));
    }

    void send(const void* input, std::size_t count, rondoDataType_t type, int peer, Stream* stream = nullptr) {
        detail::check(rondoSend(input, count, type, peer, get(), c_stream(stream)));
    }

    void recv(void* output, std::size_t count, rondoDataType_t type, int peer, Stream* stream = nullptr) {
        detail::check(rondoRecv(output, count, type, peer, get(), c_stream(stream)));
    }

private:
    struct Destroy {
        void operator()(rondoComm_t comm) const noexcept { rondoCommDestroy(comm); }
    };

    Communicator(rondoComm_t handle, int rank, int nranks) noexcept : handle_(handle), rank_(rank), nranks_(nranks) {}

    static Communicator adopt(rondoComm_t made) {
        Communicator communicator(made, 0, 0);
        detail::check(rondoCommUserRank(made, &communicator.rank_));
        detail::check(rondoCommCount(made, &communicator.nranks_));
        return communicator;
    }

    /// Points into `config`.
    static rondoConfig_t c_config(const Config& config) noexcept {
        rondoConfig_t c = RONDO_CONFIG_INITIALIZER;
        c.device = config.device.c_str();
        c.blocking = config.blocking ? 1 : 0;
        c.timeout = config.timeout;
        c.commName = config.name.c_str();
        c.algo = config.algo.c_str();
        c.slots = config.slots;
        c.stallWarning = config.stall_warning;
        return c;
    }

    static rondoStream_t c_stream(const Stream* stream) noexcept { return stream == nullptr ? nullptr : stream->get(); }

    static void require_equal(const char* call, std::size_t in, std::size_t out) {
        if (in != out) detail::refuse_sizes(call, in, out, "equal sizes");
    }

    [[nodiscard]] std::size_t blocks(std::size_t size) const noexcept {
        return size * static_cast<std::size_t>(nranks_);
    }

    template <class Get>
    Traffic traffic_by(Get get_traffic) const {
        const auto n = static_cast<std::size_t>(nranks_);
        Traffic found{std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n)};
        detail::check(
            get_traffic(get(), found.sent_bytes.data(), found.sent_messages.data(), found.direct_bytes.data()));
        return found;
    }

    std::unique_ptr<std::remove_pointer_t<rondoComm_t>, Destroy> handle_;
    int rank_ = 0;
    int nranks_ = 1;
};

// --- Groups --------------------------------------------------------------------------------------------------

/// Calls of this thread between the constructor and end() are collected and run together by the outermost end(). Groups
/// nest. Neither movable nor copyable: a group belongs to its scope and its thread.
///
/// end() runs the calls, may throw, and must be called: a destructor could not report what goes wrong. A Group that is
/// destroyed without end(), by an exception say, is cancelled: nothing of it runs, nor of the groups around it, whose
/// end() throws. Peers that made the same calls then wait for this rank until it aborts or destroys its communicator,
/// or until their timeout.
class [[nodiscard]] Group {
public:
    Group() { detail::check(rondoGroupStart()); }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    ~Group() {
        if (!open_) return;
        // A group with a failed call runs nothing at its end; this call must fail, since it names no communicator.
        rondoBarrier(nullptr, nullptr);
        rondoGroupEnd();
    }

    /// Runs the calls if this is the outermost group. Errors: the first failure of a call inside (then nothing ran), or
    /// of the operations. Only once.
    void end() {
        if (!open_) throw Error(rondoInvalidUsage, "Group::end() was called twice");
        open_ = false;
        detail::check(rondoGroupEnd());
    }

private:
    bool open_ = true;
};

/// Runs `calls()` inside a group and ends it: group([&] { comm.send(a, 1); comm.recv(b, 1); });
template <class Calls>
void group(Calls&& calls) {
    Group scope;
    std::forward<Calls>(calls)();
    scope.end();
}

}  // namespace cpp0
}  // namespace rondo

#endif  // RONDO_RONDO_HPP_
