/* Rondo: collective communication for GPUs and CPUs. The C interface; its ABI is stable within a major version.
 *
 * Names, argument order and in-place rules are those that users of NCCL know. What holds for every function:
 *
 *  - Errors. Every function returns a rondoResult_t. Anything but rondoSuccess and rondoInProgress leaves a text that
 *    rondoGetLastError returns; it names the rank, the peer, the call, the limit and the remedy.
 *  - Counts are numbers of elements, never bytes. A count of 0 is legal in every collective: no byte is touched, null
 *    pointers are allowed, and the call still takes its place in the order of operations.
 *  - Order. Every rank of a communicator makes the same collective calls in the same order.
 *  - Buffers. On a host communicator buffers are ordinary memory with any alignment. They belong to the library from
 *    the call until it returns (blocking) or until the stream reaches the end of the operation (with a stream).
 *  - In place. Each function says which overlap of its buffers is allowed. Any other overlap is rondoInvalidArgument.
 *  - Streams. `stream` null on a host communicator: the call blocks, and the result is there on return. Otherwise the
 *    operation is queued on the stream and the call returns at once.
 *  - Threads. Different communicators may be used from different threads at once. One communicator belongs to one
 *    thread at a time; a second one gets rondoInvalidUsage (rondoCommAbort and rondoCommGetAsyncError are exempt).
 */
#ifndef RONDO_RONDO_H_
#define RONDO_RONDO_H_

#include <stddef.h>
#include <stdint.h>

#define RONDO_MAJOR 0
#define RONDO_MINOR 1
#define RONDO_PATCH 0
#define RONDO_VERSION_CODE (RONDO_MAJOR * 10000 + RONDO_MINOR * 100 + RONDO_PATCH)

#if defined(_WIN32)
#define RONDO_API
#else
#define RONDO_API __attribute__((visibility("default")))
#endif

/* In C++ an enumeration has only the range of its enumerators; the library has to look at any number that it gets. */
#ifdef __cplusplus
#define RONDO_AS_INT : int
#else
#define RONDO_AS_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One rank's handle on a group of ranks. */
typedef struct rondoComm* rondoComm_t;

/* On a host communicator a stream made by rondoStreamCreate; on a CUDA communicator the user's cudaStream_t. */
typedef struct rondoStream* rondoStream_t;

typedef enum RONDO_AS_INT {
    rondoSuccess = 0,
    rondoUnhandledCudaError = 1,
    rondoSystemError = 2,     /* a call to the operating system failed */
    rondoInternalError = 3,   /* a fault of the library */
    rondoInvalidArgument = 4, /* an argument is wrong; found without communication */
    rondoInvalidUsage = 5,    /* ranks disagree, or the interface is misused */
    rondoRemoteError = 6,     /* another rank failed or went away */
    rondoInProgress = 7,      /* not an error: ask again with rondoCommGetAsyncError */
    rondoTimeout = 8,         /* a deadline passed */
    rondoAborted = 9          /* the communicator was aborted */
} rondoResult_t;

/* Values are NCCL's where NCCL has the type. */
typedef enum RONDO_AS_INT {
    rondoInt8 = 0,
    rondoChar = 0,
    rondoUint8 = 1,
    rondoInt32 = 2,
    rondoInt = 2,
    rondoUint32 = 3,
    rondoInt64 = 4,
    rondoUint64 = 5,
    rondoFloat16 = 6,
    rondoHalf = 6,
    rondoFloat32 = 7,
    rondoFloat = 7,
    rondoFloat64 = 8,
    rondoDouble = 8,
    rondoBfloat16 = 9,
    rondoInt16 = 12,
    rondoUint16 = 13
} rondoDataType_t;

/* Integer sums and products wrap; integer averages truncate toward zero; min and max propagate NaN. 16-bit floats are
 * added in float32 within a step and rounded when a step writes. All ranks get the same bits. */
typedef enum RONDO_AS_INT { rondoSum = 0, rondoProd = 1, rondoMax = 2, rondoMin = 3, rondoAvg = 4 } rondoRedOp_t;

#define RONDO_UNIQUE_ID_BYTES 128
typedef struct {
    char internal[RONDO_UNIQUE_ID_BYTES];
} rondoUniqueId;

/* How a communicator behaves. Start from RONDO_CONFIG_INITIALIZER and change fields; `size` lets an older program run
 * with a newer library. A field left at its initial value follows the RONDO_* setting of its name. */
