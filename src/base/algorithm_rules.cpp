#include "base/algorithm_rules.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace rondo {

namespace {

constexpr std::uint32_t kEvery = (1U << kAlgorithmNames.size()) - 1;

/// In lower case and without "_" and "-".
std::string plain(std::string_view word) {
    std::string text = lower(word);
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '_' || c == '-'; }), text.end());
    return text;
}

/// The place of `word` among `names`; throws an error that lists them and calls the word an unknown `kind`.
std::size_t find_name(std::string_view word, std::span<const std::string_view> names, std::string_view kind) {
    const std::string wanted = plain(word);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (plain(names[i]) == wanted) return i;
    }
    const std::string_view near = nearest(word, names);
    throw make_error(Code::InvalidArgument, "unknown {} '{}' (allowed: {}){}", kind, printable(word), join(names),
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

std::uint32_t parse_list(std::string_view list) {
    const bool inverted = !list.empty() && list.front() == '^';
    if (inverted) list.remove_prefix(1);
    std::uint32_t bits = 0;
    for (const std::string_view word : split_text(list, ',')) {
        bits |= 1U << find_name(trim(word), kAlgorithmNames, "algorithm");
    }
    if (inverted) bits = kEvery & ~bits;
    if (bits == 0) {
        throw make_error(Code::InvalidArgument, "'^{}' leaves no algorithm (allowed: {})", printable(list),
                         join(kAlgorithmNames));
    }
    return bits;
}

std::optional<std::size_t> index_of(std::string_view word, std::span<const std::string_view> names) noexcept {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

AlgorithmRules::AlgorithmRules() noexcept { rules_.fill(Rule{.algorithms = kEvery, .named = false}); }

AlgorithmRules AlgorithmRules::parse(std::string_view text) {
    AlgorithmRules rules;
    rules.text_ = text;
    if (trim(text).empty()) return rules;
    bool first = true;
    for (const std::string_view section : split_text(text, ';')) {
        rules.add_section(trim(section), first);
        first = false;
    }
    return rules;
}

void AlgorithmRules::add_section(std::string_view section, bool first) {
    const std::size_t colon = section.find(':');
    if (colon == std::string_view::npos) {
        const std::uint32_t bits = parse_list(section);
        if (!first) {
            throw make_error(Code::InvalidArgument,
                             "'{}' names no collective, which only the first section may do (allowed: {})",
                             printable(section), join(kCollectiveNames));
        }
        for (Rule& rule : rules_) rule.algorithms = bits;
        return;
    }
    Rule& rule = rules_[find_name(trim(section.substr(0, colon)), kCollectiveNames, "collective")];
    if (rule.named) {
        throw make_error(Code::InvalidArgument, "'{}' gives a collective a second time (allowed: once each)",
                         printable(section));
    }
    rule = {.algorithms = parse_list(trim(section.substr(colon + 1))), .named = true};
}

bool AlgorithmRules::allows(std::string_view collective, std::string_view algorithm) const noexcept {
    const auto row = index_of(collective, kCollectiveNames);
    const auto bit = index_of(algorithm, kAlgorithmNames);
    return row && bit && (rules_[*row].algorithms >> *bit & 1U) != 0;
}

bool AlgorithmRules::names(std::string_view collective) const noexcept {
    const auto row = index_of(collective, kCollectiveNames);
    return row && rules_[*row].named;
}

std::string AlgorithmRules::allowed_text(std::string_view collective) const {
    std::vector<std::string_view> words;
    for (const std::string_view name : kAlgorithmNames) {
        if (allows(collective, name)) words.push_back(name);
    }
    return join(words);
}

}  // namespace rondo
