#pragma once

#include "driver/launch.hpp"
#include "driver/options.hpp"

namespace rondo::perf {

/// One process's part of a run: joins the others, measures, checks; process 0 prints and writes. Returns the exit
/// status, which is 0 only where all went well in every process. Throws ProcessError when the processes do not come
/// together.
int run_process(const Collective& collective, Options options, const Launch& launch, const Ids& ids, int argc,
                const char* const* argv);

}  // namespace rondo::perf
