#pragma once
// The caller's structs as the library's own.

#include "bootstrap/unique_id.hpp"
#include "comm/options.hpp"
#include "rondo/rondo.h"

namespace rondo::api {

/// A caller built with an older header has fewer fields, and `size` says how many. null: the defaults. Errors:
/// InvalidArgument.
comm::Config config_of(const rondoConfig_t* given, const char* function);

bootstrap::UniqueId id_of(const rondoUniqueId& id);

}  // namespace rondo::api