typedef struct {
    size_t size;          /* sizeof(rondoConfig_t) of the caller */
    const char* device;   /* where buffers live: "host" */
    int blocking;         /* 1: init returns when all ranks are there; 0: at once with rondoInProgress */
    double timeout;       /* seconds that an operation or init may wait for other ranks; <= 0: RONDO_TIMEOUT */
    const char* commName; /* appears in logs and errors; may be null */
    const char* algo;     /* as RONDO_ALGO; null: follow the setting */
    int slots;            /* slots of a FIFO, 1 to 64; 0: RONDO_NSLOTS */
    double stallWarning;  /* seconds after which a wait is reported by a warning; 0: never; < 0: RONDO_STALL_WARNING */
} rondoConfig_t;

#define RONDO_CONFIG_INITIALIZER \
    { sizeof(rondoConfig_t), "host", 1, 0.0, NULL, NULL, 0, -1.0 }

/* What a failed communicator knows of its first cause. Strings live as long as the communicator; "" where a field has
 * no meaning. */
typedef struct {
    size_t size;           /* sizeof(rondoErrorInfo_t) of the caller, set before the call */
    rondoResult_t code;    /* rondoSuccess while nothing has failed */
    int rank;              /* that met the failure first; -1: unknown */
    int peer;              /* that it has to do with; -1: none */
    uint64_t sequence;     /* number of the call on this communicator, counted from 1; 0: none */
    const char* operation; /* "all_reduce", "send/recv", "init", ... */
    const char* object;    /* interface, address, file, setting, field */
    const char* limit;     /* that was passed, with its unit */
    const char* number;    /* that passed it */
    const char* cause;     /* the whole story */
    const char* remedy;    /* what to do */
} rondoErrorInfo_t;

#define RONDO_SPLIT_NOCOLOR (-1)

#define RONDO_ANY_SOURCE (-1)
#define RONDO_ANY_TAG (-1)

/* What rondoRecvTagged has received. */
typedef struct rondoMessage {
    int source;
    int tag;
    size_t bytes; /* of the message */
    size_t count; /* the same in whole elements of the receive's datatype */
} rondoMessage_t;

/* --- Library ------------------------------------------------------------------------------------------------- */

/* The version as major*10000 + minor*100 + patch. Errors: InvalidArgument if version is null. */
RONDO_API rondoResult_t rondoGetVersion(int* version);

/* One line: version, commit, compiler, build type, SIMD target in use. The string lives as long as the library. */
RONDO_API const char* rondoGetBuildInfo(void);

/* What the code means, in a few words; never null. The particulars are in rondoGetLastError. */
RONDO_API const char* rondoGetErrorString(rondoResult_t result);

/* The text of the last error: of `comm` (its first cause, once it has failed, whichever thread met it), or with comm
 * null of the calling thread's last failed call. "" if there was none. Valid until the next failing call of this
 * thread, or until the communicator is destroyed. */
RONDO_API const char* rondoGetLastError(rondoComm_t comm);

/* --- Communicators ------------------------------------------------------------------------------------------- */

/* A new id for rondoCommInitRank; one rank makes it and hands it to the others. Each id serves one communicator. */
RONDO_API rondoResult_t rondoGetUniqueId(rondoUniqueId* id);

/* What a launcher has put into the environment: an id that every process of the job computes alike, the number of
 * processes and this one's number. In this order: RONDO_COMM_ID (host:port of process 0), RONDO_RANK, RONDO_NRANKS;
 * torchrun's MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE; Slurm's SLURM_* variables. The id carries a secret made from
 * RONDO_COMM_SECRET or RONDO_COMM_SECRET_FILE; without one it serves loopback addresses only. With several ranks in
 * each process: process p of P with T threads has ranks p*T to p*T+T-1 of P*T. Each call in a process makes the id of
 * one more communicator. Errors: InvalidArgument naming the variable that is missing or wrong. */
RONDO_API rondoResult_t rondoGetUniqueIdFromEnvironment(rondoUniqueId* id, int* nprocs, int* proc);

/* Joins the communicator `id` of `nranks` ranks as rank `rank`. Ranks are threads of one process, processes of one
 * host, or of several; every rank calls it, each in its own thread (or all of a process from one thread inside a group,
 * or with blocking = 0). The process that made the id must live as long as the communicator.
 * Blocking: returns when all ranks have joined. Errors: InvalidArgument (null pointer, nranks < 1, rank outside
 * [0, nranks), bad config or setting), InvalidUsage (rank taken, other nranks than the first rank gave, id used
 * before, settings differ between ranks), Timeout (names the ranks that are missing). */
RONDO_API rondoResult_t rondoCommInitRank(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank);

/* The same with a configuration; config null: the defaults. Non-blocking (config->blocking = 0): *comm is set and
 * rondoInProgress returned; the communicator may be used once rondoCommGetAsyncError reports rondoSuccess. */
RONDO_API rondoResult_t rondoCommInitRankConfig(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank,
                                                const rondoConfig_t* config);

