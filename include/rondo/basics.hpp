// What rondo.hpp builds on: errors, the library's version, ids and jobs, streams. Include rondo.hpp.
#ifndef RONDO_BASICS_HPP_
#define RONDO_BASICS_HPP_

#include <rondo/rondo.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace rondo {
// The inline namespace keeps these names apart from the library's own when both are linked into one program.
inline namespace cpp0 {

// --- Errors --------------------------------------------------------------------------------------------------

/// A failed call: what() is the library's text, code() says of which kind it is.
class Error : public std::runtime_error {
public:
    Error(rondoResult_t code, const std::string& text) : std::runtime_error(text), code_(code) {}

    [[nodiscard]] rondoResult_t code() const noexcept { return code_; }

private:
    rondoResult_t code_;
};

namespace detail {

/// Throws the calling thread's last error unless `result` is rondoSuccess or rondoInProgress.
inline void check(rondoResult_t result) {
    if (result == rondoSuccess || result == rondoInProgress) return;
    const std::string text = rondoGetLastError(nullptr);
    throw Error(result, text.empty() ? rondoGetErrorString(result) : text);
}

[[noreturn]] inline void refuse_sizes(const char* call, std::size_t in, std::size_t out, const std::string& rule) {
    throw Error(rondoInvalidArgument, std::string(call) + ": the input has " + std::to_string(in) +
                                          " elements, the output " + std::to_string(out) + "; allowed: " + rule);
}

}  // namespace detail

// --- Library -------------------------------------------------------------------------------------------------

/// major*10000 + minor*100 + patch of the library that runs (RONDO_VERSION_CODE: of the header).
inline int version() {
    int code = 0;
    detail::check(rondoGetVersion(&code));
    return code;
}

/// A new id for Communicator::init_rank, to be handed to all ranks; it serves one communicator. Errors: SystemError.
inline rondoUniqueId unique_id() {
    rondoUniqueId id{};
    detail::check(rondoGetUniqueId(&id));
    return id;
}

// --- Streams -------------------------------------------------------------------------------------------------

/// A queue with a thread of its own that runs operations in the order of their calls. Movable, not copyable.
class Stream {
public:
    /// Errors: SystemError where no thread can be made.
    Stream() {
        rondoStream_t made = nullptr;
        detail::check(rondoStreamCreate(&made));
        handle_.reset(made);
    }

    /// Waits for what is queued. Throws the first failure since the last synchronize; its particulars are in
    /// Communicator::error_text() of the communicator that failed.
    void synchronize() { raise(rondoStreamSynchronize(handle_.get())); }

    /// True when nothing is queued or running. Throws the first failure.
    [[nodiscard]] bool idle() const {
        const rondoResult_t result = rondoStreamQuery(handle_.get());
        raise(result);
        return result == rondoSuccess;
    }

    /// The C handle; stays owned by this object.
    [[nodiscard]] rondoStream_t get() const noexcept { return handle_.get(); }

private:
    struct Destroy {
        void operator()(rondoStream_t stream) const noexcept { rondoStreamDestroy(stream); }  // waits for the queue
    };

    static void raise(rondoResult_t result) {
        if (result == rondoSuccess || result == rondoInProgress) return;
        throw Error(result, std::string("an operation on a stream failed (") + rondoGetErrorString(result) +
                                "); see the communicator's error text");
    }

    std::unique_ptr<std::remove_pointer_t<rondoStream_t>, Destroy> handle_;
};

/// What a launcher has put into the environment, see rondoGetUniqueIdFromEnvironment.
struct Job {
    rondoUniqueId id{};
    int nprocs = 0;
    int proc = 0;
};

/// Errors: as rondoGetUniqueIdFromEnvironment.
[[nodiscard]] inline Job job_from_environment() {
    Job job;
    detail::check(rondoGetUniqueIdFromEnvironment(&job.id, &job.nprocs, &job.proc));
    return job;
}

}  // namespace cpp0
}  // namespace rondo

#endif  // RONDO_BASICS_HPP_
