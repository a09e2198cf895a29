#include "driver/stats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo::perf {

double combine(std::span<const double> values, Average average) {
    switch (average) {
        case Average::Rank0: return values.front();
        case Average::Mean:
            return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        case Average::Min: return *std::min_element(values.begin(), values.end());
        case Average::Max: break;
    }
    return *std::max_element(values.begin(), values.end());
}

std::vector<double> combine_samples(std::span<const std::vector<double>> threads, Average average) {
    std::vector<double> combined(threads.front().size());
    std::vector<double> values(threads.size());
    for (std::size_t i = 0; i < combined.size(); ++i) {
        for (std::size_t t = 0; t < threads.size(); ++t) values[t] = threads[t][i];
        combined[i] = combine(values, average);
    }
    return combined;
}

double percentile(std::span<const double> sorted, double percent) {
    const auto size = static_cast<double>(sorted.size());
    const double rank = std::clamp(std::ceil(percent * size / 100.0), 1.0, size);
    return sorted[static_cast<std::size_t>(rank) - 1];
}

Summary summarize(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    return {samples.front(), samples.back(), percentile(samples, 50), percentile(samples, 99)};
}

double bandwidth(double bytes, double microseconds) {
    if (bytes <= 0 || microseconds <= 0) return 0;
    return bytes / 1e3 / microseconds;
}

}  // namespace rondo::perf
