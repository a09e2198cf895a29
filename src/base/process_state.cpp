#include "base/process_state.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "base/descriptor_table.hpp"

namespace rondo {

namespace {

/// The fields after the name: the state first. The name is in parentheses and may hold anything.
std::istringstream fields_of(pid_t pid) {
    std::string line;
    std::ifstream file = DescriptorTable::read(fmt::format("/proc/{}/stat", pid));
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    return std::istringstream(name_end == std::string::npos ? "" : line.substr(name_end + 1));
}

}  // namespace

bool process_is_stopped(pid_t pid) {
    std::string state;
    fields_of(pid) >> state;
    return state == "T" || state == "t";
}

bool process_has_ended(pid_t pid) {
    std::string state;
    fields_of(pid) >> state;
    return state == "Z" || state == "X" || (state.empty() && ::kill(pid, 0) != 0 && errno == ESRCH);
}

std::uint64_t process_start_time(pid_t pid) {
    std::istringstream fields = fields_of(pid);
    std::string skipped;
    constexpr int kFieldsBefore = 19;
    for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
    std::uint64_t ticks = 0;
    fields >> ticks;
    return fields ? ticks : 0;
}

}  // namespace rondo
