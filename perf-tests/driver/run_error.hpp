#pragma once

#include <rondo/rondo.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace rondo::perf {

/// A failure outside of the measured calls.
class RunError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A call that serves the coordination of the processes has failed, most often because a process went away.
class ProcessError : public RunError {
public:
    using RunError::RunError;
};

/// "name: meaning of the code: the library's text" of a call that has just failed in this thread.
std::string failed_call(std::string_view name, rondoResult_t result, rondoComm_t comm = nullptr);

/// Throws RunError with failed_call() unless `result` is rondoSuccess.
void require(std::string_view name, rondoResult_t result);

}  // namespace rondo::perf
