#pragma once
// Communicators made out of another one, without a unique id from the user.

#include <cstdint>
#include <optional>
#include <vector>

#include "bootstrap/unique_id.hpp"
#include "comm/communicator.hpp"

namespace rondo::comm {

/// A place in a communicator to be.
struct Place {
    bootstrap::UniqueId id{};
    Rank nranks = 0;
    Rank rank = 0;
};

/// The place of this rank among those that are left without `excluded`. Works after a failure, too: needs nothing from
/// the ranks that are left out. Errors: InvalidArgument (a rank outside, named twice, or the caller itself),
/// InvalidUsage (the communicator failed before it was made).
Place shrink(Communicator& comm, const std::vector<Rank>& excluded);

/// The place of this rank among those that pass the same colour, ordered by key and then by rank; none for
/// kNoColour. Collective over `comm`. Errors: those of an all-gather; InvalidArgument for another negative colour.
std::optional<Place> split(Communicator& comm, std::int32_t colour, std::int32_t key);

inline constexpr std::int32_t kNoColour = -1;

}  // namespace rondo::comm