/* A communicator of `nranks` ranks in one call: comms[0..nranks), comms[i] being rank i, to be used from one thread
 * each, or together from one thread inside groups. config null: the defaults. */
RONDO_API rondoResult_t rondoCommInitAll(rondoComm_t* comms, int nranks, const rondoConfig_t* config);

/* Flushes: waits until the operations that this rank has queued are done. The communicator then takes no more. */
RONDO_API rondoResult_t rondoCommFinalize(rondoComm_t comm);

/* Frees the communicator; finalizes first if that was not done. Local: waits for no other rank beyond the operations
 * already queued. A peer that waits for this rank afterwards gets rondoRemoteError. */
RONDO_API rondoResult_t rondoCommDestroy(rondoComm_t comm);

/* Ends all work of the communicator now, from any thread, while any call is running. Calls that wait return
 * rondoAborted on this rank and rondoRemoteError, naming this rank, on the others; no peer touches this rank's buffers
 * after the return. Takes at most 2 s. The handle stays valid until rondoCommDestroy. */
RONDO_API rondoResult_t rondoCommAbort(rondoComm_t comm);

/* State of a communicator: *result is rondoInProgress while a non-blocking init runs, rondoSuccess while all is well,
 * else the first error. */
RONDO_API rondoResult_t rondoCommGetAsyncError(rondoComm_t comm, rondoResult_t* result);

/* Fills *info with the first cause, field by field. info->size must be set. */
RONDO_API rondoResult_t rondoCommGetErrorInfo(rondoComm_t comm, rondoErrorInfo_t* info);

/* For the calls from now on: seconds that a call may wait without progress (> 0), and after which a stall is reported
 * by a warning (0: never). Around a single call it is that call's timeout. */
RONDO_API rondoResult_t rondoCommSetTimeout(rondoComm_t comm, double timeout, double stallWarning);

/* Splits: ranks that pass the same color (>= 0) form a new communicator, ordered by key, equal keys by their old ranks.
 * Collective: every rank of comm calls it. With RONDO_SPLIT_NOCOLOR a rank takes part and gets *newcomm = NULL. config
 * null: as comm. Errors: InvalidArgument (color below -1), those of a collective call and of init. */
RONDO_API rondoResult_t rondoCommSplit(rondoComm_t comm, int color, int key, rondoComm_t* newcomm,
                                       const rondoConfig_t* config);

/* The communicator of those ranks of comm that are not in exclude[0..count), in their old order. Called by those that
 * stay, all with the same list; works after a failure as well, and needs nothing from those left out: dead, stopped or
 * gone. comm stays as it is. config null: as comm. Errors: InvalidArgument (a rank outside, listed twice, or the
 * caller's own), InvalidUsage (comm failed before all of its ranks had joined), those of init. */
RONDO_API rondoResult_t rondoCommShrink(rondoComm_t comm, const int* exclude, int count, rondoComm_t* newcomm,
                                        const rondoConfig_t* config);

RONDO_API rondoResult_t rondoCommCount(rondoComm_t comm, int* count);
RONDO_API rondoResult_t rondoCommUserRank(rondoComm_t comm, int* rank);

/* The plan that this rank's last operation ran, for example "all_reduce/one_shot/n2/c1/chunk112/3f2a...". The text is
 * cut to `bytes` - 1 characters. "" before the first operation. */
RONDO_API rondoResult_t rondoCommGetLastPlan(rondoComm_t comm, char* text, size_t bytes);

/* Bytes and messages that this rank has sent to, and (Direct plans) loaded from or stored to, each peer since init:
 * arrays of one element for each rank, any of them null. Payload only. */
RONDO_API rondoResult_t rondoCommGetTraffic(rondoComm_t comm, uint64_t* sent_bytes, uint64_t* sent_messages,
                                            uint64_t* direct_bytes);

/* What the last operation's plan moves by its own arithmetic, in the same units: what rondoCommGetTraffic grew by. */
RONDO_API rondoResult_t rondoCommGetPlannedTraffic(rondoComm_t comm, uint64_t* sent_bytes, uint64_t* sent_messages,
                                                   uint64_t* direct_bytes);

/* --- Collectives --------------------------------------------------------------------------------------------- */

/* recvbuff[i] = op over ranks of sendbuff[i], i < count. In place: sendbuff == recvbuff. */
RONDO_API rondoResult_t rondoAllReduce(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype,
                                       rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream);

/* As rondoAllReduce, result on `root` only; recvbuff is not used elsewhere and may be null there. In place (root):
 * sendbuff == recvbuff. */
RONDO_API rondoResult_t rondoReduce(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype,
                                    rondoRedOp_t op, int root, rondoComm_t comm, rondoStream_t stream);

