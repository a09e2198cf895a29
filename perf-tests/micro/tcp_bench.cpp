// What FIFOs over TCP cost, against a bare send/recv loop over the same kind of connection, between two threads over
// loopback.
//
//   tcp_bench [seconds per measurement] [connections per pair of ranks]
//
// Latency: half a round trip of 8 bytes. Bandwidth: one direction, messages of 64 KiB to 64 MiB; through FIFOs these are
// cut into slots, as plans do, and both sides copy between a buffer and the slot. `copies` is the bare loop with those
// two copies, through buffers as large as a slot.

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

    double ping(int rounds) {
        return both([&](int side) {
            const int fd = fds_[static_cast<std::size_t>(side)];
            std::array<std::byte, kPing> word{};
            for (int i = 0; i < rounds; ++i) {
                if (side == 0) send_all(fd, word.data(), word.size());
                receive_all(fd, word.data(), word.size(), true);
                if (side == 1) send_all(fd, word.data(), word.size());
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

    double ping(int rounds) {
        return both([&](int side) {
            Network& network = sides_[static_cast<std::size_t>(side)]->network;
            Fifo& out = *out_[static_cast<std::size_t>(side)];
            Fifo& in = *in_[static_cast<std::size_t>(side)];
            for (int i = 0; i < rounds; ++i) {
                if (side == 0) post(network, out, nullptr, kPing, true);
                await(network, [&] { return in.readable(); }, true);
                in.release(true);
                if (side == 1) post(network, out, nullptr, kPing, true);
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
                    await(network, [&] { return in.readable(); }, false);
                    std::memcpy(to.data() + at, in.read_place(false), part);
                    in.release(false);
                }
            }
            // As in the bare loop, the sender waits until everything has been read.
            if (side == 1) post(network, out, nullptr, 1, true);
            if (side == 0) {
                await(network, [&] { return in.readable(); }, false);
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
        Side(Pair& all, Rank rank, int flows)
            : pair(all), network(rank, 2, kSlots, kSlotBytes, bell, *this, flows) {}
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
        await(network, [&] { return fifo.writable(inlined); }, inlined);
        if (from != nullptr) std::memcpy(fifo.write_place(inlined), from, bytes);
        fifo.extend(bytes);
        fifo.post(inlined, 1);
        network.progress();
    }

    static void flush(Network& network) {
        await(network, [&] { return network.flushed(); }, false);
    }

    std::array<std::unique_ptr<Side>, 2> sides_;
    std::array<Fifo*, 2> out_{};
    std::array<Fifo*, 2> in_{};
};

// --- Measurements ----------------------------------------------------------------------------------------------------

/// Rounds that take about `seconds`, judged by a few of them.
int rounds_for(double seconds, const std::function<double(int)>& run) {
    constexpr int kFew = 4;
    run(kFew);
    const double each = std::max(run(kFew) / kFew, 1e-7);
    return std::clamp(static_cast<int>(seconds / each), 4, 1'000'000);
}

/// The better of several runs in turns, so that what else the machine does meets both.
std::array<double, 3> best_of(int rounds, const std::array<std::function<double(int)>, 3>& runs) {
    std::array<double, 3> best{1e9, 1e9, 1e9};
    for (int repeat = 0; repeat < 3; ++repeat) {
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (runs[i]) best[i] = std::min(best[i], runs[i](rounds) / rounds);
        }
    }
    return best;
}

void measure(const Options& options) {
    Bare bare;
    Pair pair(options.flows);
    const auto ping = [&](int rounds) { return bare.ping(rounds); };
    const auto times = best_of(rounds_for(options.seconds / 6, ping),
                               {ping, {}, [&](int rounds) { return pair.ping(rounds); }});
    fmt::print("{:>10}  {:>12}  {:>12}  {:>12}  {:>8}  {:>8}\n", "bytes", "bare", "copies", "fifo", "to bare",
               "to copies");
    fmt::print("{:>10}  {:>9.2f} us  {:>12}  {:>9.2f} us  {:>8.2f}  {:>8}\n", kPing, times[0] / 2 * 1e6, "",
               times[2] / 2 * 1e6, times[2] / times[0], "");
    for (std::size_t bytes = 64U << 10U; bytes <= 64U << 20U; bytes *= 4) {
        std::vector<std::byte> from(bytes, std::byte{3});
        std::vector<std::byte> to(bytes, std::byte{4});
        const auto plain = [&](int rounds) { return bare.stream(from, to, rounds, false); };
        const auto copied = [&](int rounds) { return bare.stream(from, to, rounds, true); };
        const auto fifos = [&](int rounds) { return pair.stream(from, to, rounds); };
        const auto seconds = best_of(rounds_for(options.seconds / 6, plain), {plain, copied, fifos});
        std::array<double, 3> rates{};
        for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = static_cast<double>(bytes) / seconds[i] / 1e9;
        fmt::print("{:>10}  {:>7.2f} GB/s  {:>7.2f} GB/s  {:>7.2f} GB/s  {:>8.2f}  {:>8.2f}\n", bytes, rates[0],
                   rates[1], rates[2], rates[2] / rates[0], rates[2] / rates[1]);
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
