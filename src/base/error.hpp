#pragma once
// Errors: one code with one text that says what, where, which limit and what to do.
// Set-up code throws Error; hot paths return Code and leave the text to whoever reports it.

#include <fmt/core.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rondo {

/// Numeric values are those of rondoResult_t in include/rondo/rondo.h (NCCL's values where NCCL has the meaning).
enum class Code : std::uint8_t {
    Success = 0,
    UnhandledCudaError = 1,
    SystemError = 2,
    InternalError = 3,
    InvalidArgument = 4,
    InvalidUsage = 5,
    RemoteError = 6,
    InProgress = 7,
    Timeout = 8,
    Aborted = 9,
};

/// "invalid argument", "timeout", ...
constexpr std::string_view name_of(Code code) noexcept {
    switch (code) {
        case Code::Success: return "success";
        case Code::UnhandledCudaError: return "CUDA error";
        case Code::SystemError: return "system error";
        case Code::InternalError: return "internal error";
        case Code::InvalidArgument: return "invalid argument";
        case Code::InvalidUsage: return "invalid usage";
        case Code::RemoteError: return "remote error";
        case Code::InProgress: return "in progress";
        case Code::Timeout: return "timeout";
        case Code::Aborted: return "aborted";
    }
    return "?";
}

/// An error with its code and its whole text. Callers add what they know by catching and rethrowing `with_context`.
class Error : public std::runtime_error {
public:
    Error(Code code, const std::string& text) : std::runtime_error(text), code_(code) {}

    [[nodiscard]] Code code() const noexcept { return code_; }

    /// The same error with `context` put before its text: "context: text".
    [[nodiscard]] Error with_context(const std::string& context) const { return {code_, context + ": " + what()}; }

private:
    Code code_;
};

/// What went wrong as data: the code and the text, kept where no exception may be thrown.
struct Failure {
    Code code = Code::Success;
    std::string text;
};

/// `throw make_error(Code::InvalidArgument, "rank {} is outside [0, {})", rank, nranks);`
template <class... Args>
[[nodiscard]] Error make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
    return {code, fmt::vformat(format, fmt::make_format_args(args...))};
}

/// What the system says about an errno value: "No space left on device (errno 28)".
std::string errno_text(int error);

/// A SystemError whose text ends with what the system says: `throw make_system_error(errno, "mmap of {} bytes", n);`
template <class... Args>
[[nodiscard]] Error make_system_error(int error, fmt::format_string<Args...> format, Args&&... args) {
    return {Code::SystemError, fmt::vformat(format, fmt::make_format_args(args...)) + ": " + errno_text(error)};
}

/// The exception being handled as a Failure; call it inside a catch block. An Error keeps its code, bad_alloc becomes a
/// SystemError, anything else an InternalError. Throws nothing: where memory is out, the text is short or empty.
Failure current_failure() noexcept;

}  // namespace rondo
