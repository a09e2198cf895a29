#include "plan/verify/layout.hpp"

#include <algorithm>

namespace rondo::plan {

namespace detail {

const ExtentTable& table_of(const Launch& launch, Rank rank, Buffer buffer) {
    const RankTables& tables = launch.tables[static_cast<std::size_t>(rank)];
    return buffer == Buffer::Input ? tables.input : tables.output;
}

std::int64_t block_count(const Plan& plan, const Launch& launch, Buffer buffer) {
    const bool in = buffer == Buffer::Input;
    const bool at_root = plan.rank == plan.root;
    switch (plan.collective) {
        case Collective::AllReduce: return 1;
        case Collective::Reduce: return in || at_root ? 1 : 0;
        case Collective::Broadcast: return !in || at_root ? 1 : 0;
        case Collective::AllGather: return in ? 1 : plan.nranks;
        case Collective::ReduceScatter: return in ? plan.nranks : 1;
        case Collective::AllToAll: return plan.nranks;
        case Collective::AllToAllV:
        case Collective::SendRecv: return static_cast<std::int64_t>(table_of(launch, plan.rank, buffer).length.size());
        case Collective::Barrier: return in ? 1 : 0;  // the byte that its signals carry
    }
    return 0;
}

std::int64_t block_length(const Plan& plan, const Launch& launch, Buffer buffer, std::int64_t block) {
    if (!has_tables(plan.collective)) return launch.count;
    return table_of(launch, plan.rank, buffer).length[static_cast<std::size_t>(block)];
}

std::int64_t block_offset(const Plan& plan, const Launch& launch, Buffer buffer, std::int64_t block) {
    if (!has_tables(plan.collective)) return block * launch.count;
    return table_of(launch, plan.rank, buffer).offset[static_cast<std::size_t>(block)];
}

Alias alias_of(const Plan& plan, const Launch& launch) {
    if (!launch.in_place) return {};
    switch (plan.collective) {
        case Collective::AllReduce: return {true, 0};
        case Collective::Reduce:
        case Collective::Broadcast: return {plan.rank == plan.root, 0};
        case Collective::AllGather: return {true, plan.rank * launch.count};
        case Collective::ReduceScatter: return {true, -plan.rank * launch.count};
        case Collective::AllToAll:
        case Collective::AllToAllV:
        case Collective::SendRecv:
        case Collective::Barrier: return {};
    }
    return {};
}

std::int64_t tiles_of(const Plan& plan, const Launch& launch, std::int32_t channel) {
    const Cut cut = cut_of(plan, launch);
    std::int64_t tiles = tile_count(launch.count, cut, channel);
    if (!has_tables(plan.collective)) return tiles;
    for (const Buffer buffer : {Buffer::Input, Buffer::Output}) {
        for (const std::int64_t length : table_of(launch, plan.rank, buffer).length) {
            tiles = std::max(tiles, tile_count(length, cut, channel));
        }
    }
    return tiles;
}

}  // namespace detail

namespace {

std::int64_t buffer_size(const Plan& plan, const Launch& launch, Buffer buffer) {
    const std::int64_t blocks = detail::block_count(plan, launch, buffer);
    if (!detail::has_tables(plan.collective)) return blocks * launch.count;
    std::int64_t size = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
        size = std::max(size, detail::block_offset(plan, launch, buffer, block) +
                                  detail::block_length(plan, launch, buffer, block));
    }
    return size;
}

}  // namespace

std::int64_t input_size(const Plan& plan, const Launch& launch) { return buffer_size(plan, launch, Buffer::Input); }

std::int64_t output_size(const Plan& plan, const Launch& launch) { return buffer_size(plan, launch, Buffer::Output); }

}  // namespace rondo::plan
