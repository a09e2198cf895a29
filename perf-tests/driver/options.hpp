#pragma once
// The flags: nccl-tests' where they have a meaning here, and ours.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "driver/collective.hpp"
#include "driver/launch.hpp"

namespace rondo::perf {

/// How the times of the ranks become one time: the values of -a.
enum class Average : std::uint8_t { Rank0 = 0, Mean = 1, Min = 2, Max = 3 };

struct Options {
    std::uint64_t min_bytes = 32U << 20;
    std::uint64_t max_bytes = 32U << 20;
    std::uint64_t step_bytes = 1U << 20;
    std::uint64_t step_factor = 1;  ///< above 1: sizes are multiplied, and step_bytes is not used
    int iterations = 20;
    int warmup = 1;
    int aggregate = 1;  ///< calls per iteration
    int checks = 1;     ///< checked rounds for each row and mode; 0: off
    int cycles = 1;     ///< 0: for ever
    std::vector<rondoDataType_t> types{rondoFloat32};
    std::vector<rondoRedOp_t> ops{rondoSum};
    std::vector<int> roots{0};
    int procs = 0;  ///< --procs: processes to fork; 0: none
    int processes = 1;
    int process = 0;         ///< number of this one
    int processes_here = 1;  ///< on this machine; they share its cores and memory
    int threads = 2;         ///< of each process
    int ranks_per_thread = 1;
    Average average = Average::Mean;
    double timeout = 0;  ///< seconds; 0: the library's setting
    std::size_t unalign = 0;
    bool unalign_bytes = false;  ///< unalign counts bytes, else elements
    bool timestamps = false;
    std::string json;  ///< "": none; "-": stdout
    std::string csv;
    bool inject_error = false;
    bool stream = false;
    bool back_to_back = false;
    bool mpi = false;  ///< time MPI's own calls too
    std::string algo;  ///< "": follow RONDO_ALGO
    std::uint64_t seed = 1;

    [[nodiscard]] int nranks() const noexcept { return processes * ranks_per_process(); }
    [[nodiscard]] int ranks_per_process() const noexcept { return threads * ranks_per_thread; }
    [[nodiscard]] int ranks_here() const noexcept { return processes_here * ranks_per_process(); }
    /// The first rank of this process.
    [[nodiscard]] int first_rank() const noexcept { return process * ranks_per_process(); }
    /// Bytes by which buffers of this element size are moved off their alignment.
    [[nodiscard]] std::size_t misalignment(std::size_t element_size) const noexcept {
        return unalign_bytes ? unalign : unalign * element_size;
    }
};

/// A flag that is wrong: the text names the flag, the value and what is allowed.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Bytes from "8", "4K", "1.5M", "2g": K, M, G and T are powers of 1024. Throws UsageError naming `flag`.
std::uint64_t parse_size(std::string_view flag, std::string_view text);

/// What the command line asks for: options, or a text to print (help, version) in place of running.
struct CommandLine {
    Options options;
    std::optional<std::string> print;
};

/// `launch`: what a launcher has started, if one has. Throws UsageError.
CommandLine parse_command_line(const Collective& collective, int argc, const char* const* argv,
                               const Launch& launch = {});

}  // namespace rondo::perf
