#include "base/error.hpp"

#include <cstring>
#include <exception>
#include <new>

namespace rondo {

std::string errno_text(int error) {
    char buffer[256] = "";
    // GNU's strerror_r returns the text and need not use the buffer; unlike strerror it is safe among threads.
    const char* text = strerror_r(error, buffer, sizeof buffer);
    return fmt::format("{} (errno {})", text, error);
}

Failure current_failure() noexcept {
    Failure failure{.code = Code::InternalError, .text = {}};
    try {
        throw;
    } catch (const Error& error) {
        failure.code = error.code();
        try {
            failure.text = error.what();
        } catch (const std::bad_alloc&) {
            failure.text.clear();
        }
    } catch (const std::bad_alloc&) {
        failure.code = Code::SystemError;
        failure.text = "out of memory";  // short enough for the string's own buffer
    } catch (const std::exception& error) {
        try {
            failure.text = std::string("unexpected exception: ") + error.what();
        } catch (const std::bad_alloc&) {
            failure.text.clear();
        }
    } catch (...) {
        failure.text = "unknown fault";
    }
    return failure;
}

}  // namespace rondo
