#include "calls.hpp"

#include <algorithm>
#include <array>
#include <istream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rondo::test {

namespace {

constexpr std::array<std::pair<std::string_view, Function>, 7> kNames{{{"all_reduce", Function::AllReduce},
                                                                       {"reduce", Function::Reduce},
                                                                       {"broadcast", Function::Broadcast},
                                                                       {"all_gather", Function::AllGather},
                                                                       {"reduce_scatter", Function::ReduceScatter},
                                                                       {"all_to_all", Function::AllToAll},
                                                                       {"barrier", Function::Barrier}}};

constexpr std::array<std::pair<std::string_view, rondoDataType_t>, 3> kTypes{
    {{"uint32", rondoUint32}, {"int32", rondoInt32}, {"float", rondoFloat32}}};

constexpr std::array<std::pair<std::string_view, rondoRedOp_t>, 3> kOps{
    {{"sum", rondoSum}, {"max", rondoMax}, {"min", rondoMin}}};

template <class Table>
auto look_up(const Table& table, const std::string& word) {
    for (const auto& [name, value] : table) {
        if (name == word) return value;
    }
    throw std::runtime_error("unknown word '" + word + "'");
}

template <class Table, class Value>
std::string name_in(const Table& table, Value value) {
    for (const auto& [name, candidate] : table) {
        if (candidate == value) return std::string(name);
    }
    return "?";
}

/// Sizes of the input and the output in multiples of count.
struct Sizes {
    std::size_t in = 1;
    std::size_t out = 1;
};

Sizes sizes_of(Function function, int nranks) {
    const auto n = static_cast<std::size_t>(nranks);
    switch (function) {
        case Function::AllGather: return {1, n};
        case Function::ReduceScatter: return {n, 1};
        case Function::AllToAll: return {n, n};
        case Function::Barrier: return {0, 0};
        default: return {1, 1};
    }
}

/// All ranks' elements i reduced.
std::uint32_t reduced(const Call& call, int nranks, std::size_t i) {
    std::uint32_t value = value_of(0, call.number, i);
    for (int rank = 1; rank < nranks; ++rank) {
        const std::uint32_t other = value_of(rank, call.number, i);
        value = call.op == rondoSum   ? value + other
                : call.op == rondoMax ? std::max(value, other)
                                      : std::min(value, other);
    }
    return value;
}

std::uint32_t expected(const Call& call, int rank, int nranks, std::size_t i) {
    const std::size_t block = call.count == 0 ? 0 : i / call.count;
    const std::size_t within = call.count == 0 ? 0 : i % call.count;
    const auto me = static_cast<std::size_t>(rank);
    switch (call.function) {
        case Function::AllGather: return value_of(static_cast<int>(block), call.number, within);
        case Function::ReduceScatter: return reduced(call, nranks, me * call.count + i);
        case Function::AllToAll: return value_of(static_cast<int>(block), call.number, me * call.count + within);
        case Function::Broadcast: return value_of(call.root, call.number, i);
        default: return reduced(call, nranks, i);
    }
}

}  // namespace

void fill(std::vector<std::uint32_t>& data, int rank, std::uint32_t number) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = value_of(rank, number, i);
}

std::size_t wrong_sum(const std::vector<std::uint32_t>& data, int nranks, std::uint32_t number, std::size_t begin,
                      std::size_t stride) {
    const Call call{Function::AllReduce, rondoUint32, data.size(), rondoSum, 0, number};
    const auto is_wrong = [&](std::size_t i) { return data[i] != reduced(call, nranks, i); };
    for (std::size_t i = begin; i < data.size(); i += stride) {
        if (is_wrong(i)) return i;
    }
    return data.size() > begin && is_wrong(data.size() - 1) ? data.size() - 1 : data.size();
}

Call parse_call(std::istream& words, std::uint32_t number) {
    std::string function;
    std::string type;
    std::string op;
    Call call;
    call.number = number;
    words >> function >> type >> call.count >> op >> call.root;
    if (!words) throw std::runtime_error("a call needs NAME TYPE COUNT OP ROOT");
    call.function = look_up(kNames, function);
    call.type = look_up(kTypes, type);
    call.op = look_up(kOps, op);
    return call;
}

Call draw_call(std::mt19937_64& random, int nranks, std::uint32_t number) {
    constexpr std::size_t kMost[] = {1, 8, 64, 64, 512, 512, 3000, 3000};
    Call call;
    call.function = kFunctions[random() % std::size(kFunctions)];
    call.count = random() % (kMost[random() % std::size(kMost)] + 1);
    if (random() % 4096 == 0) call.count = 100'000;
    call.op = kOps[random() % kOps.size()].second;
    call.root = static_cast<int>(random() % static_cast<std::uint64_t>(nranks));
    call.number = number;
    return call;
}

std::string text_of(const Call& call) {
    return name_in(kNames, call.function) + " " + name_in(kTypes, call.type) + " " + std::to_string(call.count) + " " +
           name_in(kOps, call.op) + " root " + std::to_string(call.root);
}

void prepare(const Call& call, int rank, int nranks, Buffers& buffers) {
    const Sizes sizes = sizes_of(call.function, nranks);
    buffers.in.resize(sizes.in * call.count);
    buffers.out.assign(sizes.out * call.count, 0xDEADBEEF);
    fill(buffers.in, rank, call.number);
}

rondoResult_t make(const Call& c, Buffers& b, rondoComm_t comm) {
    const void* const in = b.in.data();
    void* const out = b.out.data();
    switch (c.function) {
        case Function::AllReduce: return rondoAllReduce(in, out, c.count, c.type, c.op, comm, nullptr);
        case Function::Reduce: return rondoReduce(in, out, c.count, c.type, c.op, c.root, comm, nullptr);
        case Function::Broadcast: return rondoBroadcast(in, out, c.count, c.type, c.root, comm, nullptr);
        case Function::AllGather: return rondoAllGather(in, out, c.count, c.type, comm, nullptr);
        case Function::ReduceScatter: return rondoReduceScatter(in, out, c.count, c.type, c.op, comm, nullptr);
        case Function::AllToAll: return rondoAllToAll(in, out, c.count, c.type, comm, nullptr);
        case Function::Barrier: break;
    }
    return rondoBarrier(comm, nullptr);
}

std::size_t first_wrong(const Call& call, int rank, int nranks, const Buffers& buffers) {
    if (call.function == Function::Reduce && rank != call.root) return kNone;
    for (std::size_t i = 0; i < buffers.out.size(); ++i) {
        if (buffers.out[i] != expected(call, rank, nranks, i)) return i;
    }
    return kNone;
}

rondoResult_t shrink_comm(rondoComm_t comm, const std::vector<int>& excluded, rondoComm_t* smaller) {
    return rondoCommShrink(comm, excluded.data(), static_cast<int>(excluded.size()), smaller, nullptr);
}

}  // namespace rondo::test
