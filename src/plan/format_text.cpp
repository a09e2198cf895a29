// A plan as text to read.

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>

#include "plan/format.hpp"

namespace rondo::plan {

namespace {

void add_term(std::string& sum, std::int32_t coefficient, std::string_view variable) {
    if (coefficient == 0) return;
    const bool negative = coefficient < 0;
    const std::int64_t size = negative ? -std::int64_t{coefficient} : coefficient;
    if (sum.empty()) {
        sum += negative ? "-" : "";
    } else {
        sum += negative ? " - " : " + ";
    }
    if (variable.empty()) {
        sum += fmt::format("{}", size);
    } else if (size == 1) {
        sum += variable;
    } else {
        sum += fmt::format("{}{}", size, variable);
    }
}

/// How far the variables of a step's indices run.
struct Bounds {
    std::int32_t repeat = 1;
    std::int32_t rows = 1;
    std::int32_t fan = 1;
};

/// "3", "(3 - s) mod 4", "2 + 4((1 + f) mod 2)". Terms that never change are left out.
std::string text_of(Index index, const Bounds& bounds) {
    if (bounds.repeat <= 1) index.cs = 0;
    if (bounds.rows <= 1) index.cj = 0;
    if (bounds.fan <= 1) index.cf = 0;
    if (index.constant()) return fmt::format("{}", index.at(0, 0, 0));
    std::string sum;
    add_term(sum, index.c0, "");
    add_term(sum, index.cs, "s");
    add_term(sum, index.cj, "j");
    add_term(sum, index.cf, "f");
    const bool single = sum.find(' ') == std::string::npos;
    if (index.mod != 0) sum = fmt::format("{} mod {}", single ? sum : "(" + sum + ")", index.mod);
    if (index.base == 0 && index.scale == 1) return sum;
    const bool simple = index.mod == 0 && single;
    const std::string factor = std::abs(index.scale) == 1 ? "" : fmt::format("{}", std::abs(index.scale));
    if (!simple || !factor.empty()) sum = fmt::format("{}({})", factor, sum);
    if (index.base == 0) return (index.scale < 0 ? "-" : "") + sum;
    return fmt::format("{} {} {}", index.base, index.scale < 0 ? "-" : "+", sum);
}

/// "to 3", "from (1 + s) mod 4 [piece 2, keep]", "pre input", "rank 2's output[1]".
std::string text_of(const Operand& operand, Bounds bounds) {
    bounds.fan = operand.fan;
    const auto number = [&](const Index& index) { return text_of(index, bounds); };
    std::string text;
    const bool message = operand.place == Place::Inbox || operand.place == Place::Outbox;
    if (message) {
        text = fmt::format("{} {}", operand.place == Place::Inbox ? "from" : "to", number(operand.peer));
    } else if (operand.place == Place::Counter) {
        text = number(operand.peer);
    } else {
        if (operand.place == Place::Peer) text = fmt::format("rank {}'s ", number(operand.peer));
        if (operand.place == Place::Multicast) text = "all ranks' ";
        text += name_of(operand.buffer);
        if (const std::string block = number(operand.block); block != "0") text += "[" + block + "]";
    }
    if (operand.pre) text = "pre " + text;
    std::vector<std::string> notes;
    if (operand.tag != 0) notes.push_back(fmt::format("tag {}", operand.tag));
    if (const std::string piece = number(operand.piece); message && piece != "0") notes.push_back("piece " + piece);
    if (operand.element != Element::Data) notes.emplace_back(name_of(operand.element));
    if (message && operand.acquire && !operand.publish) notes.emplace_back("opens");
    if (message && !operand.acquire && operand.publish) notes.emplace_back("closes");
    if (message && !operand.acquire && !operand.publish) notes.emplace_back("inside");
    if (!notes.empty()) text += fmt::format(" [{}]", fmt::join(notes, ", "));
    if (operand.fan != 1) text = fmt::format("{{{}: f=0..{}}}", text, operand.fan - 1);
    return text;
}

std::string text_of(const std::vector<Operand>& operands, const Bounds& bounds) {
    std::vector<std::string> texts;
    for (const Operand& operand : operands) texts.push_back(text_of(operand, bounds));
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string text_of(const Step& step, std::int32_t repeat, std::int32_t parts) {
    const Bounds bounds{.repeat = repeat, .rows = step.rows};
    if (step.kind == Kind::Post) return fmt::format("post for ranks {}", text_of(step.dsts, bounds));
    if (step.kind == Kind::Wait) return fmt::format("wait for ranks {}", text_of(step.srcs, bounds));
    const std::string sources = text_of(step.srcs, bounds);
    const bool several = step.srcs.size() > 1 || step.srcs[0].fan > 1 || step.srcs[0].place == Place::Multicast;
    std::string text =
        fmt::format("{} = {}", text_of(step.dsts, bounds), several ? "reduce(" + sources + ")" : sources);
    if (step.post) text += ", final factor";
    std::vector<std::string> where;
    if (parts > 1) where.push_back("part " + text_of(step.part, bounds));
    if (step.width > 1) where.push_back(fmt::format("{} wide", step.width));
    if (step.rows > 1) where.push_back(fmt::format("j=0..{}", step.rows - 1));
    return where.empty() ? text : fmt::format("{}: {}", fmt::join(where, ", "), text);
}

/// The blocks that run at the same time, under their heading.
void add_blocks(std::string& text, const Lane& lane, When when, std::int32_t loop, std::int32_t parts) {
    const auto belongs = [&](const Block& block) {
        return block.when == when && (when != When::EachTile || block.loop == loop);
    };
    if (std::ranges::none_of(lane.blocks, belongs)) return;
    text += when == When::Before ? "    before:\n" : when == When::EachTile ? "    each tile:\n" : "    after:\n";
    for (const Block& block : lane.blocks) {
        if (!belongs(block)) continue;
        const bool repeats = block.repeat != 1;
        if (repeats && block.repeat < 1) text += "      never:\n";
        if (repeats && block.repeat > 1) text += fmt::format("      s=0..{}:\n", block.repeat - 1);
        for (const Step& step : block.steps) {
            text += fmt::format("      {}{}\n", repeats ? "  " : "", text_of(step, block.repeat, parts));
        }
    }
}

void add_lane(std::string& text, const Lane& lane, std::int32_t parts) {
    add_blocks(text, lane, When::Before, 0, parts);
    for (std::int32_t loop = 0; loop < lane.loops(); ++loop) add_blocks(text, lane, When::EachTile, loop, parts);
    add_blocks(text, lane, When::After, 0, parts);
}

}  // namespace

std::string to_text(const Plan& plan) {
    std::string text =
        fmt::format("{}/{}, rank {} of {}", name_of(plan.collective), name_of(plan.algorithm), plan.rank, plan.nranks);
    if (rooted(plan.collective)) text += fmt::format(", root {}", plan.root);
    text += fmt::format(", {} part{} a tile", plan.parts, plan.parts == 1 ? "" : "s");
    if (plan.message_parts != 1) text += fmt::format(", {} parts a message", plan.message_parts);
    if (plan.scratch_blocks != 0) {
        text += fmt::format(", {} of {} tiles", plan.window ? "a window" : "scratch", plan.scratch_blocks);
    }
    text += fmt::format(", hash {:016x}\n", hash_of(plan));
    for (int tag = 0; tag < kMaxTags; ++tag) {
        const Protocol protocol = plan.protocol[static_cast<std::size_t>(tag)];
        if (protocol != Protocol::Auto) text += fmt::format("  tag {}: protocol {}\n", tag, name_of(protocol));
    }
    for (std::size_t c = 0; c < plan.channels.size();) {
        std::size_t last = c;
        while (last + 1 < plan.channels.size() && plan.channels[last + 1] == plan.channels[c]) ++last;
        text += last == c ? fmt::format("  channel {}\n", c) : fmt::format("  channels {}..{}, each\n", c, last);
        for (std::size_t l = 0; l < plan.channels[c].lanes.size(); ++l) {
            text += fmt::format("   lane {}\n", l);
            add_lane(text, plan.channels[c].lanes[l], plan.parts);
        }
        c = last + 1;
    }
    return text;
}

}  // namespace rondo::plan