/* recvbuff = root's sendbuff. sendbuff is used on root only and may be null elsewhere. In place: sendbuff == recvbuff.
 */
RONDO_API rondoResult_t rondoBroadcast(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype,
                                       int root, rondoComm_t comm, rondoStream_t stream);

/* recvbuff[r*sendcount + i] = sendbuff[i] of rank r. In place: sendbuff == recvbuff + rank*sendcount. */
RONDO_API rondoResult_t rondoAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, rondoDataType_t datatype,
                                       rondoComm_t comm, rondoStream_t stream);

/* recvbuff[i] = op over ranks of sendbuff[rank*recvcount + i], i < recvcount.
 * In place: recvbuff == sendbuff + rank*recvcount. */
RONDO_API rondoResult_t rondoReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                           rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                                           rondoStream_t stream);

/* recvbuff[r*count + i] = sendbuff[rank*count + i] of rank r. No overlap is allowed. */
RONDO_API rondoResult_t rondoAllToAll(const void* sendbuff, void* recvbuff, size_t count, rondoDataType_t datatype,
                                      rondoComm_t comm, rondoStream_t stream);

/* Sends to, and receives from, `peer`. The k-th send of a pair meets its k-th receive; both name the same number of
 * bytes. Outside a group a send of at most one FIFO (slots x slot size) returns before the receiver comes; a longer
 * one waits for it. Inside a group any pattern of sends and receives completes. A rank may send to itself in a group.
 */
RONDO_API rondoResult_t rondoSend(const void* sendbuff, size_t count, rondoDataType_t datatype, int peer,
                                  rondoComm_t comm, rondoStream_t stream);
RONDO_API rondoResult_t rondoRecv(void* recvbuff, size_t count, rondoDataType_t datatype, int peer, rondoComm_t comm,
                                  rondoStream_t stream);

/* Sends a message with a tag to `peer`, which may be the caller itself. tag: 0 to 2^31 - 1. A short message (up to one
 * slot and 256 KiB) is done when it is on its way, as long as no more than 1 MiB of them lie at the peer without a
 * receive; any other one is done when its receive has come and the data is on its way.
 * On a stream a message waits beside the communicator's other operations: a receive, or a collective, may be called
 * while it waits. Messages on streams that have nothing else to do begin in the order of their calls, others when their
 * stream reaches them. Inside a group all sends and receives run together. Tagged messages do not meet rondoSend and
 * rondoRecv, and rondoCommGetTraffic does not count them. */
RONDO_API rondoResult_t rondoSendTagged(const void* sendbuff, size_t count, rondoDataType_t datatype, int peer, int tag,
                                        rondoComm_t comm, rondoStream_t stream);

/* Receives the first message with this tag from `source`; either may be RONDO_ANY_TAG, RONDO_ANY_SOURCE. Messages of
 * one source that fit are received in the order of their sends, and receives are served in the order of their calls.
 * count: the most that fits; the message may be shorter, also of another datatype. *message, if not null, says what
 * came; with a stream it must live until the stream has passed the call. Errors: InvalidArgument for a message longer
 * than the buffer, naming both sizes and filling *message; nothing is written to the buffer, the message stays first in
 * line, and the communicator is whole. */
RONDO_API rondoResult_t rondoRecvTagged(void* recvbuff, size_t count, rondoDataType_t datatype, int source, int tag,
                                        rondoComm_t comm, rondoMessage_t* message, rondoStream_t stream);

/* Returns (or lets the stream go on) when every rank has called it. */
RONDO_API rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream);

/* Calls between Start and End are collected and run at the outermost End: sends and receives of a communicator
 * together, then its collectives in order; several communicators make progress together, so that one thread can drive
 * all ranks. Groups nest. If a call inside fails, End runs nothing and returns the first error. */
RONDO_API rondoResult_t rondoGroupStart(void);
RONDO_API rondoResult_t rondoGroupEnd(void);

/* --- Host streams -------------------------------------------------------------------------------------------- */

/* A queue with a thread of its own that runs operations in the order of their calls. */
RONDO_API rondoResult_t rondoStreamCreate(rondoStream_t* stream);
/* Waits for what is queued, then frees the stream. */
RONDO_API rondoResult_t rondoStreamDestroy(rondoStream_t stream);
/* Waits for what is queued. Returns the first error of the operations since the last synchronize. */
RONDO_API rondoResult_t rondoStreamSynchronize(rondoStream_t stream);
/* rondoSuccess when nothing is queued or running, rondoInProgress otherwise, or the first error. */
RONDO_API rondoResult_t rondoStreamQuery(rondoStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_RONDO_H_ */
