#pragma once
// Why a communicator failed, as data: the first cause, which every rank then reports.

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/types.hpp"

namespace rondo {

/// Every field but the code and the text may be unset: -1, 0 or "".
struct Cause {
    Code code = Code::Success;
    Rank rank = -1;              ///< that met the failure first
    Rank peer = -1;              ///< that it has to do with
    std::string text{};          ///< the whole story in one sentence or two; holds what the fields below say
    std::string operation{};     ///< "all_reduce", "init", ...
    std::uint64_t sequence = 0;  ///< number of the call
    std::string object{};        ///< the interface, address:port, file, setting, ... that it has to do with
    std::string limit{};         ///< that was passed, with its unit
    std::string number{};        ///< that passed it, with its unit
    std::string remedy{};        ///< what to do

    bool operator==(const Cause&) const = default;
};

}  // namespace rondo
