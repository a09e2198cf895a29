#include "driver/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rondo::perf {

namespace {

using Json = nlohmann::ordered_json;

/// Version of nccl-tests' format that the shared keys follow.
constexpr int kFormatVersion = 3;
/// With more ranks the edges of a row would outweigh everything else.
constexpr std::size_t kMaxEdges = 512;

Json mode_json(const std::optional<ModeResult>& mode) {
    if (!mode) return nullptr;
    Json json;
    json["time"] = mode->time;
    json["alg_bw"] = mode->alg_bw;
    json["bus_bw"] = mode->bus_bw;
    json["nwrong"] = mode->wrong ? Json(*mode->wrong) : Json(nullptr);
    json["p50"] = mode->samples.p50;
    json["p99"] = mode->samples.p99;
    json["min"] = mode->samples.min;
    json["max"] = mode->samples.max;
    return json;
}

Json edges_json(const std::vector<Edge>& edges) {
    Json list = Json::array();
    for (const Edge& edge : edges) {
        if (list.size() == kMaxEdges) break;
        list.push_back({{"from", edge.from},
                        {"to", edge.to},
                        {"bytes", edge.sent_bytes},
                        {"messages", edge.sent_messages},
                        {"direct_bytes", edge.direct_bytes}});
    }
    return list;
}

Json traffic_json(const std::vector<Edge>& edges) {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
    std::uint64_t direct = 0;
    for (const Edge& edge : edges) {
        bytes += edge.sent_bytes;
        messages += edge.sent_messages;
        direct += edge.direct_bytes;
    }
    return {{"bytes", bytes}, {"messages", messages}, {"direct_bytes", direct}, {"edges", edges_json(edges)}};
}

Json devices_json(const Options& options, std::span<const ProcessInfo> processes) {
    Json devices = Json::array();
    for (int rank = 0; rank < options.nranks(); ++rank) {
        const ProcessInfo& process = processes[static_cast<std::size_t>(rank / options.ranks_per_process())];
        devices.push_back({{"rank", rank},
                           {"group", 0},
                           {"pid", process.pid},
                           {"hostname", process.host},
                           {"device", rank},
                           {"device_hex", "host"},
                           {"device_info", process.cpu}});
    }
    return devices;
}

Json config_json(const Options& o, std::span<const ProcessInfo> processes) {
    Json config;
    config["nprocesses"] = o.processes;
    config["nthreads"] = o.threads;
    config["ngpus"] = o.ranks_per_thread;
    config["minimum_bytes"] = o.min_bytes;
    config["maximum_bytes"] = o.max_bytes;
    config[o.step_factor > 1 ? "step_factor" : "step_bytes"] = o.step_factor > 1 ? o.step_factor : o.step_bytes;
    config["warmup_iters"] = o.warmup;
    config["iterations"] = o.iterations;
    config["aggregated_iterations"] = o.aggregate;
    config["validation"] = o.checks;
    config["graph"] = 0;
    config["nranks"] = o.nranks();
    config["run_cycles"] = o.cycles;
    config["average"] = static_cast<int>(o.average);
    config["timeout_s"] = o.timeout;
    config["unalign"] = o.unalign;
    config["unalign_unit"] = o.unalign_bytes ? "bytes" : "elements";
    config["stream"] = o.stream;
    config["mpi"] = o.mpi;
    config["back_to_back"] = o.back_to_back;
    config["inject_error"] = o.inject_error;
    config["algo"] = o.algo;
    config["seed"] = o.seed;
    config["devices"] = devices_json(o, processes);
    return config;
}

int open_new(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }

}  // namespace

NewFile create_file(std::string_view flag, const std::string& path) {
    std::string name = path;
    int descriptor = open_new(name);
    for (int suffix = 0; descriptor < 0 && errno == EEXIST; ++suffix) {
        name = fmt::format("{}.{}", path, suffix);
        descriptor = open_new(name);
    }
    if (descriptor < 0) {
        throw UsageError(fmt::format("{}: cannot create '{}': {}; allowed is a file in a directory that can be written",
                                     flag, name, std::strerror(errno)));
    }
    std::unique_ptr<std::FILE, CloseFile> file(fdopen(descriptor, "w"));
    if (file == nullptr) throw UsageError(fmt::format("{}: cannot open '{}': {}", flag, name, std::strerror(errno)));
    return {std::move(file), name};
}

JsonReport::JsonReport(const Collective& collective, const Options& options, const Machine& machine,
                       std::span<const ProcessInfo> processes, int argc, const char* const* argv)
    : program_(collective.program), iterations_(options.iterations) {
    int library = 0;
    rondoGetVersion(&library);
    document_["version"] = kFormatVersion;
    document_["start_time"] = now_text();
    document_["args"] = std::vector<std::string>(argv, argv + argc);
    document_["env"] = rondo_environment();
    document_["program"] = collective.program;
    document_["rondo_version"] = library;
    document_["library"] = rondoGetBuildInfo();
    document_["machine"] = {{"host", machine.host},
                            {"cpu", machine.cpu},
                            {"cores", machine.cores},
                            {"memory", machine.memory_bytes},
                            {"kernel", machine.kernel}};
    document_["bus_bw_formula"] = fmt::format("alg_bw x {}", collective.bus_formula);
    document_["units"] = {{"time", "us"}, {"bandwidth", "1e9 bytes/s"}, {"size", "bytes"}};
    document_["config"] = config_json(options, processes);
    document_["devices"] = devices_json(options, processes);
    document_["results"] = Json::array();
}

void JsonReport::row(const Row& row) {
    Json json;
    json["size"] = row.size;
    json["count"] = row.count;
    json["type"] = row.type;
    json["redop"] = row.redop;
    json["root"] = row.root;
    json["out_of_place"] = mode_json(row.out_of_place);
    json["in_place"] = mode_json(row.in_place);
    if (row.mpi) json["mpi"] = mode_json(row.mpi);
    json["actual_iterations"] = iterations_;
    json["experiment_name"] = program_;
    json["algorithm"] = row.algorithm;
    json["plan"] = row.plan;
    json["traffic"] = traffic_json(row.edges);
    document_["results"].push_back(std::move(json));
}

void JsonReport::end(const Outcome& outcome) {
    document_["out_of_bounds"] = {{"count", outcome.wrong}, {"okay", outcome.wrong == 0}};
    document_["average_bus_bandwidth"] = {{"bandwidth", outcome.average_bus_bw()}, {"okay", "unchecked"}};
    document_["errors"] = outcome.errors;
    document_["end_time"] = now_text();
}

std::string csv_header() {
    return "program,nranks,size,count,type,redop,root,mode,time_us,algbw,busbw,nwrong,p50_us,p99_us,min_us,max_us,"
           "algorithm,plan\n";
}

std::string csv_rows(const Row& row, const Collective& collective, const Options& options) {
    std::string text;
    const auto add = [&](std::string_view name, const std::optional<ModeResult>& mode) {
        if (!mode) return;
        const Summary& s = mode->samples;
        text +=
            fmt::format("{},{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{},{:.6g},{:.6g},{:.6g},{:.6g},{},{}\n",
                        collective.program, options.nranks(), row.size, row.count, row.type, row.redop, row.root, name,
                        mode->time, mode->alg_bw, mode->bus_bw, mode->wrong ? std::to_string(*mode->wrong) : "", s.p50,
                        s.p99, s.min, s.max, row.algorithm, row.plan);
    };
    add("out_of_place", row.out_of_place);
    add("in_place", row.in_place);
    add("mpi", row.mpi);
    return text;
}

}  // namespace rondo::perf
