#include "bootstrap/environment.hpp"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "base/descriptor_table.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/runtime.hpp"
#include "base/slurm.hpp"
#include "bootstrap/crypto.hpp"
#include "bootstrap/wire.hpp"

namespace rondo::bootstrap {

namespace {

/// Where and how many, before names are looked up.
struct Launch {
    HostPort place;
    Rank rank = 0;
    Rank nranks = 0;
    std::string source;
};

constexpr std::uint32_t kFirstSlurmPort = 20000;
constexpr std::uint32_t kSlurmPorts = 12000;  // below the ports that Linux gives to connections

std::string need(const Variables& variables, const std::string& name, std::string_view beside) {
    if (auto value = variables(name)) return *value;
    throw make_error(Code::InvalidUsage, "{} is set, {} is not; set both, or use a unique id", beside, name);
}

std::int64_t number(const Variables& variables, const std::string& name, std::string_view beside, std::int64_t min,
                    std::int64_t max) {
    try {
        return parse_integer(need(variables, name, beside), min, max);
    } catch (const Error& error) {
        throw error.code() == Code::InvalidArgument ? error.with_context(name) : error;
    }
}

Launch from_settings(const NetworkSettings& network) {
    if (network.rank < 0 || network.nranks == 0) {
        throw make_error(Code::InvalidUsage, "RONDO_COMM_ID is set, {} is not; set RONDO_RANK and RONDO_NRANKS too",
                         network.rank < 0 ? "RONDO_RANK" : "RONDO_NRANKS");
    }
    return {parse_host_port(network.comm_id), network.rank, network.nranks,
            "RONDO_COMM_ID, RONDO_RANK and RONDO_NRANKS"};
}

Launch from_torchrun(const Variables& variables) {
    constexpr std::string_view kBeside = "MASTER_ADDR";
    Launch launch;
    launch.place.host = need(variables, "MASTER_ADDR", kBeside);
    // MASTER_PORT itself is that of torchrun's own store.
    launch.place.port = static_cast<std::uint16_t>(number(variables, "MASTER_PORT", kBeside, 1, 65534) + 1);
    launch.rank = static_cast<Rank>(number(variables, "RANK", kBeside, 0, kMostRanks - 1));
    launch.nranks = static_cast<Rank>(number(variables, "WORLD_SIZE", kBeside, 1, kMostRanks));
    launch.source = "MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE";
    return launch;
}

/// "node07" for "node[07-09,12]" and for "node07,node08": the first name of a list as Slurm writes it.
std::string first_node(const std::string& list) {
    const std::size_t bracket = list.find('[');
    const std::size_t comma = list.find(',');
    if (bracket == std::string::npos || (comma != std::string::npos && comma < bracket)) return list.substr(0, comma);
    const std::size_t end = list.find_first_of("-,]", bracket);
    if (end == std::string::npos) return {};
    return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

std::uint16_t slurm_port(const Settings& settings, const Variables& variables) {
    const std::string job = variables("SLURM_JOB_ID").value_or("0") + "." + variables(kSlurmStep).value_or("0");
    const std::string hash = plain_hash("port of slurm job " + job);
    const std::uint64_t value = Reader(hash).u64();
    const PortRange& range = settings.network.port_range;
    if (range.given()) {
        const std::uint64_t ports = static_cast<std::uint64_t>(range.last) - range.first + 1;
        return static_cast<std::uint16_t>(range.first + value % ports);
    }
    return static_cast<std::uint16_t>(kFirstSlurmPort + value % kSlurmPorts);
}

Launch from_slurm(const Settings& settings, const Variables& variables) {
    const std::string_view beside = kSlurmStep;
    Launch launch;
    launch.rank = static_cast<Rank>(number(variables, kSlurmTask, beside, 0, kMostRanks - 1));
    launch.nranks = static_cast<Rank>(number(variables, kSlurmTasks, beside, 1, kMostRanks));
    // Rank 0 runs on the first node of the step; srun itself, whose address the other variable has, may run elsewhere.
    launch.place.host = first_node(variables("SLURM_STEP_NODELIST").value_or(""));
    if (launch.place.host.empty()) launch.place.host = need(variables, "SLURM_LAUNCH_NODE_IPADDR", beside);
    launch.place.port = slurm_port(settings, variables);
    launch.source = "SLURM_PROCID, SLURM_STEP_NUM_TASKS and SLURM_STEP_NODELIST";
    return launch;
}

Launch find_launch(const Settings& settings, const Variables& variables) {
    if (!settings.network.comm_id.empty()) return from_settings(settings.network);
    if (variables("MASTER_ADDR")) return from_torchrun(variables);
    if (is_slurm_task([&](const char* name) { return variables(name).has_value(); }))
        return from_slurm(settings, variables);
    throw Error(Code::InvalidUsage,
                "the environment names no place to meet; set RONDO_COMM_ID=host:port, RONDO_RANK and RONDO_NRANKS, or "
                "start the ranks by torchrun or srun");
}

std::string read_secret(const std::string& path) {
    std::ifstream file = DescriptorTable::read(path);
    std::string text(kMostSecretBytes + 2, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.is_open() || file.bad()) {
        throw make_system_error(errno == 0 ? EIO : errno, "RONDO_COMM_SECRET_FILE={} cannot be read", printable(path));
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    std::string secret(trim(std::string_view(text).substr(0, text.find('\n'))));
    if (secret.size() < kLeastSecretBytes || secret.size() > kMostSecretBytes) {
        throw make_error(Code::InvalidArgument,
                         "RONDO_COMM_SECRET_FILE={}: its first line has {} characters (allowed: {} to {})",
                         printable(path), secret.size(), kLeastSecretBytes, kMostSecretBytes);
    }
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRGRP | S_IROTH)) != 0) {
        Runtime::get().logger().warn(Logger::kNoRank, "RONDO_COMM_SECRET_FILE={} can be read by others; chmod 600 it",
                                     printable(path));
    }
    return secret;
}

/// "" where none is given.
std::string given_secret(const NetworkSettings& network) {
    if (!network.comm_secret.empty()) return network.comm_secret;
    return network.comm_secret_file.empty() ? std::string() : read_secret(network.comm_secret_file);
}

std::vector<Address> resolve(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &first);
    if (error != 0) {
        throw make_error(Code::SystemError, "the host name '{}' does not resolve: {}; give an address in its place",
                         printable(host), error == EAI_SYSTEM ? errno_text(errno) : ::gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(first, ::freeaddrinfo);
    std::vector<Address> addresses;
    for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
        const auto address = Address::of(entry->ai_addr);
        const bool known = address && std::find(addresses.begin(), addresses.end(), *address) != addresses.end();
        if (address && !known) addresses.push_back(*address);
    }
    return addresses;
}

}  // namespace

