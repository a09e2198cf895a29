#pragma once
// The catalogue of shapes: every (collective, algorithm) that has a builder. A builder is a pure function of the facts
// that all ranks share and of the rank; it does no I/O and starts no threads.

#include <span>
#include <string_view>

#include "plan/plan.hpp"

namespace rondo::plan {

/// What a shape asks of the machine beyond FIFOs.
struct Needs {
    bool peer_memory = false;  ///< every rank can load from and store to every other rank's buffers
    bool peer_reads = false;   ///< every rank can copy from every other rank's buffers
    bool windows = false;      ///< every rank can address every other rank's scratch
    bool multicast = false;    ///< a switch that loads and stores all ranks' buffers at once
};

struct Shape {
    Collective collective;
    Algorithm algorithm;
    Needs needs;
    /// True where the shape can be built for these facts (hierarchical shapes want hosts with equally many ranks, say).
    bool (*serves)(const Facts&);
    Plan (*build)(const Facts&, Rank rank);
    /// `bytes`: the size of the collective as nccl-tests counts it (the whole vector; n x count for all_gather,
    /// reduce_scatter and all_to_all). A barrier is launched with count 1 and one readable byte as its input.
    Cost (*cost)(const Facts&, double bytes);
};

/// Every shape, grouped by collective; the order is stable.
std::span<const Shape> shapes();

/// The shape of this collective and algorithm; nullptr where there is none.
const Shape* find_shape(Collective collective, Algorithm algorithm);

/// One operation of a group: peer and direction. Its buffer and extent are entry `index in the list` of the launch's
/// tables: the input table for sends, the output table for receives.
struct GroupOp {
    Rank peer = 0;
    bool send = false;
};

/// The plan of a group of sends and receives as rank `rank` issued them. The k-th send to a peer meets the k-th receive
/// there. Not a Shape: its input is the user's list and not shared facts; only the message order of each pair is
/// shared.
Plan build_group(Rank nranks, Rank rank, std::span<const GroupOp> ops);

}  // namespace rondo::plan
