// The collective calls: check the arguments, make the call, hand it on.

#include "api/checks.hpp"
#include "api/guard.hpp"
#include "comm/group.hpp"

namespace {

using rondo::plan::Collective;

rondoResult_t collective(const rondo::api::Arguments& arguments, rondoComm_t handle, rondoStream_t stream) {
    return rondo::api::guarded([&] {
        rondo::comm::Communicator& comm = rondo::api::open_handle(handle, arguments.function);
        rondo::comm::submit(comm, {.call = rondo::api::check(arguments, comm.rank(), comm.nranks()), .transfers = {}},
                            rondo::api::open_stream(stream));
    });
}

rondoResult_t transfer(const char* function, bool send, void* buffer, size_t count, rondoDataType_t datatype, int peer,
                       rondoComm_t handle, rondoStream_t stream) {
    return rondo::api::guarded([&] {
        rondo::comm::Communicator& comm = rondo::api::open_handle(handle, function);
        const rondo::DataType type = rondo::api::check_type(datatype, function);
        const std::int64_t bytes = rondo::api::check_bytes(count, type, 1, function);
        if (peer < 0 || peer >= comm.nranks()) {
            throw rondo::make_error(rondo::Code::InvalidArgument, "{}: peer {} is no rank; allowed: 0 to {}", function,
                                    peer, comm.nranks() - 1);
        }
        if (buffer == nullptr && bytes > 0) {
            throw rondo::make_error(rondo::Code::InvalidArgument, "{}: the buffer is null with count {}", function,
                                    count);
        }
        if (peer == comm.rank() && !rondo::comm::Group::current().open()) {
            throw rondo::make_error(
                rondo::Code::InvalidUsage,
                "{}: rank {} with itself, outside a group, would wait for ever; put the send and the "
                "receive into one group",
                function, peer);
        }
        rondo::comm::Operation operation;
        operation.transfers.push_back(
            {.send = send, .peer = peer, .data = static_cast<std::byte*>(buffer), .bytes = bytes});
        rondo::comm::submit(comm, std::move(operation), rondo::api::open_stream(stream));
    });
}

}  // namespace

extern "C" {

rondoResult_t rondoAllReduce(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype,
                             rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
    return collective({.function = "rondoAllReduce",
                       .collective = Collective::AllReduce,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = datatype,
                       .op = op},
                      comm, stream);
}

rondoResult_t rondoReduce(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype, rondoRedOp_t op,
                          int root, rondoComm_t comm, rondoStream_t stream) {
    return collective({.function = "rondoReduce",
                       .collective = Collective::Reduce,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = datatype,
                       .op = op,
                       .root = root},
                      comm, stream);
}

rondoResult_t rondoBroadcast(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype, int root,
                             rondoComm_t comm, rondoStream_t stream) {
    return collective({.function = "rondoBroadcast",
                       .collective = Collective::Broadcast,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = datatype,
                       .root = root},
                      comm, stream);
}

rondoResult_t rondoAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, rondoDataType_t datatype,
                             rondoComm_t comm, rondoStream_t stream) {
    return collective({.function = "rondoAllGather",
                       .collective = Collective::AllGather,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = sendcount,
                       .type = datatype},
                      comm, stream);
}

rondoResult_t rondoReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, rondoDataType_t datatype,
                                 rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
    return collective({.function = "rondoReduceScatter",
                       .collective = Collective::ReduceScatter,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = recvcount,
                       .type = datatype,
                       .op = op},
                      comm, stream);
}

rondoResult_t rondoAllToAll(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype,
                            rondoComm_t comm, rondoStream_t stream) {
    return collective({.function = "rondoAllToAll",
                       .collective = Collective::AllToAll,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = datatype},
                      comm, stream);
}

rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream) {
    // A barrier's messages carry one byte that says nothing; the user has no buffer in it.
    static constexpr std::byte kByte{};
    return rondo::api::guarded([&] {
        rondo::comm::Communicator& open = rondo::api::open_handle(comm, "rondoBarrier");
        rondo::comm::submit(open,
                            {.call = {.collective = Collective::Barrier, .count = 1, .input = &kByte}, .transfers = {}},
                            rondo::api::open_stream(stream));
    });
}

rondoResult_t rondoSend(const void* sendbuff, size_t count, rondoDataType_t datatype, int peer, rondoComm_t comm,
                        rondoStream_t stream) {
    // The transfer of a send is only read.
    return transfer("rondoSend", true, const_cast<void*>(sendbuff), count, datatype, peer, comm, stream);
}

rondoResult_t rondoRecv(void* recvbuff, size_t count, rondoDataType_t datatype, int peer, rondoComm_t comm,
                        rondoStream_t stream) {
    return transfer("rondoRecv", false, recvbuff, count, datatype, peer, comm, stream);
}

rondoResult_t rondoGroupStart(void) {
    rondo::comm::Group::current().start();
    return rondoSuccess;
}

rondoResult_t rondoGroupEnd(void) {
    return rondo::api::guarded([] { rondo::comm::Group::current().end(); });
}

}  // extern "C"
