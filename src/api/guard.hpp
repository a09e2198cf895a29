#pragma once
// What every C function shares: handles, and a guard that turns exceptions into results with a text.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/stream.hpp"
#include "rondo/rondo.h"

/// The handle's memory says that it is one until it is destroyed.
struct rondoComm {
    static constexpr unsigned long long kAlive = 0x636f6d6d2d757021U;
    unsigned long long mark = kAlive;
    rondo::comm::Communicator comm;

    rondoComm(const rondo::bootstrap::UniqueId& id, int nranks, int rank, rondo::comm::Options options)
        : comm(id, nranks, rank, std::move(options)) {}
    rondoComm(const rondoComm&) = delete;
    rondoComm& operator=(const rondoComm&) = delete;
    ~rondoComm() { mark = 0; }
};

struct rondoStream {
    rondo::comm::Stream stream;
};

namespace rondo::api {

constexpr rondoResult_t result_of(Code code) noexcept { return static_cast<rondoResult_t>(code); }

/// Keeps the error's text for rondoGetLastError, tells an open group, and returns the error's result.
rondoResult_t capture(const Error& error) noexcept;

/// The text of this thread's last failed call.
const char* last_error() noexcept;

/// Runs `body`, which returns a Code or nothing; nothing that it throws leaves.
template <class Body>
rondoResult_t guarded(Body&& body) noexcept {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return rondoSuccess;
        } else {
            return result_of(body());
        }
    } catch (const Error& error) {
        return capture(error);
    } catch (const std::bad_alloc&) {
        return capture(Error(Code::SystemError, "out of memory"));
    } catch (const std::exception& error) {
        return capture(Error(Code::InternalError, error.what()));
    }
}

/// The communicator of a handle. Errors: InvalidArgument for null and for a handle that was destroyed.
comm::Communicator& open_handle(rondoComm_t comm, const char* function);

/// The host stream of a handle; null for null.
comm::Stream* open_stream(rondoStream_t stream);

/// `pointer` or Error(InvalidArgument) naming the function and the argument.
template <class T>
T& need(T* pointer, const char* function, const char* argument) {
    if (pointer == nullptr) throw make_error(Code::InvalidArgument, "{}: {} is null", function, argument);
    return *pointer;
}

}  // namespace rondo::api
