// Plans from JSON. The text may come from anyone: everything is checked before it is used.

#include <fmt/format.h>
#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "plan/format.hpp"

namespace rondo::plan {

namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 16;  // a plan nests 13 levels deep
constexpr std::int32_t kMaxField = 1 << 20;

/// One value of the document with its path, for messages.
class Node {
public:
    Node(const Json& json, const std::string& file, std::string path)
        : json_(json), file_(file), path_(std::move(path)) {}

    [[noreturn]] void refuse(const std::string& reason) const {
        throw Error(Code::InvalidArgument, fmt::format("{}: {}: {}", file_, path_.empty() ? "/" : path_, reason));
    }

    /// An object whose keys are all in `known`.
    void expect_object(std::initializer_list<const char*> known) const {
        if (!json_.is_object()) refuse(fmt::format("expected an object, found {}", json_.type_name()));
        for (const auto& item : json_.items()) {
            const std::string& key = item.key();
            const bool found = std::ranges::any_of(known, [&](const char* name) { return key == name; });
            if (found) continue;
            refuse(fmt::format("unknown key \"{}\", allowed are {}", key.substr(0, 40), fmt::join(known, ", ")));
        }
    }

    [[nodiscard]] bool has(const char* key) const { return json_.contains(key); }
    [[nodiscard]] bool is_object() const { return json_.is_object(); }

    [[nodiscard]] Node at(const char* key) const {
        const auto found = json_.find(key);
        if (found == json_.end()) refuse(fmt::format("key \"{}\" is missing", key));
        return {*found, file_, path_ + "/" + key};
    }

    /// The elements of an array of at most `most`.
    [[nodiscard]] std::vector<Node> items(std::int64_t most) const {
        if (!json_.is_array()) refuse(fmt::format("expected an array, found {}", json_.type_name()));
        if (json_.size() > static_cast<std::size_t>(most)) {
            refuse(fmt::format("has {} elements, at most {} are allowed", json_.size(), most));
        }
        std::vector<Node> nodes;
        for (std::size_t i = 0; i < json_.size(); ++i)
            nodes.emplace_back(json_[i], file_, fmt::format("{}/{}", path_, i));
        return nodes;
    }

    [[nodiscard]] std::int32_t integer(std::int64_t least, std::int64_t most) const {
        if (!json_.is_number_integer()) refuse(fmt::format("expected an integer, found {}", json_.type_name()));
        const bool huge = json_.is_number_unsigned() && json_.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
        if (huge || json_.get<std::int64_t>() < least || json_.get<std::int64_t>() > most) {
            refuse(fmt::format("is {}, allowed are {} to {}", json_.dump(), least, most));
        }
        return static_cast<std::int32_t>(json_.get<std::int64_t>());
    }

    [[nodiscard]] bool boolean() const {
        if (!json_.is_boolean()) refuse(fmt::format("expected true or false, found {}", json_.type_name()));
        return json_.get<bool>();
    }

    /// The value of an enumeration with that name; its values run from 0 to `last`.
    template <class Enum>
    [[nodiscard]] Enum named(Enum last) const {
        if (!json_.is_string()) refuse(fmt::format("expected a name, found {}", json_.type_name()));
        const auto& name = json_.get_ref<const std::string&>();
        std::string known;
        for (int value = 0; value <= static_cast<int>(last); ++value) {
            if (name_of(static_cast<Enum>(value)) == name) return static_cast<Enum>(value);
            known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(static_cast<Enum>(value)));
        }
        refuse(fmt::format("\"{}\" is none of {}", name.substr(0, 40), known));
    }

    void read(const char* key, std::int32_t& into, std::int64_t least, std::int64_t most) const {
        if (has(key)) into = at(key).integer(least, most);
    }
    void read(const char* key, bool& into) const {
        if (has(key)) into = at(key).boolean();
    }

private:
    const Json& json_;
    const std::string& file_;
    std::string path_;
};

