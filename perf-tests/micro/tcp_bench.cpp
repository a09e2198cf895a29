// What FIFOs over TCP cost, against a bare send/recv loop over the same kind of connection, between two threads over
// loopback.
//
//   tcp_bench [seconds per measurement] [connections per pair of ranks]
//
// Latency: half a round trip of 8 bytes. Bandwidth: one direction, messages of 64 KiB to 64 MiB; through FIFOs these
// are cut into slots, as plans do, and both sides copy between a buffer and the slot. `copies` is the bare loop with
// those two copies, through buffers as large as a slot.

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transport/tcp/network.hpp"

namespace {

using rondo::ProcessDescriptor;
using rondo::Rank;
using rondo::transport::Doorbell;
using rondo::transport::memory::Fifo;
using rondo::transport::tcp::Network;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSlots = 4;
constexpr std::size_t kSlotBytes = 128U << 10U;
constexpr std::size_t kPing = 8;
constexpr int kPings = 100;

struct Options {
    double seconds = 1;
    int flows = 1;
};

void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::pair<int, int> connected() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listener, plain, bytes) == 0 && ::listen(listener, 1) == 0, "listen");
    require(::getsockname(listener, plain, &bytes) == 0 && ::connect(client, plain, bytes) == 0, "connect");
    const int server = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    require(server >= 0, "accept");
    ::close(listener);
    const int one = 1;
    for (const int fd : {client, server}) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return {client, server};
}

/// Runs both sides at once. Returns the seconds that side 0 took.
double both(const std::function<void(int)>& side) {
    double seconds = 0;
    std::thread peer([&] { side(1); });
    const auto begin = Clock::now();
    side(0);
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    peer.join();
    return seconds;
}

/// Round trips. Half of them are slower than the median, most of them for what else the machine does.
class Samples {
public:
    void add(Clock::duration round_trip) { all_.push_back(std::chrono::duration<double>(round_trip).count()); }
    /// Microseconds of one way, at this share of the samples in ascending order.
    [[nodiscard]] double one_way(double share) {
        std::sort(all_.begin(), all_.end());
        return all_[static_cast<std::size_t>(share * static_cast<double>(all_.size() - 1))] / 2 * 1e6;
    }

private:
    std::vector<double> all_;
};

// --- Bare ------------------------------------------------------------------------------------------------------------

void send_all(int fd, const std::byte* data, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t sent = ::send(fd, data, bytes, MSG_NOSIGNAL);
        require(sent > 0, "send");
        data += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
}

/// `spins`: polls without blocking, as a rank does that expects a message soon.
void receive_all(int fd, std::byte* data, std::size_t bytes, bool spins) {
    while (bytes > 0) {
        const ssize_t got = ::recv(fd, data, bytes, spins ? MSG_DONTWAIT : 0);
        if (got < 0 && errno == EAGAIN) continue;
        require(got > 0, "recv");
        data += got;
        bytes -= static_cast<std::size_t>(got);
    }
}

class Bare {
public:
    Bare() {
        const auto [a, b] = connected();
        fds_ = {a, b};
    }
    Bare(const Bare&) = delete;
    Bare& operator=(const Bare&) = delete;
    ~Bare() {
        for (const int fd : fds_) ::close(fd);
    }

    void ping(Samples& samples) {
        both([&](int side) {
            const int fd = fds_[static_cast<std::size_t>(side)];
            std::array<std::byte, kPing> word{};
            for (int i = 0; i < kPings; ++i) {
                const Clock::time_point begin = Clock::now();
                if (side == 0) send_all(fd, word.data(), word.size());
                receive_all(fd, word.data(), word.size(), true);
                if (side == 1) send_all(fd, word.data(), word.size());
                if (side == 0) samples.add(Clock::now() - begin);
            }
        });
    }

