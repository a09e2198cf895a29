// Plans as JSON.

#include <nlohmann/json.hpp>

#include "plan/format.hpp"

namespace rondo::plan {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Index& index) {
    if (index == fixed(index.base)) return index.base;
    const Index standard{};
    Json json = Json::object();
    const auto add = [&](const char* key, std::int32_t value, std::int32_t usual) {
        if (value != usual) json[key] = value;
    };
    add("base", index.base, standard.base);
    add("scale", index.scale, standard.scale);
    add("c0", index.c0, standard.c0);
    add("cs", index.cs, standard.cs);
    add("cj", index.cj, standard.cj);
    add("cf", index.cf, standard.cf);
    add("mod", index.mod, standard.mod);
    return json;
}

Json json_of(const Operand& operand) {
    const Operand standard{};
    Json json{{"place", name_of(operand.place)}};
    if (operand.buffer != standard.buffer) json["buffer"] = name_of(operand.buffer);
    if (operand.element != standard.element) json["element"] = name_of(operand.element);
    if (operand.tag != 0) json["tag"] = operand.tag;
    if (operand.acquire) json["acquire"] = true;
    if (operand.publish) json["publish"] = true;
    if (operand.pre) json["pre"] = true;
    if (operand.fan != 1) json["fan"] = operand.fan;
    if (operand.peer != standard.peer) json["peer"] = json_of(operand.peer);
    if (operand.block != standard.block) json["block"] = json_of(operand.block);
    if (operand.piece != standard.piece) json["piece"] = json_of(operand.piece);
    return json;
}

Json json_of(const std::vector<Operand>& operands) {
    Json json = Json::array();
    for (const Operand& operand : operands) json.push_back(json_of(operand));
    return json;
}

Json json_of(const Step& step) {
    Json json{{"kind", name_of(step.kind)}};
    if (step.post) json["post"] = true;
    if (step.rows != 1) json["rows"] = step.rows;
    if (step.width != 1) json["width"] = step.width;
    if (step.part != Index{}) json["part"] = json_of(step.part);
    if (!step.dsts.empty()) json["dsts"] = json_of(step.dsts);
    if (!step.srcs.empty()) json["srcs"] = json_of(step.srcs);
    return json;
}

/// `items` in brackets, one on each line.
template <class Items, class Write>
std::string lines(const Items& items, const std::string& indent, Write write) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "\n" : ",\n") + indent + " " + write(item);
    return text.empty() ? "[]" : "[" + text + "\n" + indent + "]";
}

std::string text_of(const Block& block) {
    Json head{{"when", name_of(block.when)}, {"repeat", block.repeat}};
    if (block.loop != 0) head["loop"] = block.loop;
    std::string text = head.dump();
    text.pop_back();
    return text + ",\"steps\":" + lines(block.steps, "     ", [](const Step& step) { return json_of(step).dump(); }) +
           "}";
}

std::string text_of(const Lane& lane) {
    return "{\"blocks\":" + lines(lane.blocks, "    ", [](const Block& block) { return text_of(block); }) + "}";
}

std::string text_of(const Channel& channel) {
    return "{\"lanes\":" + lines(channel.lanes, "   ", [](const Lane& lane) { return text_of(lane); }) + "}";
}

std::string text_of(const Plan& plan) {
    Json protocols = Json::array();
    for (const Protocol protocol : plan.protocol) protocols.push_back(name_of(protocol));
    Json head{{"collective", name_of(plan.collective)},
              {"algorithm", name_of(plan.algorithm)},
              {"nranks", plan.nranks},
              {"rank", plan.rank},
              {"root", plan.root},
              {"parts", plan.parts},
              {"message_parts", plan.message_parts},
              {"scratch_blocks", plan.scratch_blocks},
              {"window", plan.window},
              {"protocol", protocols}};
    std::string text = head.dump();
    text.pop_back();
    return text +
           ",\n  \"channels\":" + lines(plan.channels, "  ", [](const Channel& channel) { return text_of(channel); }) +
           "}";
}

}  // namespace

std::string to_json(std::span<const Plan> plans) {
    return "{\"rondo_plans\":1,\n \"plans\":" + lines(plans, " ", [](const Plan& plan) { return text_of(plan); }) +
           "}\n";
}

}  // namespace rondo::plan
