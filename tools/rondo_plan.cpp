// rondo-plan: lists, shows and verifies the plans of collectives.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "base/version.hpp"
#include "plan/format.hpp"
#include "plan/verify/cases.hpp"

namespace {

using namespace rondo;
using namespace rondo::plan;

constexpr int kExitRefused = 1;
constexpr int kExitBadUsage = 2;
/// A file may not keep the verifier busy for more than some minutes.
constexpr std::int64_t kMaxOperands = std::int64_t{1} << 31;

/// What the command line says about a shape.
struct Request {
    std::string what;  ///< collective, or plan file
    std::string algorithm = "ring";
    Rank ranks = 4;
    Rank root = 0;
    std::int32_t channels = 1;
    std::int32_t slots = 2;
    std::string hosts;
};

struct DumpRequest {
    Request shape;
    Rank rank = 0;
    bool json = false;
    std::string output;
};

struct VerifyRequest {
    Request shape;
    std::int64_t count = -1;
    std::int64_t chunk = 4;
    std::int64_t element_bytes = 4;
    bool in_place = false;
    std::size_t edges = 32;
};

[[noreturn]] void bad(const std::string& text) { throw Error(Code::InvalidArgument, text); }

/// "4x2": four hosts of two ranks, in blocks.
std::vector<std::vector<Rank>> parse_hosts(const std::string& text, Rank ranks) {
    if (text.empty()) return {};
    int hosts = 0;
    int locals = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%6dx%6d%c", &hosts, &locals, &rest) != 2 || hosts < 1 || locals < 1) {
        bad("--hosts: \"" + text + "\" is not of the form HOSTSxRANKS, as in 4x2");
    }
    if (std::int64_t{hosts} * locals != ranks) {
        bad(fmt::format("--hosts: {} hosts of {} are {} ranks, but --ranks is {}", hosts, locals, hosts * locals,
                        ranks));
    }
    std::vector<std::vector<Rank>> layout(static_cast<std::size_t>(hosts));
    for (Rank rank = 0; rank < ranks; ++rank) layout[static_cast<std::size_t>(rank / locals)].push_back(rank);
    return layout;
}

const Shape& shape_of(const Request& request) {
    const auto collective = collective_named(request.what);
    if (!collective) bad("\"" + request.what + "\" is no collective; `rondo-plan list` shows them");
    const auto algorithm = algorithm_named(request.algorithm);
    const Shape* shape = algorithm ? find_shape(*collective, *algorithm) : nullptr;
    if (shape != nullptr) return *shape;
    std::string known;
    for (const Shape& other : shapes()) {
        if (other.collective != *collective) continue;
        known += (known.empty() ? "" : ", ") + std::string(name_of(other.algorithm));
    }
    if (known.empty()) bad(request.what + " has no shape in the catalogue: its plans follow from the user's calls");
    bad("--algo: " + request.what + " has no algorithm \"" + request.algorithm + "\"; it has " + known);
}

Facts facts_of(const Request& request, const Shape& shape) {
    if (request.root >= request.ranks) {
        bad(fmt::format("--root is {}, but there are {} ranks", request.root, request.ranks));
    }
    Facts facts{.nranks = request.ranks,
                .root = rooted(shape.collective) ? request.root : 0,
                .channels = request.channels,
                .hosts = parse_hosts(request.hosts, request.ranks),
                .slots = request.slots};
    if (!shape.serves(facts)) {
        bad(fmt::format("{} cannot be built for {} ranks{}", name_of(shape), request.ranks,
                        shape.algorithm == Algorithm::Hierarchical
                            ? "; it needs --hosts, at least two with at least two ranks each, as in 4x2"
                            : ""));
    }
    return facts;
}

std::vector<Plan> read_plans(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file)) {
        bad(file + ": cannot be read, and is no collective either; `rondo-plan list` shows those");
    }
    const PlanBudget budget;
    std::error_code ignored;
    const auto size = std::filesystem::file_size(file, ignored);
    if (!ignored && size > budget.bytes) {
        bad(fmt::format("{}: has {} bytes, a plan file may have {}", file, size, budget.bytes));
    }
    std::ostringstream text;
    text << in.rdbuf();
    return from_json(text.str(), file, budget);
}

