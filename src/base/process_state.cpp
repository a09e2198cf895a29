#include "base/process_state.hpp"

#include <fmt/core.h>

#include <fstream>
#include <string>

namespace rondo {

bool process_is_stopped(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line)) return false;
    // The name in parentheses may hold anything; the state follows the last one.
    const std::size_t end = line.rfind(')');
    if (end == std::string::npos || end + 2 >= line.size()) return false;
    return line[end + 2] == 'T' || line[end + 2] == 't';
}

}  // namespace rondo
