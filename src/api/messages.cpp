// Tagged messages: check the arguments, make the operation, hand it on.

#include "api/checks.hpp"
#include "api/guard.hpp"
#include "comm/group.hpp"

namespace {

using namespace rondo;

void check_rank(const char* function, const char* argument, int rank, int nranks, bool any) {
    if ((rank >= 0 && rank < nranks) || (any && rank == RONDO_ANY_SOURCE)) return;
    throw make_error(Code::InvalidArgument, "{}: {} {} is no rank; allowed: 0 to {}{}", function, argument, rank,
                     nranks - 1, any ? " and RONDO_ANY_SOURCE" : "");
}

void check_tag(const char* function, int tag, bool any) {
    if (tag >= 0 || (any && tag == RONDO_ANY_TAG)) return;
    throw make_error(Code::InvalidArgument, "{}: tag {} is none; allowed: 0 to 2147483647{}", function, tag,
                     any ? " and RONDO_ANY_TAG" : "");
}

struct Arguments {
    const char* function = "";
    void* buffer = nullptr;
    std::size_t count = 0;
    rondoDataType_t type = rondoUint8;
    comm::Message message;  // without data, bytes and element_bytes
};

rondoResult_t message(const Arguments& arguments, rondoComm_t handle, rondoStream_t stream) {
    return api::guarded([&] {
        const char* const function = arguments.function;
        comm::Communicator& comm = api::open_handle(handle, function);
        const DataType type = api::check_type(arguments.type, function);
        comm::Message made = arguments.message;
        made.data = static_cast<std::byte*>(arguments.buffer);
        made.bytes = api::check_bytes(arguments.count, type, 1, function);
        made.element_bytes = size_of(type);
        check_rank(function, made.send ? "peer" : "source", made.peer, comm.nranks(), !made.send);
        check_tag(function, made.tag, !made.send);
        if (made.data == nullptr && made.bytes > 0) {
            throw make_error(Code::InvalidArgument, "{}: the buffer is null with count {}", function, arguments.count);
        }
        comm::Operation operation;
        operation.messages.push_back(made);
        comm::submit(comm, std::move(operation), api::open_stream(stream));
    });
}

}  // namespace

extern "C" {

rondoResult_t rondoSendTagged(const void* sendbuff, size_t count, rondoDataType_t datatype, int peer, int tag,
                              rondoComm_t comm, rondoStream_t stream) {
    // The data of a send is only read.
    return message({.function = "rondoSendTagged",
                    .buffer = const_cast<void*>(sendbuff),
                    .count = count,
                    .type = datatype,
                    .message = {.send = true, .peer = peer, .tag = tag}},
                   comm, stream);
}

rondoResult_t rondoRecvTagged(void* recvbuff, size_t count, rondoDataType_t datatype, int source, int tag,
                              rondoComm_t comm, rondoMessage_t* message_out, rondoStream_t stream) {
    return message({.function = "rondoRecvTagged",
                    .buffer = recvbuff,
                    .count = count,
                    .type = datatype,
                    .message = {.peer = source, .tag = tag, .report = message_out}},
                   comm, stream);
}

}  // extern "C"
