#pragma once
// Mutants of a plan: each differs from it in one fault that a builder, an executor's author or a plan file could have.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace rondo::plan::mutation {

struct Mutant {
    std::string what;
    Plan plan;
};

/// Makes all mutants of one plan. Channel 0 stands for the others of the plan.
class Mutator {
public:
    explicit Mutator(const Plan& plan) : original_(plan) {}

    std::vector<Mutant> all() {
        const Channel& channel = original_.channels[0];
        for (lane_ = 0; lane_ < channel.lanes.size(); ++lane_) {
            for (block_ = 0; block_ < channel.lanes[lane_].blocks.size(); ++block_) {
                mutate_block(channel.lanes[lane_].blocks[block_]);
                const std::vector<Step>& steps = channel.lanes[lane_].blocks[block_].steps;
                for (step_ = 0; step_ < steps.size(); ++step_) {
                    mutate_step(steps[step_]);
                    for (const bool sources : {false, true}) {
                        const auto& operands = sources ? steps[step_].srcs : steps[step_].dsts;
                        for (std::size_t i = 0; i < operands.size(); ++i) mutate_operand(operands[i], sources, i);
                    }
                }
            }
        }
        return std::move(mutants_);
    }

private:
    using Operands = std::vector<Operand>;

    static Lane& lane_in(Plan& plan, std::size_t lane) { return plan.channels[0].lanes[lane]; }
    Block& block_in(Plan& plan) const { return lane_in(plan, lane_).blocks[block_]; }
    Step& step_in(Plan& plan) const { return block_in(plan).steps[step_]; }
    Operand& operand_in(Plan& plan, bool sources, std::size_t i) const {
        return sources ? step_in(plan).srcs[i] : step_in(plan).dsts[i];
    }

    void add(std::string what, const std::function<void(Plan&)>& change) {
        Mutant mutant{"lane " + std::to_string(lane_) + " block " + std::to_string(block_) + ": " + std::move(what),
                      original_};
        change(mutant.plan);
        if (mutant.plan != original_) mutants_.push_back(std::move(mutant));
    }
    void add_step(const std::string& what, const std::function<void(Step&)>& change) {
        add("step " + std::to_string(step_) + ": " + what, [&](Plan& plan) { change(step_in(plan)); });
    }
    void add_operand(const std::string& what, bool sources, std::size_t i,
                     const std::function<void(Operand&)>& change) {
        add("step " + std::to_string(step_) + (sources ? " srcs[" : " dsts[") + std::to_string(i) + "]: " + what,
            [&](Plan& plan) { change(operand_in(plan, sources, i)); });
    }

