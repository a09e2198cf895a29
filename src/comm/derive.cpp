#include "comm/derive.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "comm/drive.hpp"

namespace rondo::comm {

namespace {

/// What each rank says in a split.
using Choice = std::array<std::int64_t, 2>;  // colour, key

Place place_among(Communicator& comm, const char* purpose, std::uint64_t colour, const std::vector<Rank>& ranks) {
    const bootstrap::Roster& roster = comm.team().roster();
    const std::int32_t first = roster.process_of[static_cast<std::size_t>(ranks.front())];
    const auto own = std::ranges::find(ranks, comm.rank());
    return {
        .id = bootstrap::derive_id(comm.team().id(), purpose, comm.next_derived(), colour, roster.contact_of(first)),
        .nranks = static_cast<Rank>(ranks.size()),
        .rank = static_cast<Rank>(own - ranks.begin())};
}

void check_excluded(const Communicator& comm, const std::vector<Rank>& excluded) {
    for (std::size_t i = 0; i < excluded.size(); ++i) {
        const Rank rank = excluded[i];
        if (rank < 0 || rank >= comm.nranks()) {
            throw make_error(Code::InvalidArgument, "shrink: rank {} to be left out is outside [0, {})", rank,
                             comm.nranks());
        }
        if (std::find(excluded.begin(), excluded.begin() + static_cast<std::ptrdiff_t>(i), rank) !=
            excluded.begin() + static_cast<std::ptrdiff_t>(i)) {
            throw make_error(Code::InvalidArgument, "shrink: rank {} is listed twice", rank);
        }
        if (rank == comm.rank()) {
            throw make_error(Code::InvalidArgument, "shrink: rank {} leaves itself out; only those that stay call it",
                             rank);
        }
    }
}

}  // namespace

Place shrink(Communicator& comm, const std::vector<Rank>& excluded) {
    check_excluded(comm, excluded);
    if (!comm.team().ready()) {
        throw make_error(Code::InvalidUsage,
                         "shrink: rank {}: the communicator failed before all ranks were there; make a new one from a "
                         "new unique id",
                         comm.rank());
    }
    std::vector<Rank> left;
    std::uint64_t list = 0;
    for (Rank rank = 0; rank < comm.nranks(); ++rank) {
        const bool out = std::ranges::find(excluded, rank) != excluded.end();
        if (!out) left.push_back(rank);
        list = mix(list, out ? 1 : 0);
    }
    return place_among(comm, "shrink", list, left);
}

std::optional<Place> split(Communicator& comm, std::int32_t colour, std::int32_t key) {
    if (colour < 0 && colour != kNoColour) {
        throw make_error(Code::InvalidArgument, "split: colour is {}; allowed: 0 and more, or RONDO_SPLIT_NOCOLOR",
                         colour);
    }
    const Choice own{colour, key};
    std::vector<Choice> all(static_cast<std::size_t>(comm.nranks()));
    Operation gather;
    gather.call = {.collective = plan::Collective::AllGather,
                   .type = DataType::Int64,
                   .count = static_cast<std::int64_t>(own.size()),
                   .input = own.data(),
                   .output = all.data()};
    if (const Code code = run(comm, gather); code != Code::Success) throw Error(code, comm.error_text());
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < comm.nranks(); ++rank) {
        if (all[static_cast<std::size_t>(rank)][0] == colour) ranks.push_back(rank);
    }
    std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) {
        return all[static_cast<std::size_t>(a)][1] < all[static_cast<std::size_t>(b)][1];
    });
    Place place = place_among(comm, "split", static_cast<std::uint32_t>(colour), ranks);
    if (colour == kNoColour) return std::nullopt;
    return place;
}

}  // namespace rondo::comm
