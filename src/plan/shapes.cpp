#include "plan/shapes.hpp"

#include <algorithm>
#include <array>

#include "plan/algorithms/all.hpp"
#include "plan/algorithms/common.hpp"

namespace rondo::plan {

namespace {

constexpr std::array kShapes{
    Shape{Collective::AllReduce, Algorithm::Ring, {}, always, build_ring_all_reduce, cost_ring_all_reduce},
};

}  // namespace

std::span<const Shape> shapes() { return kShapes; }

const Shape* find_shape(Collective collective, Algorithm algorithm) {
    const auto* found = std::ranges::find_if(
        kShapes, [&](const Shape& shape) { return shape.collective == collective && shape.algorithm == algorithm; });
    return found == kShapes.end() ? nullptr : found;
}

}  // namespace rondo::plan