    double stream(std::vector<std::byte>& from, std::vector<std::byte>& to, int rounds, bool copies) {
        std::array<std::vector<std::byte>, 2> staging;
        for (auto& buffer : staging) buffer.resize(kSlotBytes);
        return both([&](int side) {
            const int fd = fds_[static_cast<std::size_t>(side)];
            std::byte* stage = staging[static_cast<std::size_t>(side)].data();
            const std::size_t step = copies ? std::min(kSlotBytes, from.size()) : from.size();
            std::byte done{};
            for (int i = 0; i < rounds; ++i) {
                for (std::size_t at = 0; at < from.size(); at += step) {
                    const std::size_t part = std::min(step, from.size() - at);
                    if (side == 0) {
                        if (copies) std::memcpy(stage, from.data() + at, part);
                        send_all(fd, copies ? stage : from.data() + at, part);
                    } else {
                        receive_all(fd, copies ? stage : to.data() + at, part, false);
                        if (copies) std::memcpy(to.data() + at, stage, part);
                    }
                }
            }
            if (side == 0) receive_all(fd, &done, 1, false);
            if (side == 1) send_all(fd, &done, 1);
        });
    }

private:
    std::array<int, 2> fds_{};
};

// --- FIFOs -----------------------------------------------------------------------------------------------------------

class Pair {
public:
    explicit Pair(int flows) {
        for (Rank rank : {0, 1}) sides_[static_cast<std::size_t>(rank)] = std::make_unique<Side>(*this, rank, flows);
        for (Rank source : {0, 1}) {
            for (Rank rank : {0, 1}) {
                Fifo& fifo = sides_[static_cast<std::size_t>(rank)]->network.fifo(0, source, 1 - source, 0, true);
                (source == rank ? out_ : in_)[static_cast<std::size_t>(rank)] = &fifo;
            }
        }
    }

    void ping(Samples& samples) {
        both([&](int side) {
            Network& network = sides_[static_cast<std::size_t>(side)]->network;
            Fifo& out = *out_[static_cast<std::size_t>(side)];
            Fifo& in = *in_[static_cast<std::size_t>(side)];
            for (int i = 0; i < kPings; ++i) {
                const Clock::time_point begin = Clock::now();
                if (side == 0) post(network, out, nullptr, kPing, true);
                await(
                    network, [&] { return in.readable(); }, true);
                in.release(true);
                if (side == 1) post(network, out, nullptr, kPing, true);
                if (side == 0) samples.add(Clock::now() - begin);
            }
            flush(network);
        });
    }

    double stream(std::vector<std::byte>& from, std::vector<std::byte>& to, int rounds) {
        return both([&](int side) {
            Network& network = sides_[static_cast<std::size_t>(side)]->network;
            Fifo& out = *out_[static_cast<std::size_t>(side)];
            Fifo& in = *in_[static_cast<std::size_t>(side)];
            for (int i = 0; i < rounds; ++i) {
                for (std::size_t at = 0; at < from.size(); at += kSlotBytes) {
                    const std::size_t part = std::min(kSlotBytes, from.size() - at);
                    if (side == 0) {
                        post(network, out, from.data() + at, part, false);
                        continue;
                    }
                    await(
                        network, [&] { return in.readable(); }, false);
                    std::memcpy(to.data() + at, in.read_place(false), part);
                    in.release(false);
                }
            }
            // As in the bare loop, the sender waits until everything has been read.
            if (side == 1) post(network, out, nullptr, 1, true);
            if (side == 0) {
                await(
                    network, [&] { return in.readable(); }, false);
                in.release(true);
            }
            flush(network);
        });
    }

    [[nodiscard]] const rondo::transport::tcp::Counts& counts(int side) const {
        return sides_[static_cast<std::size_t>(side)]->network.counts();
    }

private:
    struct Side final : rondo::transport::tcp::Dialer {
        Side(Pair& all, Rank rank, int flows) : pair(all), network(rank, 2, kSlots, kSlotBytes, bell, *this, flows) {}
        void dial(Rank, int flow) override {
            const auto [a, b] = connected();
            pair.sides_[0]->network.deliver(1, flow, ProcessDescriptor::open([fd = a] { return fd; }));
            pair.sides_[1]->network.deliver(0, flow, ProcessDescriptor::open([fd = b] { return fd; }));
        }
        Pair& pair;
        Doorbell bell;
        Network network;
    };

    template <class Ready>
    static void await(Network& network, Ready ready, bool spins) {
        while (!ready()) {
            if (network.progress() || spins) continue;
            if (network.lost()) throw std::runtime_error(network.lost()->text);
            network.wait(std::chrono::milliseconds(100));
        }
    }

