#pragma once
// RONDO_ALGO: which algorithms each collective may use, in NCCL's syntax.
//
//   rules   = section { ";" section }
//   section = [ collective ":" ] [ "^" ] algorithm { "," algorithm }
//
// "^" stands for all but those listed. A section without a collective comes first and holds for every collective that
// has no section of its own. Letter case counts for nothing, nor do "_" and "-": allreduce, AllReduce and all_reduce
// are one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

/// In the order of plan::Collective, with the names that plan::name_of gives.
inline constexpr std::array<std::string_view, 9> kCollectiveNames{"all_reduce",   "reduce",         "broadcast",
                                                                  "all_gather",   "reduce_scatter", "all_to_all",
                                                                  "all_to_all_v", "send_recv",      "barrier"};

/// In the order of plan::Algorithm, with the names that plan::name_of gives.
inline constexpr std::array<std::string_view, 14> kAlgorithmNames{
    "ring",         "tree", "one_shot", "two_shot", "halving_doubling", "bruck", "pairwise", "pat",
    "hierarchical", "nvls", "direct",   "group",    "dissemination",    "staged"};

class AlgorithmRules {
public:
    /// Everything is allowed.
    AlgorithmRules() noexcept;

    /// Throws Error(InvalidArgument) that names the faulty word and the allowed ones. "" allows everything.
    static AlgorithmRules parse(std::string_view text);

    /// `collective` and `algorithm` as in the tables above; false for any other word.
    [[nodiscard]] bool allows(std::string_view collective, std::string_view algorithm) const noexcept;

    /// True where the text has a section for this very collective: a choice that cannot be met is then the user's
    /// error, and not a collective that the user did not think of.
    [[nodiscard]] bool names(std::string_view collective) const noexcept;

    /// "ring, tree": what is allowed for the collective.
    [[nodiscard]] std::string allowed_text(std::string_view collective) const;

    /// As it was given.
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

    bool operator==(const AlgorithmRules&) const = default;

private:
    struct Rule {
        std::uint32_t algorithms = 0;  ///< bit i: kAlgorithmNames[i] is allowed
        bool named = false;
        bool operator==(const Rule&) const = default;
    };

    void add_section(std::string_view section, bool first);

    std::string text_;
    std::array<Rule, kCollectiveNames.size()> rules_{};
};

}  // namespace rondo
