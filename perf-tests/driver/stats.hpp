#pragma once
// From the threads' times to the numbers of a row.

#include <span>
#include <vector>

#include "driver/options.hpp"

namespace rondo::perf {

struct Summary {
    double min = 0;
    double max = 0;
    double p50 = 0;
    double p99 = 0;
};

/// One value of the values of all threads, one each, thread 0 first. `values` is not empty.
double combine(std::span<const double> values, Average average);

/// The same sample by sample. All threads have equally many samples.
std::vector<double> combine_samples(std::span<const std::vector<double>> threads, Average average);

/// The smallest sample that at least `percent` of 100 samples do not exceed (nearest rank). `sorted` is not empty.
double percentile(std::span<const double> sorted, double percent);

/// All zero without samples.
Summary summarize(std::vector<double> samples);

/// GB/s (1e9) of `bytes` in `microseconds`; 0 for no bytes.
double bandwidth(double bytes, double microseconds);

}  // namespace rondo::perf