    static void post(Network& network, Fifo& fifo, const std::byte* from, std::size_t bytes, bool inlined) {
        await(
            network, [&] { return fifo.writable(inlined); }, inlined);
        if (from != nullptr) std::memcpy(fifo.write_place(inlined), from, bytes);
        fifo.extend(bytes);
        fifo.post(inlined, 1);
        network.progress();
    }

    static void flush(Network& network) {
        await(
            network, [&] { return network.flushed(); }, false);
    }

    std::array<std::unique_ptr<Side>, 2> sides_;
    std::array<Fifo*, 2> out_{};
    std::array<Fifo*, 2> in_{};
};

// --- Measurements ----------------------------------------------------------------------------------------------------

/// Seconds of a round, the best and the median, of many short runs in turns: what else the machine does meets all
/// kinds of runs, and some runs of each kind it does not meet.
struct Times {
    double best = 0;
    double median = 0;
};

template <std::size_t N>
std::array<Times, N> measure_in_turns(double seconds, int rounds,
                                      const std::array<std::function<double(int)>, N>& runs) {
    constexpr std::size_t kFewest = 5;
    std::array<std::vector<double>, N> all;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end || all[0].size() < kFewest) {
        for (std::size_t i = 0; i < N; ++i) all[i].push_back(runs[i](rounds) / rounds);
    }
    std::array<Times, N> times{};
    for (std::size_t i = 0; i < N; ++i) {
        std::sort(all[i].begin(), all[i].end());
        times[i] = {.best = all[i].front(), .median = all[i][all[i].size() / 2]};
    }
    return times;
}

void measure(const Options& options) {
    constexpr std::size_t kLeastRun = 4U << 20U;
    Bare bare;
    Pair pair(options.flows);
    std::array<Samples, 2> pings;
    for (const auto end = Clock::now() + std::chrono::duration<double>(options.seconds); Clock::now() < end;) {
        bare.ping(pings[0]);
        pair.ping(pings[1]);
    }
    fmt::print("{} bytes, one way:", kPing);
    for (const double share : {0.05, 0.25, 0.5}) {
        fmt::print("  {:.0f}%: bare {:.2f} us, fifo {:.2f} us, ratio {:.2f};", share * 100, pings[0].one_way(share),
                   pings[1].one_way(share), pings[1].one_way(share) / pings[0].one_way(share));
    }
    fmt::print("\n");
    fmt::print(
        "GB/s, best (median)\n   bytes           bare           copies          fifo        fifo to bare   to "
        "copies\n");
    for (std::size_t bytes = 64U << 10U; bytes <= 64U << 20U; bytes *= 4) {
        std::vector<std::byte> from(bytes, std::byte{3});
        std::vector<std::byte> to(bytes, std::byte{4});
        const auto times =
            measure_in_turns<3>(options.seconds, static_cast<int>(std::max<std::size_t>(kLeastRun / bytes, 1)),
                                {[&](int rounds) { return bare.stream(from, to, rounds, false); },
                                 [&](int rounds) { return bare.stream(from, to, rounds, true); },
                                 [&](int rounds) { return pair.stream(from, to, rounds); }});
        fmt::print("{:>8}", bytes);
        for (const Times& time : times) {
            const double gigabytes = static_cast<double>(bytes) / 1e9;
            fmt::print("   {:>5.2f} ({:>5.2f})", gigabytes / time.best, gigabytes / time.median);
        }
        for (std::size_t i : {0U, 1U}) {
            fmt::print("   {:>4.2f} ({:>4.2f})", times[i].best / times[2].best, times[i].median / times[2].median);
        }
        fmt::print("\n");
        if (to != from) throw std::runtime_error("wrong bytes");
    }
    const auto& sent = pair.counts(0);
    const auto& received = pair.counts(1);
    fmt::print("bytes a send {}, a receive {}\n", sent.bytes_sent / std::max<std::uint64_t>(sent.sends, 1),
               received.bytes_received / std::max<std::uint64_t>(received.receives, 1));
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (argc > 1) options.seconds = std::atof(argv[1]);
    if (argc > 2) options.flows = std::atoi(argv[2]);
    try {
        measure(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