int list() {
    fmt::print("{:<16}{:<18}{}\n", "collective", "algorithm", "needs");
    for (const Shape& shape : shapes()) {
        std::string needs = "FIFOs";
        if (shape.needs.peer_memory) needs = "peers' memory, counters";
        if (shape.needs.peer_reads) needs = "copies from peers' memory, counters";
        if (shape.needs.windows) needs = "windows that all can address, counters";
        if (shape.needs.multicast) needs = "a multicast switch, counters";
        fmt::print("{:<16}{:<18}{}\n", name_of(shape.collective), name_of(shape.algorithm), needs);
    }
    return 0;
}

int dump(const DumpRequest& request, bool rank_given) {
    const Shape& shape = shape_of(request.shape);
    const Facts facts = facts_of(request.shape, shape);
    if (request.json && rank_given) bad("--rank: the JSON form always holds the plans of all ranks");
    if (request.rank >= facts.nranks)
        bad(fmt::format("--rank is {}, but there are {} ranks", request.rank, facts.nranks));
    const std::string text =
        request.json ? to_json(build_all(shape, facts)) : to_text(shape.build(facts, request.rank));
    if (request.output.empty() || request.output == "-") {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return 0;
    }
    std::ofstream out(request.output, std::ios::binary);
    out << text;
    out.close();
    if (!out) bad("-o: " + request.output + " cannot be written");
    return 0;
}

void print_report(const VerifyRequest& request, const Plan& plan, const Launch& launch, const Report& report) {
    const auto bytes = [&](std::int64_t elements) { return elements * request.element_bytes; };
    fmt::print("  launch        count {}, chunk {}, {} slots, {} bytes an element{}\n", launch.count, launch.chunk,
               request.shape.slots, request.element_bytes, launch.in_place ? ", in place" : "");
    fmt::print("  steps         {}, all ranks together\n", report.steps);
    fmt::print("  hops          {} on the critical path\n", report.hops);
    fmt::print("  messages      {}, {} bytes; at most {} bytes by one rank\n", report.messages, bytes(report.elements),
               bytes(report.max_sent));
    if (report.peer_elements > 0) {
        fmt::print("  peer memory   {} bytes; at most {} bytes by one rank\n", bytes(report.peer_elements),
                   bytes(report.max_peer));
    }
    if (reduces(plan.collective)) {
        fmt::print("  rounding      at most {} additions and {} roundings between an input and a result\n",
                   report.rounding_adds, report.rounding_nodes);
    }
    if (report.edges.empty()) return;
    fmt::print("  {:>6} {:>6} {:>10} {:>14}\n", "from", "to", "messages", "bytes");
    std::size_t shown = 0;
    for (const auto& [edge, traffic] : report.edges) {
        if (shown++ == request.edges) {
            fmt::print("  ... and {} more edges; --edges shows more\n", report.edges.size() - request.edges);
            break;
        }
        fmt::print("  {:>6} {:>6} {:>10} {:>14}\n", edge.first, edge.second, traffic.messages, bytes(traffic.elements));
    }
}

