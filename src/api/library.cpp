// Version, error texts and host streams.

#include "api/guard.hpp"
#include "base/version.hpp"
#include "comm/group.hpp"
#include "reduce/reduce.hpp"

using namespace rondo;

namespace {

/// A stream's state as a result; a failure is thrown, so that its text is kept.
Code report(const Failure& failure) {
    if (failure.code != Code::Success && failure.code != Code::InProgress) throw Error(failure.code, failure.text);
    return failure.code;
}

}  // namespace

extern "C" {

rondoResult_t rondoGetVersion(int* version) {
    return api::guarded([&] { api::need(version, "rondoGetVersion", "version") = RONDO_VERSION_CODE; });
}

const char* rondoGetBuildInfo(void) {
    static const std::string text = std::string(build_info()) + ", SIMD " + reduce::target_name();
    return text.c_str();
}

const char* rondoGetErrorString(rondoResult_t result) {
    switch (result) {
        case rondoSuccess: return "success";
        case rondoUnhandledCudaError: return "a CUDA call failed";
        case rondoSystemError: return "a call to the operating system failed";
        case rondoInternalError: return "internal error of the library";
        case rondoInvalidArgument: return "invalid argument";
        case rondoInvalidUsage: return "ranks disagree, or the interface is misused";
        case rondoRemoteError: return "another rank failed or went away";
        case rondoInProgress: return "in progress";
        case rondoTimeout: return "a deadline passed";
        case rondoAborted: return "the communicator was aborted";
    }
    return "unknown result code";
}

const char* rondoGetLastError(rondoComm_t comm) {
    if (comm == nullptr) return api::last_error();
    const char* text = "";
    const rondoResult_t result = api::guarded([&] { text = api::open_handle(comm, "rondoGetLastError").error_text(); });
    return result == rondoSuccess && *text != '\0' ? text : api::last_error();
}

rondoResult_t rondoStreamCreate(rondoStream_t* stream) {
    return api::guarded(
        [&] { api::need(stream, "rondoStreamCreate", "stream") = std::make_unique<rondoStream>().release(); });
}

rondoResult_t rondoStreamDestroy(rondoStream_t stream) {
    return api::guarded([&] {
        if (comm::Group::current().holds(api::need(stream, "rondoStreamDestroy", "stream").stream)) {
            throw Error(Code::InvalidUsage,
                        "rondoStreamDestroy: calls of the open group are to run on it; end it first");
        }
        const std::unique_ptr<rondoStream> owned(stream);
    });
}

rondoResult_t rondoStreamSynchronize(rondoStream_t stream) {
    return api::guarded(
        [&] { return report(api::need(stream, "rondoStreamSynchronize", "stream").stream.synchronize()); });
}

rondoResult_t rondoStreamQuery(rondoStream_t stream) {
    return api::guarded([&] { return report(api::need(stream, "rondoStreamQuery", "stream").stream.query()); });
}

}  // extern "C"
