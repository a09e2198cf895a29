#include "driver/processes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "driver/run_error.hpp"

namespace rondo::perf {

Processes::Processes(const Launch& launch, const rondoUniqueId& id, double timeout)
    : count_(launch.processes), index_(launch.process) {
    if (count_ == 1) return;
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.timeout = timeout;
    config.commName = "perf-tests processes";
    config.algo = "^nvls";  // all that run here: RONDO_ALGO is for what is measured
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRankConfig(&comm, count_, id, index_, &config);
    if (result != rondoSuccess) throw ProcessError(failed_call("rondoCommInitRankConfig", result));
    comm_.reset(comm);
}

void Processes::require(const char* name, rondoResult_t result) const {
    if (result != rondoSuccess) {
        throw ProcessError(fmt::format("between processes: {}", failed_call(name, result, comm_.get())));
    }
}

void Processes::barrier() {
    if (count_ > 1) require("rondoBarrier", rondoBarrier(comm_.get(), nullptr));
}

std::uint64_t Processes::reduce(std::uint64_t value, rondoRedOp_t op) {
    if (count_ > 1) {
        require("rondoAllReduce", rondoAllReduce(&value, &value, 1, rondoUint64, op, comm_.get(), nullptr));
    }
    return value;
}

void Processes::combine(std::span<double> values, Average average) {
    if (count_ == 1 || average == Average::Rank0) return;
    const rondoRedOp_t op = average == Average::Mean ? rondoSum : average == Average::Min ? rondoMin : rondoMax;
    require("rondoAllReduce",
            rondoAllReduce(values.data(), values.data(), values.size(), rondoFloat64, op, comm_.get(), nullptr));
    if (average != Average::Mean) return;
    for (double& value : values) value /= count_;
}

std::vector<std::int64_t> Processes::all_gather(std::span<const std::int64_t> values) {
    if (count_ == 1) return {values.begin(), values.end()};
    std::vector<std::int64_t> all(values.size() * static_cast<std::size_t>(count_));
    require("rondoAllGather",
            rondoAllGather(values.data(), all.data(), values.size(), rondoInt64, comm_.get(), nullptr));
    return all;
}

std::vector<std::string> Processes::all_gather(const std::string& mine) {
    if (count_ == 1) return {mine};
    const auto size = static_cast<std::int64_t>(mine.size());
    const std::vector<std::int64_t> sizes = all_gather(std::span(&size, 1));
    const auto longest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
    std::string padded = mine;
    padded.resize(longest);
    std::string all(longest * static_cast<std::size_t>(count_), '\0');
    require("rondoAllGather", rondoAllGather(padded.data(), all.data(), longest, rondoInt8, comm_.get(), nullptr));
    std::vector<std::string> texts;
    for (std::size_t p = 0; p < sizes.size(); ++p) {
        texts.push_back(all.substr(p * longest, static_cast<std::size_t>(sizes[p])));
    }
    return texts;
}

void Processes::abort() noexcept {
    if (comm_ != nullptr) rondoCommAbort(comm_.get());
}

}  // namespace rondo::perf
