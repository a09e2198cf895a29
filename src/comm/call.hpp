#pragma once
// A call as the user made it, and its signature: what all ranks must agree on.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cause.hpp"
#include "base/types.hpp"
#include "plan/plan.hpp"

struct rondoMessage;  // rondo.h

namespace rondo::comm {

/// One collective call. Sizes are those of plan::Plan: `count` elements in each block.
struct Call {
    plan::Collective collective = plan::Collective::Barrier;
    DataType type = DataType::Uint8;
    ReduceOp op = ReduceOp::Sum;
    Rank root = 0;
    std::int64_t count = 0;
    const void* input = nullptr;
    void* output = nullptr;
};

/// One send or receive.
struct Transfer {
    bool send = false;
    Rank peer = 0;
    std::byte* data = nullptr;  ///< of a send: only read
    std::int64_t bytes = 0;
};

inline constexpr Rank kAnySource = -1;
inline constexpr std::int32_t kAnyTag = -1;

/// One send or receive that is matched by source and tag.
struct Message {
    bool send = false;
    Rank peer = 0;         ///< of a receive: or kAnySource
    std::int32_t tag = 0;  ///< of a receive: or kAnyTag
    std::byte* data = nullptr;
    std::int64_t bytes = 0;          ///< of a receive: the most that it takes
    std::size_t element_bytes = 1;   ///< in which the report counts
    rondoMessage* report = nullptr;  ///< of a receive: filled when it is over; may be null
};

/// One operation of a communicator: a collective call, or (one of the lists not empty) sends and receives that run
/// together.
struct Operation {
    Call call;
    std::vector<Transfer> transfers;
    std::vector<Message> messages{};

    [[nodiscard]] bool point_to_point() const noexcept { return !transfers.empty() || !messages.empty(); }
};

/// Everything of a call that ranks must agree on, in a form that fits into a call record.
using PackedCall = std::array<std::uint64_t, 2>;

constexpr PackedCall pack(const Call& call) noexcept {
    return {static_cast<std::uint64_t>(call.collective) | static_cast<std::uint64_t>(call.type) << 8U |
                static_cast<std::uint64_t>(call.op) << 16U |
                static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 32U,
            static_cast<std::uint64_t>(call.count)};
}

/// "all_reduce(sum, float, count 1024)".
std::string describe(const PackedCall& packed);

/// "all_reduce".
std::string_view operation_of(const PackedCall& packed) noexcept;

/// The fields in which two calls differ: "count", "operation, type", ...; "plan" where all fields are equal.
std::string difference(const PackedCall& a, const PackedCall& b);

/// The cause of failure where two ranks have made different calls with this sequence, seen by rank `a`.
Cause disagreement_of(std::uint64_t sequence, Rank a, const PackedCall& call_a, Rank b, const PackedCall& call_b);

/// Size of the call as nccl-tests counts it: the whole vector, all blocks of the larger side.
std::int64_t total_bytes(const Call& call, Rank nranks) noexcept;

inline constexpr std::uint64_t kTransferMask = 0xffff'0000'0000'0000U;
inline constexpr std::uint64_t kTransferMark = 0x7032'0000'0000'0000U;

/// Mixes `word` into `hash`: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
    hash = (hash ^ word) + 0x9e3779b97f4a7c15U;
    hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ hash >> 27U) * 0x94d049bb133111ebU;
    return hash ^ hash >> 31U;
}

/// What ranks must agree on, but for the sequence: the call and what their plans have in common.
constexpr std::uint64_t hash_of(const PackedCall& call, std::uint64_t plan_hash) noexcept {
    return mix(mix(plan_hash, call[0]), call[1]);
}

/// The signature that every message and record of a call carries. It goes on from that of the call before: ranks that
/// have disagreed in a call that needed nothing of each other find out in their next.
constexpr std::uint64_t signature_of(std::uint64_t sequence, std::uint64_t call_hash, std::uint64_t before) noexcept {
    return mix(call_hash ^ sequence, before);
}

/// The signature of a transfer: both ends must name the same number of bytes. It is no hash, so that whoever meets the
/// wrong one can say how many bytes it stands for; a mark in its top bits sets it apart from most signatures of calls.
constexpr std::uint64_t transfer_signature(std::int64_t bytes) noexcept {
    return kTransferMark | (static_cast<std::uint64_t>(bytes) & ~kTransferMask);
}

/// The bytes of a transfer's signature; -1 for the signature of a collective call.
constexpr std::int64_t transfer_bytes(std::uint64_t signature) noexcept {
    return (signature & kTransferMask) == kTransferMark ? static_cast<std::int64_t>(signature & ~kTransferMask) : -1;
}

}  // namespace rondo::comm
