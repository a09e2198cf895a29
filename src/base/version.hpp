#pragma once
// Version and build id of this library.

#include <string>

namespace rondo {

/// Major * 10000 + minor * 100 + patch: 100 for 0.1.0.
int version_number() noexcept;

/// "0.1.0".
const char* version_text() noexcept;

/// `git describe` of the tree that was built, with "-dirty" where it had changes; "unknown" outside a git checkout.
const char* build_commit() noexcept;

/// One line: version, commit, compiler, build type and sanitizers.
const std::string& build_info();

}  // namespace rondo
