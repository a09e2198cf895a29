#include "comm/call.hpp"

#include <fmt/core.h>

namespace rondo::comm {

namespace {

struct Unpacked {
    plan::Collective collective;
    DataType type;
    ReduceOp op;
    Rank root;
    std::uint64_t count;
};

Unpacked unpack(const PackedCall& call) {
    return {.collective = static_cast<plan::Collective>(call[0] & 0xffU),
            .type = static_cast<DataType>(call[0] >> 8U & 0xffU),
            .op = static_cast<ReduceOp>(call[0] >> 16U & 0xffU),
            .root = static_cast<Rank>(call[0] >> 32U),
            .count = call[1]};
}

}  // namespace

std::string describe(const PackedCall& packed) {
    const Unpacked call = unpack(packed);
    std::string text = fmt::format("{}(", plan::name_of(call.collective));
    if (call.collective == plan::Collective::Barrier) return text + ")";
    if (plan::reduces(call.collective)) text += fmt::format("{}, ", name_of(call.op));
    text += fmt::format("{}, count {}", name_of(call.type), call.count);
    if (plan::rooted(call.collective)) text += fmt::format(", root {}", call.root);
    return text + ")";
}

std::string_view operation_of(const PackedCall& packed) noexcept { return plan::name_of(unpack(packed).collective); }

std::string difference(const PackedCall& a, const PackedCall& b) {
    const Unpacked x = unpack(a);
    const Unpacked y = unpack(b);
    std::string text;
    const auto note = [&text](bool differs, const char* field) {
        if (differs) text += (text.empty() ? "" : ", ") + std::string(field);
    };
    note(x.collective != y.collective, "operation");
    note(x.type != y.type, "type");
    note(x.count != y.count, "count");
    note(x.op != y.op, "reduction");
    note(x.root != y.root, "root");
    return text.empty() ? "plan" : text;
}

Cause disagreement_of(std::uint64_t sequence, Rank a, const PackedCall& call_a, Rank b, const PackedCall& call_b) {
    const std::string fields = difference(call_a, call_b);
    return {.code = Code::InvalidUsage,
            .rank = a,
            .peer = b,
            .text = fmt::format(
                "call {}: rank {} called {}, rank {} called {}; they differ in: {}{}", sequence, a, describe(call_a), b,
                describe(call_b), fields,
                fields == "plan"
                    ? " (RONDO_ALGO, RONDO_PROTO or sizes of buffers differ between ranks, or an earlier call did)"
                    : ""),
            .operation = std::string(operation_of(call_a)),
            .sequence = sequence,
            .object = fields,
            .limit = describe(call_a),
            .number = describe(call_b),
            .remedy = "make the same calls in the same order on every rank"};
}

std::int64_t total_bytes(const Call& call, Rank nranks) noexcept {
    const std::int64_t block = call.count * static_cast<std::int64_t>(size_of(call.type));
    switch (call.collective) {
        case plan::Collective::AllGather:
        case plan::Collective::ReduceScatter:
        case plan::Collective::AllToAll: return block * nranks;
        default: return block;
    }
}

}  // namespace rondo::comm