class Reader {
public:
    explicit Reader(const PlanBudget& budget) : budget_(budget) {}

    std::vector<Plan> file(const Node& node) {
        node.expect_object({"rondo_plans", "plans"});
        const Node version = node.at("rondo_plans");
        if (version.integer(0, kMaxField) != 1) version.refuse("this version reads format 1 only");
        std::vector<Plan> plans;
        for (const Node& item : node.at("plans").items(budget_.ranks)) plans.push_back(plan(item));
        if (plans.empty()) node.at("plans").refuse("there is no plan");
        return plans;
    }

private:
    Plan plan(const Node& node) {
        node.expect_object({"collective", "algorithm", "nranks", "rank", "root", "parts", "message_parts",
                            "scratch_blocks", "window", "protocol", "channels"});
        steps_ = operands_ = 0;
        Plan plan;
        plan.collective = node.at("collective").named(Collective::Barrier);
        plan.algorithm = node.at("algorithm").named(Algorithm::Staged);
        plan.nranks = node.at("nranks").integer(1, budget_.ranks);
        plan.rank = node.at("rank").integer(0, plan.nranks - 1);
        node.read("root", plan.root, 0, plan.nranks - 1);
        node.read("parts", plan.parts, 1, kMaxField);
        node.read("message_parts", plan.message_parts, 1, kMaxField);
        node.read("scratch_blocks", plan.scratch_blocks, 0, kMaxField);
        if (node.has("window")) plan.window = node.at("window").boolean();
        if (node.has("protocol")) {
            const std::vector<Node> protocols = node.at("protocol").items(kMaxTags);
            for (std::size_t i = 0; i < protocols.size(); ++i) plan.protocol[i] = protocols[i].named(Protocol::LL128);
        }
        for (const Node& item : node.at("channels").items(budget_.channels)) {
            item.expect_object({"lanes"});
            Channel& channel = plan.channels.emplace_back();
            for (const Node& inner : item.at("lanes").items(kMaxLanes)) channel.lanes.push_back(lane(inner));
        }
        return plan;
    }

    Lane lane(const Node& node) {
        node.expect_object({"blocks"});
        Lane lane;
        for (const Node& item : node.at("blocks").items(budget_.steps)) {
            item.expect_object({"when", "loop", "repeat", "steps"});
            Block& block = lane.blocks.emplace_back();
            if (item.has("when")) block.when = item.at("when").named(When::After);
            item.read("loop", block.loop, 0, static_cast<std::int32_t>(budget_.steps));
            item.read("repeat", block.repeat, 0, budget_.repeat);
            for (const Node& inner : item.at("steps").items(budget_.steps)) block.steps.push_back(step(inner));
        }
        return lane;
    }

    Step step(const Node& node) {
        node.expect_object({"kind", "post", "rows", "width", "part", "dsts", "srcs"});
        if (++steps_ > budget_.steps) node.refuse(fmt::format("the plan has more than {} steps", budget_.steps));
        if (++total_ > budget_.total_steps) {
            node.refuse(fmt::format("the plans have more than {} steps together", budget_.total_steps));
        }
        Step step;
        step.kind = node.at("kind").named(Kind::Wait);
        node.read("post", step.post);
        node.read("rows", step.rows, 1, budget_.repeat);
        node.read("width", step.width, 1, kMaxField);
        if (node.has("part")) step.part = index(node.at("part"));
        if (node.has("dsts")) step.dsts = operands(node.at("dsts"));
        if (node.has("srcs")) step.srcs = operands(node.at("srcs"));
        const bool moves = step.kind == Kind::Move;
        if ((step.dsts.empty() && (moves || step.kind == Kind::Post)) ||
            (step.srcs.empty() && (moves || step.kind == Kind::Wait))) {
            node.refuse("the step lacks sources or destinations");
        }
        return step;
    }

