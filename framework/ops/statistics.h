// SPDX-License-Identifier: Apache-2.0
// Averages, quantiles, counts, running products and differences (keras.ops.numpy).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// The mean, or with weights sum(x * weights) / sum(weights). Weights have x's shape, or are a
// vector along the single `axis`.
Tensor average(const Tensor& x, const Axes& axis = {}, const Tensor& weights = {});
Tensor median(const Tensor& x, const Axes& axis = {}, bool keepdims = false);

struct QuantileOptions {
  Axes axis = {};
  // The result for a position between two elements: "linear", "lower", "higher", "midpoint" or
  // "nearest" (for a tie, the one at the even index).
  std::string method = "linear";
  bool keepdims = false;
};

// The values below which a fraction q (a scalar or a vector, in [0, 1]) of the elements lies, with
// q's axis first. NaN if an element is NaN.
Tensor quantile(const Tensor& x, const Tensor& q, const QuantileOptions& options = {});
// Likewise, with q in percent.
Tensor percentile(const Tensor& x, const Tensor& q, const QuantileOptions& options = {});

// max - min.
Tensor ptp(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// Pearson's correlation coefficients of the rows of (variables, observations).
Tensor corrcoef(const Tensor& x);

// Peak signal-to-noise ratio of x1 and x2, both at most max_val, in decibels: 20 log10(max_val) -
// 10 log10(mean of the squared differences). The shapes must be equal.
Tensor psnr(const Tensor& x1, const Tensor& x2, double max_val);
// The sums of products of two vectors for each shift of x2 along x1: "valid", where x2 is within
// x1; "same", as many as the longer vector has; "full", wherever they overlap.
Tensor correlate(const Tensor& x1, const Tensor& x2, const std::string& mode = "valid");
// The Euclidean distance of each row of x (..., m, size) from each row of y (..., n, size): (...,
// m, n).
Tensor cdist(const Tensor& x, const Tensor& y);

// ---- counts ----

struct HistogramOptions {
  int64_t bins = 10;
  std::optional<std::pair<double, double>> range = {};  // None: from min(x) to max(x)
};

// The number of elements in each of `bins` equal parts of the range (int32), and the bins + 1
// edges. A bin includes its lower edge; the last one includes both.
std::pair<Tensor, Tensor> histogram(const Tensor& x, const HistogramOptions& options = {});

// The number of occurrences of each integer from 0 to the largest one in x, or the sum of its
// weights: a vector of at least `minlength` elements. Throws InvalidArgument for negative numbers.
// The size of the result depends on values, so it throws FailedPrecondition under a trace; use
// segment_sum there, which is given the size.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0);

// The positions, int32, at which to insert `values` into a sorted vector to keep it sorted: before
// ("left") or after ("right") equal elements. NaN comes last.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values,
                    const std::string& side = "left");
// The bin of each element, int32: 0 below bins[0], i from bins[i - 1] up to bins[i].
Tensor digitize(const Tensor& x, const Tensor& bins);

// ---- along an axis ----

// Running products; without an axis, of the flattened x.
Tensor cumprod(const Tensor& x, std::optional<int64_t> axis = {},
               std::optional<DTypeLike> dtype = {});
// Differences of neighbors, applied n times; for bools, whether they differ.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t axis = -1);

struct TrapezoidOptions {
  Tensor x = {};  // sample points, along the axis or in y's shape; None: dx apart
  double dx = 1.0;
  int64_t axis = -1;
};

// The integral of y by the trapezoidal rule.
Tensor trapezoid(const Tensor& y, const TrapezoidOptions& options = {});

// ---- the same ignoring NaNs; if all elements are NaN, the result is NaN ----

Tensor nansum(const Tensor& x, const Axes& axis = {}, bool keepdims = false);   // 0 if all are NaN
Tensor nanprod(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // 1 if all are NaN
Tensor nanmax(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanmin(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanmean(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanvar(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanstd(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanmedian(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanquantile(const Tensor& x, const Tensor& q, const QuantileOptions& options = {});
Tensor nanpercentile(const Tensor& x, const Tensor& q, const QuantileOptions& options = {});
// int32; -1 if all elements are NaN.
Tensor nanargmax(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Tensor nanargmin(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Tensor nancumsum(const Tensor& x, std::optional<int64_t> axis = {},
                 std::optional<DTypeLike> dtype = {});
Tensor nancumprod(const Tensor& x, std::optional<int64_t> axis = {},
                  std::optional<DTypeLike> dtype = {});

}  // namespace cornu::ops
