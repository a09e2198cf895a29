#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>

#include "base/version.hpp"
#include "rondo/rondo.h"

namespace rondo {
namespace {

TEST(Error, FormatsAndTakesContext) {
    const Error error = make_error(Code::InvalidUsage, "rank {} is outside [0, {})", 7, 4).with_context("all_reduce");
    EXPECT_EQ(error.code(), Code::InvalidUsage);
    EXPECT_STREQ(error.what(), "all_reduce: rank 7 is outside [0, 4)");
}

TEST(Error, SystemErrorSaysWhatTheSystemSays) {
    const Error error = make_system_error(ENOSPC, "mmap of {} bytes", 4096);
    EXPECT_EQ(error.code(), Code::SystemError);
    EXPECT_STREQ(error.what(), "mmap of 4096 bytes: No space left on device (errno 28)");
}

template <class Exception>
Failure failure_from(const Exception& exception) {
    try {
        throw exception;
    } catch (...) {
        return current_failure();
    }
}

TEST(Failure, KeepsCodeAndText) {
    const Failure error = failure_from(make_error(Code::Timeout, "after {} s", 3));
    EXPECT_EQ(error.code, Code::Timeout);
    EXPECT_EQ(error.text, "after 3 s");

    const Failure memory = failure_from(std::bad_alloc());
    EXPECT_EQ(memory.code, Code::SystemError);
    EXPECT_EQ(memory.text, "out of memory");

    const Failure other = failure_from(std::runtime_error("odd"));
    EXPECT_EQ(other.code, Code::InternalError);
    EXPECT_EQ(other.text, "unexpected exception: odd");

    EXPECT_EQ(failure_from(42).code, Code::InternalError);
}

TEST(Code, HasTheNumbersOfTheCHeader) {
    EXPECT_EQ(static_cast<int>(Code::UnhandledCudaError), rondoUnhandledCudaError);
    EXPECT_EQ(static_cast<int>(Code::SystemError), rondoSystemError);
    EXPECT_EQ(static_cast<int>(Code::InternalError), rondoInternalError);
    EXPECT_EQ(static_cast<int>(Code::InvalidArgument), rondoInvalidArgument);
    EXPECT_EQ(static_cast<int>(Code::InvalidUsage), rondoInvalidUsage);
    EXPECT_EQ(static_cast<int>(Code::RemoteError), rondoRemoteError);
    EXPECT_EQ(static_cast<int>(Code::InProgress), rondoInProgress);
    EXPECT_EQ(static_cast<int>(Code::Timeout), rondoTimeout);
    EXPECT_EQ(static_cast<int>(Code::Aborted), rondoAborted);
}

TEST(Code, EveryCodeHasAName) {
    for (int code = 0; code <= static_cast<int>(Code::Aborted); ++code) {
        EXPECT_NE(name_of(static_cast<Code>(code)), "?") << code;
    }
}

TEST(Version, IsThatOfTheCHeader) {
    EXPECT_EQ(version_number(), RONDO_VERSION_CODE);
    EXPECT_EQ(version_text(),
              std::to_string(RONDO_MAJOR) + "." + std::to_string(RONDO_MINOR) + "." + std::to_string(RONDO_PATCH));
    EXPECT_EQ(build_info().rfind(std::string("rondo ") + version_text() + ", commit ", 0), 0U) << build_info();
}

}  // namespace
}  // namespace rondo