    void mutate_block(const Block& block) {
        add("dropped", [&](Plan& plan) {
            auto& blocks = lane_in(plan, lane_).blocks;
            blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(block_));
        });
        for (const int by : {-1, 1}) {
            if (block.repeat + by < 0) continue;
            add("repeat " + std::to_string(by), [&](Plan& plan) { block_in(plan).repeat += by; });
        }
        add("in a tile loop of its own", [&](Plan& plan) { block_in(plan).loop += 1; });
        for (const When when : {When::Before, When::EachTile, When::After}) {
            add("runs at another time", [&](Plan& plan) { block_in(plan).when = when; });
        }
        if (block_ + 1 < original_.channels[0].lanes[lane_].blocks.size()) {
            add("exchanged with the next block", [&](Plan& plan) {
                auto& blocks = lane_in(plan, lane_).blocks;
                std::swap(blocks[block_], blocks[block_ + 1]);
            });
        }
    }

    void mutate_step(const Step& step) {
        const auto at = static_cast<std::ptrdiff_t>(step_);
        const std::string name = "step " + std::to_string(step_);
        add(name + " dropped", [&](Plan& plan) { block_in(plan).steps.erase(block_in(plan).steps.begin() + at); });
        add(name + " twice", [&](Plan& plan) { block_in(plan).steps.insert(block_in(plan).steps.begin() + at, step); });
        if (step_ + 1 < original_.channels[0].lanes[lane_].blocks[block_].steps.size()) {
            add(name + " exchanged with the next",
                [&](Plan& plan) { std::swap(block_in(plan).steps[step_], block_in(plan).steps[step_ + 1]); });
        }
        add_step("final factor toggled", [](Step& s) { s.post = !s.post; });
        for (const int by : {-1, 1}) {
            add_step("rows " + std::to_string(by), [by](Step& s) { s.rows += by; });
            add_step("width " + std::to_string(by), [by](Step& s) { s.width += by; });
        }
        if (step.kind == Kind::Move) {
            for_each_index_change(step.part, [&](const std::string& what, const Index& index) {
                add_step("part " + what, [&](Step& s) { s.part = index; });
            });
        }
        for (const Kind kind : {Kind::Post, Kind::Wait}) {
            if (step.kind == Kind::Move || step.kind == kind) continue;
            add_step("a post for a wait", [kind](Step& s) {
                s.kind = kind;
                std::swap(s.dsts, s.srcs);
            });
        }
    }

    void mutate_operand(const Operand& operand, bool sources, std::size_t i) {
        const bool message = operand.place == Place::Inbox || operand.place == Place::Outbox;
        add_step((sources ? "srcs[" : "dsts[") + std::to_string(i) + "] dropped", [&](Step& s) {
            Operands& side = sources ? s.srcs : s.dsts;
            side.erase(side.begin() + static_cast<std::ptrdiff_t>(i));
        });
        if (i + 1 < (sources ? step_in(original_).srcs.size() : step_in(original_).dsts.size())) {
            add_step("operands exchanged", [&](Step& s) {
                Operands& side = sources ? s.srcs : s.dsts;
                std::swap(side[i], side[i + 1]);
            });
        }
        for (const int by : {-1, 1}) {
            add_operand("fan " + std::to_string(by), sources, i, [by](Operand& o) { o.fan += by; });
        }
        add_operand("tag", sources, i, [](Operand& o) { o.tag = static_cast<std::uint8_t>((o.tag + 1) % kMaxTags); });
        if (sources && operand.place != Place::Counter) {
            add_operand("premultiplier toggled", sources, i, [](Operand& o) { o.pre = !o.pre; });
        }
        add_operand("element type", sources, i,
                    [](Operand& o) { o.element = o.element == Element::Data ? Element::Accumulator : Element::Data; });
        mutate_place(operand, sources, i);
        if (message) mutate_message(operand, sources, i);
        mutate_indices(operand, sources, i);
    }

    void mutate_place(const Operand& operand, bool sources, std::size_t i) {
        if (operand.place == Place::Counter) return;
        for (const Buffer buffer : {Buffer::Input, Buffer::Output, Buffer::Scratch}) {
            const bool addressed = operand.place != Place::Inbox && operand.place != Place::Outbox;
            const std::string name = buffer == Buffer::Input    ? "input"
                                     : buffer == Buffer::Output ? "output"
                                                                : "scratch";
            if (addressed) {
                add_operand(name + " instead", sources, i, [buffer](Operand& o) { o.buffer = buffer; });
            }
            add_operand("own " + name + " instead", sources, i, [buffer](Operand& o) {
                o.place = Place::Local;
                o.buffer = buffer;
                o.acquire = o.publish = false;
            });
            // The same, but the block that belongs to the rank.
            add_operand("own block of " + name + " instead", sources, i, [&](Operand& o) {
                o = {.place = Place::Local, .buffer = buffer, .pre = o.pre, .block = fixed(original_.rank)};
            });
        }
        for (const Place place : {Place::Peer, Place::Multicast, sources ? Place::Inbox : Place::Outbox}) {
            const bool message = place == Place::Inbox || place == Place::Outbox;
            add_operand("another kind of place", sources, i, [&](Operand& o) {
                o.place = place;
                o.acquire = o.publish = message;
            });
        }
        // Any other operand of the lane on the same side of a move.
        for (const Block& block : original_.channels[0].lanes[lane_].blocks) {
            for (const Step& step : block.steps) {
                if (step.kind != Kind::Move) continue;
                for (const Operand& other : sources ? step.srcs : step.dsts) {
                    add_operand("exchanged for another operand of the lane", sources, i,
                                [&](Operand& o) { o = other; });
                }
            }
        }
    }

    void mutate_message(const Operand& operand, bool sources, std::size_t i) {
        add_operand("acquire toggled", sources, i, [](Operand& o) { o.acquire = !o.acquire; });
        add_operand("publish toggled", sources, i, [](Operand& o) { o.publish = !o.publish; });
        add_operand("neither acquired nor published", sources, i, [](Operand& o) { o.acquire = o.publish = false; });
        for (const bool later : {false, true}) {
            move_flag("acquire", operand, sources, i, later, &Operand::acquire);
            move_flag("publish", operand, sources, i, later, &Operand::publish);
        }
    }

    /// The flag goes to the nearest step before or after whose operand belongs to the same FIFO.
    void move_flag(const std::string& name, const Operand& operand, bool sources, std::size_t i, bool later,
                   bool Operand::*flag) {
        if (!(operand.*flag)) return;
        const auto same = [&](const Operand& other) {
            return other.place == operand.place && other.tag == operand.tag;
        };
        add_operand(name + (later ? " moved to a later step" : " moved to an earlier step"), sources, i,
                    [&](Operand& o) { o.*flag = false; });
        Plan& mutant = mutants_.back().plan;
        std::vector<Operand*> list;  // of the FIFO, in the order in which the lane names them
        std::size_t here = 0;
        for (std::size_t b = 0; b < lane_in(mutant, lane_).blocks.size(); ++b) {
            for (std::size_t s = 0; s < lane_in(mutant, lane_).blocks[b].steps.size(); ++s) {
                Step& step = lane_in(mutant, lane_).blocks[b].steps[s];
                Operands& side = sources ? step.srcs : step.dsts;
                for (std::size_t k = 0; k < side.size(); ++k) {
                    if (!same(side[k])) continue;
                    if (b == block_ && s == step_ && k == i) here = list.size();
                    list.push_back(&side[k]);
                }
            }
        }
        if (later ? here + 1 < list.size() : here > 0) list[later ? here + 1 : here - 1]->*flag = true;
    }

    void mutate_indices(const Operand& operand, bool sources, std::size_t i) {
        const bool message = operand.place == Place::Inbox || operand.place == Place::Outbox;
        const bool peer = message || operand.place == Place::Peer || operand.place == Place::Counter;
        const auto change = [&](const char* name, Index Operand::*index) {
            for_each_index_change(operand.*index, [&](const std::string& what, const Index& changed) {
                add_operand(name + what, sources, i, [&](Operand& o) { o.*index = changed; });
            });
        };
        if (peer) change("peer ", &Operand::peer);
        if (message) change("piece ", &Operand::piece);
        if (!message && operand.place != Place::Counter) change("block ", &Operand::block);
    }

    template <class Use>
    static void for_each_index_change(const Index& index, Use use) {
        static constexpr std::array kFields{std::pair{"base", &Index::base}, std::pair{"scale", &Index::scale},
                                            std::pair{"c0", &Index::c0},     std::pair{"cs", &Index::cs},
                                            std::pair{"cj", &Index::cj},     std::pair{"cf", &Index::cf},
                                            std::pair{"mod", &Index::mod}};
        for (const auto& [name, field] : kFields) {
            for (const int by : {-1, 1}) {
                Index changed = index;
                changed.*field += by;
                use(std::string(name) + (by < 0 ? "-1" : "+1"), changed);
            }
        }
    }

    const Step& step_in(const Plan& plan) const { return plan.channels[0].lanes[lane_].blocks[block_].steps[step_]; }

    Plan original_;
    std::vector<Mutant> mutants_;
    std::size_t lane_ = 0;
    std::size_t block_ = 0;
    std::size_t step_ = 0;
};

inline std::vector<Mutant> mutants_of(const Plan& plan) { return Mutator(plan).all(); }

}  // namespace rondo::plan::mutation
