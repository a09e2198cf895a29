#pragma once
// Errors: one code with one text that says what, where, which limit and what to do.
// Set-up code throws Error; hot paths return Code and leave the text to whoever reports it.

#include <cstdint>
#include <stdexcept>
#include <string>
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

}  // namespace rondo
