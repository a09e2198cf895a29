#include "bootstrap/rank_list.hpp"

#include <fmt/core.h>

namespace rondo::bootstrap {

std::string rank_list(const std::vector<Rank>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ", ";
        text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace rondo::bootstrap