    std::vector<Operand> operands(const Node& node) {
        std::vector<Operand> operands;
        for (const Node& item : node.items(budget_.operands)) {
            if (++operands_ > budget_.operands) {
                item.refuse(fmt::format("the plan has more than {} operands", budget_.operands));
            }
            operands.push_back(operand(item));
        }
        return operands;
    }

    Operand operand(const Node& node) {
        node.expect_object(
            {"place", "buffer", "element", "tag", "acquire", "publish", "pre", "fan", "peer", "block", "piece"});
        Operand operand;
        operand.place = node.at("place").named(Place::Counter);
        if (node.has("buffer")) operand.buffer = node.at("buffer").named(Buffer::Scratch);
        if (node.has("element")) operand.element = node.at("element").named(Element::Accumulator);
        if (node.has("tag")) operand.tag = static_cast<std::uint8_t>(node.at("tag").integer(0, kMaxTags - 1));
        node.read("acquire", operand.acquire);
        node.read("publish", operand.publish);
        node.read("pre", operand.pre);
        node.read("fan", operand.fan, 1, budget_.repeat);
        if (node.has("peer")) operand.peer = index(node.at("peer"));
        if (node.has("block")) operand.block = index(node.at("block"));
        if (node.has("piece")) operand.piece = index(node.at("piece"));
        return operand;
    }

    static Index index(const Node& node) {
        if (!node.is_object()) return fixed(node.integer(-kMaxField, kMaxField));
        node.expect_object({"base", "scale", "c0", "cs", "cj", "cf", "mod"});
        Index index;
        node.read("base", index.base, -kMaxField, kMaxField);
        node.read("scale", index.scale, -kMaxField, kMaxField);
        node.read("c0", index.c0, -kMaxField, kMaxField);
        node.read("cs", index.cs, -kMaxField, kMaxField);
        node.read("cj", index.cj, -kMaxField, kMaxField);
        node.read("cf", index.cf, -kMaxField, kMaxField);
        node.read("mod", index.mod, 0, kMaxField);
        return index;
    }

    const PlanBudget& budget_;
    std::int64_t steps_ = 0;
    std::int64_t operands_ = 0;
    std::int64_t total_ = 0;
};

/// Parses with a limit on depth; a key given twice is an error (the library alone would keep the last one).
Json parse(std::string_view text, const std::string& file) {
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kMaxDepth) {
            throw Error(Code::InvalidArgument,
                        fmt::format("{}: nested more than {} levels deep, which no plan is", file, kMaxDepth));
        }
        switch (event) {
            case Json::parse_event_t::object_start: keys.emplace_back(); break;
            case Json::parse_event_t::object_end: keys.pop_back(); break;
            case Json::parse_event_t::key:
                if (!keys.back().insert(parsed.get<std::string>()).second) {
                    throw Error(Code::InvalidArgument, fmt::format("{}: key \"{}\" is given twice in one object", file,
                                                                   parsed.get<std::string>().substr(0, 40)));
                }
                break;
            case Json::parse_event_t::array_start:
            case Json::parse_event_t::array_end:
            case Json::parse_event_t::value: break;
        }
        return true;
    };
    try {
        return Json::parse(text, watch);
    } catch (const Json::exception& error) {
        std::string reason = error.what();
        // The library puts its own name and number first: "[json.exception.parse_error.101] parse error at line 1, ..."
        if (const auto end = reason.find("] "); end != std::string::npos) reason = reason.substr(end + 2);
        throw Error(Code::InvalidArgument, fmt::format("{}: no valid JSON: {}", file, reason.substr(0, 300)));
    }
}

}  // namespace

std::vector<Plan> from_json(std::string_view text, const std::string& file, const PlanBudget& budget) {
    if (text.size() > budget.bytes) {
        throw Error(Code::InvalidArgument,
                    fmt::format("{}: has {} bytes, a plan file may have {}", file, text.size(), budget.bytes));
    }
    const Json json = parse(text, file);
    return Reader(budget).file(Node(json, file, ""));
}

}  // namespace rondo::plan
