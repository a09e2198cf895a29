// MPI's collectives on the arguments of Rondo's, for figures beside each other.

#include <mpi.h>

#include <array>
#include <utility>

#include "driver/mpi.hpp"

namespace rondo::perf::mpi {

namespace {

MPI_Datatype type_of(rondoDataType_t type) noexcept {
    switch (type) {
        case rondoInt8: return MPI_INT8_T;
        case rondoUint8: return MPI_UINT8_T;
        case rondoInt16: return MPI_INT16_T;
        case rondoUint16: return MPI_UINT16_T;
        case rondoInt32: return MPI_INT32_T;
        case rondoUint32: return MPI_UINT32_T;
        case rondoInt64: return MPI_INT64_T;
        case rondoUint64: return MPI_UINT64_T;
        case rondoFloat32: return MPI_FLOAT;
        case rondoFloat64: return MPI_DOUBLE;
        default: return MPI_DATATYPE_NULL;  // 16-bit floats
    }
}

MPI_Op op_of(rondoRedOp_t op) noexcept {
    switch (op) {
        case rondoSum: return MPI_SUM;
        case rondoProd: return MPI_PROD;
        case rondoMax: return MPI_MAX;
        case rondoMin: return MPI_MIN;
        default: return MPI_OP_NULL;  // the average
    }
}

rondoResult_t result_of(int code) noexcept { return code == MPI_SUCCESS ? rondoSuccess : rondoInvalidArgument; }

int count_of(const Call& c) noexcept { return static_cast<int>(c.count); }

rondoResult_t all_reduce(const Call& c) {
    return result_of(MPI_Allreduce(c.send, c.recv, count_of(c), type_of(c.type), op_of(c.op), MPI_COMM_WORLD));
}

rondoResult_t reduce(const Call& c) {
    return result_of(MPI_Reduce(c.send, c.recv, count_of(c), type_of(c.type), op_of(c.op), c.root, MPI_COMM_WORLD));
}

/// MPI broadcasts in place: the root's receive buffer is not written.
rondoResult_t broadcast(const Call& c) {
    void* const buffer = c.where.rank == c.root ? const_cast<void*>(c.send) : c.recv;
    return result_of(MPI_Bcast(buffer, count_of(c), type_of(c.type), c.root, MPI_COMM_WORLD));
}

rondoResult_t all_gather(const Call& c) {
    const MPI_Datatype type = type_of(c.type);
    return result_of(MPI_Allgather(c.send, count_of(c), type, c.recv, count_of(c), type, MPI_COMM_WORLD));
}

rondoResult_t reduce_scatter(const Call& c) {
    return result_of(
        MPI_Reduce_scatter_block(c.send, c.recv, count_of(c), type_of(c.type), op_of(c.op), MPI_COMM_WORLD));
}

rondoResult_t all_to_all(const Call& c) {
    const MPI_Datatype type = type_of(c.type);
    return result_of(MPI_Alltoall(c.send, count_of(c), type, c.recv, count_of(c), type, MPI_COMM_WORLD));
}

rondoResult_t send_recv(const Call& c) {
    const MPI_Datatype type = type_of(c.type);
    return result_of(MPI_Sendrecv(c.send, count_of(c), type, next_rank(c.where), 0, c.recv, count_of(c), type,
                                  previous_rank(c.where), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

rondoResult_t barrier(const Call&) { return result_of(MPI_Barrier(MPI_COMM_WORLD)); }

constexpr std::array<std::pair<std::string_view, OwnCall>, 8> kCalls{{{"all_reduce_perf", all_reduce},
                                                                      {"reduce_perf", reduce},
                                                                      {"broadcast_perf", broadcast},
                                                                      {"all_gather_perf", all_gather},
                                                                      {"reduce_scatter_perf", reduce_scatter},
                                                                      {"alltoall_perf", all_to_all},
                                                                      {"sendrecv_perf", send_recv},
                                                                      {"barrier_perf", barrier}}};

}  // namespace

OwnCall own_call(std::string_view program) noexcept {
    for (const auto& [name, call] : kCalls) {
        if (name == program) return call;
    }
    return nullptr;
}

bool has(rondoDataType_t type, bool reduces, rondoRedOp_t op) noexcept {
    return type_of(type) != MPI_DATATYPE_NULL && (!reduces || op_of(op) != MPI_OP_NULL);
}

}  // namespace rondo::perf::mpi
