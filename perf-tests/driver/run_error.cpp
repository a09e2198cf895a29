#include "driver/run_error.hpp"

#include <fmt/format.h>

#include <string>

namespace rondo::perf {

std::string failed_call(std::string_view name, rondoResult_t result, rondoComm_t comm) {
    const char* text = comm == nullptr ? "" : rondoGetLastError(comm);
    if (text == nullptr || *text == '\0') text = rondoGetLastError(nullptr);
    if (text == nullptr || *text == '\0') text = "the library gives no further text";
    return fmt::format("{}: {}: {}", name, rondoGetErrorString(result), text);
}

void require(std::string_view name, rondoResult_t result) {
    if (result != rondoSuccess) throw RunError(failed_call(name, result));
}

}  // namespace rondo::perf
