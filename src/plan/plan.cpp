#include "plan/plan.hpp"

#include <type_traits>

namespace rondo::plan {

namespace {

/// FNV-1a, 64 bits (Fowler, Noll, Vo), fed with integers in little-endian order whatever the machine.
class Fnv {
public:
    template <class T>
    void add(T value) noexcept {
        auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
        for (int i = 0; i < 8; ++i, bits >>= 8U) {
            hash_ = (hash_ ^ (bits & 0xffU)) * 0x100000001b3U;
        }
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

private:
    std::uint64_t hash_ = 0xcbf29ce484222325U;
};

void add(Fnv& hash, const Index& index) {
    for (const std::int32_t field : {index.base, index.scale, index.c0, index.cs, index.cj, index.cf, index.mod}) {
        hash.add(field);
    }
}

void add(Fnv& hash, const std::vector<Operand>& operands) {
    hash.add(operands.size());
    for (const Operand& operand : operands) {
        hash.add(operand.place);
        hash.add(operand.buffer);
        hash.add(operand.element);
        hash.add(operand.tag);
        hash.add((operand.acquire ? 1 : 0) | (operand.publish ? 2 : 0) | (operand.pre ? 4 : 0));
        hash.add(operand.fan);
        add(hash, operand.peer);
        add(hash, operand.block);
        add(hash, operand.piece);
    }
}

void add(Fnv& hash, const Block& block) {
    hash.add(block.when);
    hash.add(block.loop);
    hash.add(block.repeat);
    hash.add(block.steps.size());
    for (const Step& step : block.steps) {
        hash.add(step.kind);
        hash.add(step.post);
        hash.add(step.rows);
        hash.add(step.width);
        add(hash, step.part);
        add(hash, step.dsts);
        add(hash, step.srcs);
    }
}

}  // namespace

std::uint64_t hash_of(const Plan& plan) noexcept {
    Fnv hash;
    hash.add(plan.collective);
    hash.add(plan.algorithm);
    for (const std::int32_t field :
         {plan.nranks, plan.rank, plan.root, plan.parts, plan.message_parts, plan.scratch_blocks}) {
        hash.add(field);
    }
    hash.add(plan.window);
    for (const Protocol protocol : plan.protocol) hash.add(protocol);
    hash.add(plan.channels.size());
    for (const Channel& channel : plan.channels) {
        hash.add(channel.lanes.size());
        for (const Lane& lane : channel.lanes) {
            hash.add(lane.blocks.size());
            for (const Block& block : lane.blocks) add(hash, block);
        }
    }
    return hash.value();
}

std::string_view name_of(Collective collective) noexcept {
    switch (collective) {
        case Collective::AllReduce: return "all_reduce";
        case Collective::Reduce: return "reduce";
        case Collective::Broadcast: return "broadcast";
        case Collective::AllGather: return "all_gather";
        case Collective::ReduceScatter: return "reduce_scatter";
        case Collective::AllToAll: return "all_to_all";
        case Collective::AllToAllV: return "all_to_all_v";
        case Collective::SendRecv: return "send_recv";
        case Collective::Barrier: return "barrier";
    }
    return "?";
}

std::string_view name_of(Algorithm algorithm) noexcept {
    switch (algorithm) {
        case Algorithm::Ring: return "ring";
        case Algorithm::Tree: return "tree";
        case Algorithm::OneShot: return "one_shot";
        case Algorithm::TwoShot: return "two_shot";
        case Algorithm::HalvingDoubling: return "halving_doubling";
        case Algorithm::Bruck: return "bruck";
        case Algorithm::Pairwise: return "pairwise";
        case Algorithm::Pat: return "pat";
        case Algorithm::Hierarchical: return "hierarchical";
        case Algorithm::Nvls: return "nvls";
        case Algorithm::Direct: return "direct";
        case Algorithm::Group: return "group";
        case Algorithm::Dissemination: return "dissemination";
        case Algorithm::Staged: return "staged";
    }
    return "?";
}

}  // namespace rondo::plan