int verify_plans(const VerifyRequest& request) {
    const bool built = collective_named(request.shape.what).has_value();
    std::vector<Plan> plans;
    if (built) {
        const Shape& shape = shape_of(request.shape);
        plans = build_all(shape, facts_of(request.shape, shape));
    } else {
        plans = read_plans(request.shape.what);
    }
    const Plan& plan = plans[0];
    if (plan.collective == Collective::SendRecv) {
        bad("the plans of send_recv depend on the calls of a group, which a plan file does not hold");
    }
    const std::string title =
        fmt::format("{}/{}, {} ranks, {} channels, {} parts a tile, hash {:016x}", name_of(plan.collective),
                    name_of(plan.algorithm), plans.size(), plan.channels.size(), plan.parts, hash_of(plan));
    const auto refused = [&](const Report& report) {
        fmt::print("{}\nrefused: {}\n", title, report.violation);
        return kExitRefused;
    };
    const VerifyOptions options{.slots = request.shape.slots, .max_operands = built ? 0 : kMaxOperands};
    // Plans of a file may not belong together; the launches are made for plans that do.
    const Operation probe{plans, {.count = 0, .tables = std::vector<RankTables>(plans.size())}};
    if (plan.collective != Collective::AllToAllV && plan.collective != Collective::Barrier) {
        if (const Report report = verify(std::span(&probe, 1), options); !report.ok) return refused(report);
    } else if (plan.nranks != static_cast<Rank>(plans.size())) {
        bad(fmt::format("the file holds {} plans of a collective of {} ranks", plans.size(), plan.nranks));
    }

    std::vector<Launch> launches;
    if (request.count < 0) {
        launches = standard_launches(plans, request.shape.slots);
        launches.push_back(make_launch(plans, {.tiles = 1, .chunk = request.chunk, .in_place = request.in_place}));
    } else {
        Launch launch = make_launch(plans, {.tiles = 0, .tail = request.count, .chunk = request.chunk});
        launch.in_place = request.in_place;
        launches.push_back(std::move(launch));
    }
    Report report;
    for (const Launch& launch : launches) {
        const Operation operation{plans, launch};
        report = verify(std::span(&operation, 1), options);
        if (!report.ok) return refused(report);
    }
    fmt::print("{}\nverified with {} launch{} (the report is of the last)\n", title, launches.size(),
               launches.size() == 1 ? "" : "es: 0 to 2S+1 tiles, tails, in place");
    print_report(request, plan, launches.back(), report);
    return 0;
}

void add_shape_options(CLI::App& command, Request& request) {
    command.add_option("--algo", request.algorithm, "Algorithm, as `rondo-plan list` names it")->capture_default_str();
    command.add_option("--ranks", request.ranks, "Ranks")->check(CLI::Range(1, 8192))->capture_default_str();
    command.add_option("--root", request.root, "Root of reduce and broadcast")
        ->check(CLI::Range(0, 8191))
        ->capture_default_str();
    command.add_option("--channels", request.channels, "Channels")->check(CLI::Range(1, 64))->capture_default_str();
    command.add_option("--slots", request.slots, "Slots of every FIFO")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command.add_option("--hosts", request.hosts, "Hosts and ranks on each, as in 4x2, for hierarchical shapes");
}

int run(int argc, char** argv) {
    CLI::App app{"Lists, shows and verifies the plans of collectives.", "rondo-plan"};
    app.set_version_flag("--version", build_info(), "Show version, commit and build, and exit");
    app.require_subcommand(1);
    app.footer("Exit status: 0; 1 where a plan is refused; 2 for a wrong command line or file.");

    CLI::App* lister = app.add_subcommand("list", "The shapes that can be built");

    DumpRequest to_dump;
    CLI::App* dumper = app.add_subcommand("dump", "Show a plan, or write the plans of all ranks as JSON");
    dumper->add_option("collective", to_dump.shape.what, "Collective")->required();
    add_shape_options(*dumper, to_dump.shape);
    CLI::Option* rank = dumper->add_option("--rank", to_dump.rank, "Whose plan")->check(CLI::Range(0, 8191));
    dumper->add_flag("--json", to_dump.json, "All ranks' plans, to be read by `rondo-plan verify`");
    dumper->add_option("-o,--output", to_dump.output, "Write to this file");

    VerifyRequest to_verify;
    CLI::App* verifier = app.add_subcommand("verify", "Prove plans right, or say where they are wrong");
    verifier->add_option("plans", to_verify.shape.what, "Plan file (JSON), or a collective to build")->required();
    add_shape_options(*verifier, to_verify.shape);
    verifier->add_option("--count", to_verify.count, "Elements of this one launch, in place of the standard ones")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
    verifier->add_option("--chunk", to_verify.chunk, "Elements of a part of a whole tile")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
        ->capture_default_str();
    verifier->add_option("--element-bytes", to_verify.element_bytes, "For the report")
        ->check(CLI::Range(1, 16))
        ->capture_default_str();
    verifier->add_flag("--in-place", to_verify.in_place, "Buffers overlap as the collective's in-place rule says");
    verifier->add_option("--edges", to_verify.edges, "Edges to show")->capture_default_str();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kExitBadUsage;
    }
    if (lister->parsed()) return list();
    if (dumper->parsed()) return dump(to_dump, rank->count() > 0);
    return verify_plans(to_verify);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rondo-plan: %s\n", error.what());
        return kExitBadUsage;
    }
}
