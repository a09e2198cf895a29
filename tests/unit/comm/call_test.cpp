#include "comm/call.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rondo::comm {

namespace {

using plan::Collective;

const Call kCall{
    .collective = Collective::Reduce, .type = DataType::Float16, .op = ReduceOp::Max, .root = 3, .count = 17};

/// The call with one field changed, for every field that ranks must agree on.
std::vector<std::pair<Call, std::string>> variants() {
    std::vector<std::pair<Call, std::string>> made;
    Call call = kCall;
    call.collective = Collective::Broadcast;
    made.emplace_back(call, "operation");
    call = kCall;
    call.type = DataType::Bfloat16;
    made.emplace_back(call, "type");
    call = kCall;
    call.count = std::int64_t{1} << 40U;
    made.emplace_back(call, "count");
    call = kCall;
    call.op = ReduceOp::Min;
    made.emplace_back(call, "reduction");
    call = kCall;
    call.root = 1 << 20U;
    made.emplace_back(call, "root");
    return made;
}

}  // namespace

TEST(Call, DescribesItself) {
    EXPECT_EQ(describe(pack(kCall)), "reduce(max, half, count 17, root 3)");
    EXPECT_EQ(describe(pack({.collective = Collective::AllReduce, .type = DataType::Float32, .count = 5})),
              "all_reduce(sum, float, count 5)");
    EXPECT_EQ(describe(pack({.collective = Collective::AllGather, .type = DataType::Int8, .count = 0})),
              "all_gather(int8, count 0)");
    EXPECT_EQ(describe(pack({.collective = Collective::Barrier})), "barrier()");
}

TEST(Call, NamesTheFieldsThatDiffer) {
    EXPECT_EQ(difference(pack(kCall), pack(kCall)), "plan");
    for (const auto& [call, field] : variants()) EXPECT_EQ(difference(pack(kCall), pack(call)), field);
    Call two = kCall;
    two.count = 1;
    two.root = 0;
    EXPECT_EQ(difference(pack(kCall), pack(two)), "count, root");
}

TEST(Call, EveryFieldAndThePlanAndTheSequenceAndTheCallBeforeChangeTheSignature) {
    std::set<std::uint64_t> signatures{signature_of(1, hash_of(pack(kCall), 42), 7)};
    std::size_t made = 1;
    for (const auto& [call, field] : variants()) {
        signatures.insert(signature_of(1, hash_of(pack(call), 42), 7));
        ++made;
    }
    signatures.insert(signature_of(2, hash_of(pack(kCall), 42), 7));
    signatures.insert(signature_of(1, hash_of(pack(kCall), 43), 7));
    signatures.insert(signature_of(1, hash_of(pack(kCall), 42), 8));
    EXPECT_EQ(signatures.size(), made + 3);
}

TEST(Call, BuffersAreNotPartOfIt) {
    Call call = kCall;
    int somewhere = 0;
    call.input = &somewhere;
    call.output = &somewhere;
    EXPECT_EQ(pack(call), pack(kCall));
}

TEST(Call, TotalBytesAreTheWholeVector) {
    const Call call{.collective = Collective::AllReduce, .type = DataType::Float64, .count = 10};
    EXPECT_EQ(total_bytes(call, 4), 80);
    for (const Collective collective : {Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll}) {
        Call each = call;
        each.collective = collective;
        EXPECT_EQ(total_bytes(each, 4), 320);
    }
}

TEST(Call, TransferSignatureTellsItsBytes) {
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40U}) {
        EXPECT_EQ(transfer_bytes(transfer_signature(bytes)), bytes);
    }
    EXPECT_NE(transfer_signature(4), transfer_signature(5));
    EXPECT_EQ(transfer_bytes(signature_of(1, hash_of(pack(kCall), 42), 7)), -1);
}

}  // namespace rondo::comm
