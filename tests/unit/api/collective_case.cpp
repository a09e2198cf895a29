#include "collective_case.hpp"

#include <cstring>
#include <numeric>

#include "base/types.hpp"

namespace rondo::api::test {

namespace {

constexpr std::size_t kGuard = 64;
std::byte guard_byte(std::size_t i) { return static_cast<std::byte>(0xa5 ^ i); }

/// Bytes with guards before and after, at a chosen misalignment.
class Guarded {
public:
    Guarded(std::size_t bytes, std::size_t offset)
        : bytes_(bytes), offset_(offset), memory_(bytes + 2 * kGuard + offset) {
        for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = guard_byte(i);
    }

    std::byte* data() { return memory_.data() + kGuard + offset_; }

    [[nodiscard]] bool whole() const {
        for (std::size_t i = 0; i < memory_.size(); ++i) {
            if (i == kGuard + offset_) i += bytes_;
            if (i < memory_.size() && memory_[i] != guard_byte(i)) return false;
        }
        return true;
    }

private:
    std::size_t bytes_;
    std::size_t offset_;
    std::vector<std::byte> memory_;
};

template <class T>
T reduced(const Case& given, int nranks, std::int64_t index) {
    std::vector<T> values;
    for (int rank = 0; rank < nranks; ++rank) values.push_back(input_value<T>(given.op, rank, index));
    return reduce_values(given.op, values);
}

template <class T>
T expected_value(const Case& given, int rank, int nranks, std::int64_t i) {
    const auto count = static_cast<std::int64_t>(given.count);
    switch (given.collective) {
        case Collective::Broadcast: return input_value<T>(given.op, given.root, i);
        case Collective::AllGather: return input_value<T>(given.op, static_cast<int>(i / count), i % count);
        case Collective::AllToAll:
            return input_value<T>(given.op, static_cast<int>(i / count), rank * count + i % count);
        case Collective::ReduceScatter: return reduced<T>(given, nranks, rank * count + i);
        default: return reduced<T>(given, nranks, i);
    }
}

std::string first_fault(const std::byte* found, const std::vector<std::byte>& right, std::size_t size) {
    if (right.empty() || std::memcmp(found, right.data(), right.size()) == 0) return "";
    std::size_t byte = 0;
    while (found[byte] == right[byte]) ++byte;
    const std::size_t element = byte / size;
    const auto bits = [&](const std::byte* at) {
        std::uint64_t value = 0;
        std::memcpy(&value, at + element * size, size);
        return std::to_string(value);
    };
    return "element " + std::to_string(element) + " has bits " + bits(found) + " instead of " + bits(right.data());
}

}  // namespace

std::string describe(const Case& given) {
    return std::string(plan::name_of(given.collective)) + " " +
           std::string(name_of(static_cast<DataType>(given.type))) + " " +
           std::string(name_of(static_cast<ReduceOp>(given.op))) + " count " + std::to_string(given.count) + " root " +
           std::to_string(given.root) + (given.in_place ? " in place" : "") + " offset " + std::to_string(given.offset);
}

rondoResult_t call(const Case& g, const void* input, void* output, rondoComm_t comm, rondoStream_t stream) {
    switch (g.collective) {
        case Collective::AllReduce: return rondoAllReduce(input, output, g.count, g.type, g.op, comm, stream);
        case Collective::Reduce: return rondoReduce(input, output, g.count, g.type, g.op, g.root, comm, stream);
        case Collective::Broadcast: return rondoBroadcast(input, output, g.count, g.type, g.root, comm, stream);
        case Collective::AllGather: return rondoAllGather(input, output, g.count, g.type, comm, stream);
        case Collective::ReduceScatter: return rondoReduceScatter(input, output, g.count, g.type, g.op, comm, stream);
        case Collective::AllToAll: return rondoAllToAll(input, output, g.count, g.type, comm, stream);
        default: return rondoBarrier(comm, stream);
    }
}

std::size_t input_elements(const Case& given, int rank, int nranks) {
    switch (given.collective) {
        case Collective::ReduceScatter:
        case Collective::AllToAll: return given.count * static_cast<std::size_t>(nranks);
        case Collective::Broadcast: return rank == given.root ? given.count : 0;
        case Collective::Barrier: return 0;
        default: return given.count;
    }
}

std::size_t output_elements(const Case& given, int rank, int nranks) {
    switch (given.collective) {
        case Collective::AllGather:
        case Collective::AllToAll: return given.count * static_cast<std::size_t>(nranks);
        case Collective::Reduce: return rank == given.root ? given.count : 0;
        case Collective::Barrier: return 0;
        default: return given.count;
    }
}

std::vector<std::byte> input_of(const Case& given, int rank, int nranks) {
    return with_type(given.type, [&](auto zero) {
        using T = decltype(zero);
        std::vector<std::byte> bytes(input_elements(given, rank, nranks) * sizeof(T));
        for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
            const T value = input_value<T>(given.op, rank, static_cast<std::int64_t>(i));
            std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
        }
        return bytes;
    });
}

std::vector<std::byte> expected_of(const Case& given, int rank, int nranks) {
    return with_type(given.type, [&](auto zero) {
        using T = decltype(zero);
        std::vector<std::byte> bytes(output_elements(given, rank, nranks) * sizeof(T));
        for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
            const T value = expected_value<T>(given, rank, nranks, static_cast<std::int64_t>(i));
            std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
        }
        return bytes;
    });
}

std::string run_case(const Case& given, int rank, int nranks, rondoComm_t comm, rondoStream_t stream) {
    const std::size_t size = size_of(given.type);
    const std::vector<std::byte> input = input_of(given, rank, nranks);
    const std::vector<std::byte> right = expected_of(given, rank, nranks);
    Guarded in(input.size(), given.offset);
    Guarded out(right.size(), given.offset);
    std::byte* sendbuff = in.data();
    std::byte* recvbuff = out.data();
    const std::size_t block = given.count * size * static_cast<std::size_t>(rank);
    if (given.in_place && !input.empty() && !right.empty()) {
        if (given.collective == Collective::ReduceScatter) {
            recvbuff = in.data() + block;
        } else {
            sendbuff = given.collective == Collective::AllGather ? out.data() + block : out.data();
        }
    }
    if (!input.empty()) std::memcpy(sendbuff, input.data(), input.size());
    rondoResult_t result = call(given, sendbuff, recvbuff, comm, stream);
    if (result == rondoSuccess && stream != nullptr) result = rondoStreamSynchronize(stream);
    if (result != rondoSuccess) return std::string(rondoGetErrorString(result)) + ": " + rondoGetLastError(nullptr);
    std::string fault = first_fault(recvbuff, right, size);
    if (fault.empty() && (!in.whole() || !out.whole())) fault = "bytes outside the buffers were written";
    if (fault.empty() && !given.in_place && !input.empty() && std::memcmp(in.data(), input.data(), input.size()) != 0) {
        fault = "the input has changed";
    }
    return fault;
}

}  // namespace rondo::api::test
