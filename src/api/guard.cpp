#include "api/guard.hpp"

#include "comm/group.hpp"

namespace rondo::api {

namespace {

std::string& last_text() {
    thread_local std::string text;
    return text;
}

}  // namespace

rondoResult_t capture(const Error& error) noexcept {
    try {
        last_text() = error.what();
        if (comm::Group::current().open()) comm::Group::current().note_failure(error);
    } catch (...) {
        last_text().clear();  // no memory for the text: the result still tells
    }
    return result_of(error.code());
}

const char* last_error() noexcept { return last_text().c_str(); }

comm::Communicator& open_handle(rondoComm_t comm, const char* function) {
    rondoComm& handle = need(comm, function, "comm");
    if (handle.mark != rondoComm::kAlive) {
        throw make_error(Code::InvalidArgument, "{}: comm is no communicator (destroyed already?)", function);
    }
    return handle.comm;
}

comm::Stream* open_stream(rondoStream_t stream) { return stream == nullptr ? nullptr : &stream->stream; }

}  // namespace rondo::api