Variables process_environment() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        if (value == nullptr || *value == '\0') return std::nullopt;
        return value;
    };
}

EnvironmentId id_from_environment(const Settings& settings, const Variables& variables, std::uint64_t number) {
    const Launch launch = find_launch(settings, variables);
    if (launch.rank >= launch.nranks) {
        throw make_error(Code::InvalidArgument, "rank {} is outside [0, {}) (from {})", launch.rank, launch.nranks,
                         launch.source);
    }
    const bool brackets = launch.place.host.find(':') != std::string::npos;
    const std::string place =
        fmt::format("{}{}{}:{}", brackets ? "[" : "", launch.place.host, brackets ? "]" : "", launch.place.port);
    Identity identity;
    identity.late_root = true;
    identity.own_port = true;
    identity.root = {resolve(launch.place.host), launch.place.port};
    const bool loopback = std::all_of(identity.root.addresses.begin(), identity.root.addresses.end(),
                                      [](const Address& address) { return address.loopback(); });
    std::string secret = given_secret(settings.network);
    if (secret.empty()) {
        if (!loopback) {
            throw make_error(Code::InvalidUsage,
                             "{} ({}) is no address of the loopback interface, and there is no secret by which ranks "
                             "could know each other; set RONDO_COMM_SECRET or RONDO_COMM_SECRET_FILE on all ranks",
                             place, launch.source);
        }
        // Whoever can read this user's processes can join; nobody else on this host, nobody at all on others.
        secret = fmt::format("user {} at {}", ::getuid(), place);
        identity.loopback = true;
    }
    // The key is public and the same whatever the secret is: so a wrong secret is told from a wrong place.
    const std::string key = plain_hash(fmt::format("key {} {}", place, number));
    const std::string hash = plain_hash(fmt::format("secret {} {} {}", place, number, secret));
    Reader(key).raw(identity.key.data(), identity.key.size());
    Reader(hash).raw(identity.secret.data(), identity.secret.size());
    return {encode(identity), launch.rank, launch.nranks, launch.source};
}

}  // namespace rondo::bootstrap
