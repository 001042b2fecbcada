// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/statistics.h"

#include <algorithm>
#include <limits>

#include "framework/core/error_place.h"
#include "framework/core/strings.h"
#include "framework/graph/trace.h"
#include "framework/ops/conv.h"
#include "framework/ops/creation.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/limits.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/matrix.h"
#include "framework/ops/reduce.h"
#include "framework/ops/running.h"
#include "framework/ops/shape.h"
#include "framework/ops/values.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Ints = std::vector<int64_t>;

Tensor to_numbers(const Tensor& x) {
  return x.dtype() == DType::Bool ? cast(x, DType::Int32) : x.strong();
}

// Merges the axes into a single last axis.
Tensor axes_to_end(const Tensor& x, const Ints& axes) {
  Ints order;
  Shape kept;
  Checked count(1, "quantile");
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (std::binary_search(axes.begin(), axes.end(), axis)) {
      count = count * x.dim(axis);
    } else {
      order.push_back(axis);
      kept.push_back(x.dim(axis));
    }
  }
  order.insert(order.end(), axes.begin(), axes.end());
  return reshape(transpose(x, order), kept.concat({count}));
}

constexpr int64_t kMaxBins = int64_t{1} << 48;

enum class Nan { Propagates, Missing };

// The elements of sorted rows at positions that are a fraction `q` of the way from the first to the
// last valid element: (..., n), counts (..., 1), q (k) -> (..., k).
Tensor interpolated(const Tensor& sorted, const Tensor& counts, const Tensor& q,
                    const std::string& method) {
  const Tensor place = cast(counts - 1, DType::Float64) * cast(q, DType::Float64);
  const int64_t last = sorted.dim(-1) - 1;
  auto at = [&](const Tensor& index) {
    const Tensor inside = cast(clip(index, 0.0, static_cast<double>(last)), DType::Int32);
    return take_along_axis(sorted, inside, -1);
  };
  if (method == "lower") return at(floor(place));
  if (method == "higher") return at(ceil(place));
  if (method == "nearest") return at(round(place));
  const Tensor lower = at(floor(place));
  const Tensor higher = at(ceil(place));
  if (method == "midpoint") return (lower + higher) * 0.5;
  const Tensor weight = cast(place - floor(place), sorted.dtype());
  // Between two equal infinities, and exactly at an element next to an infinity, there is nothing
  // to interpolate.
  const Tensor alone =
      logical_or(equal(weight, 0), logical_and(isinf(lower), equal(lower, higher)));
  const Tensor first = where(alone, 0, lower);
  const Tensor second = where(alone, 0, higher);
  return where(alone, lower, first * (1 - weight) + second * weight);
}

Tensor quantile_of(const Tensor& x, const Tensor& q, const QuantileOptions& options, Nan nan,
                   std::string_view who) {
  const std::vector<std::string> methods = {"linear", "lower", "higher", "midpoint", "nearest"};
  check<InvalidArgument>(std::count(methods.begin(), methods.end(), options.method) > 0,
                         "{}: unknown method '{}'.{}", who, options.method,
                         did_you_mean(options.method, methods));
  check<InvalidArgument>(q.rank() <= 1, "{}: expected q to be a scalar or a vector, got shape {}.",
                         who, q.shape());
  const Ints axes = options.axis.normalized(x.shape(), who);
  const Tensor real = to_floating(x);
  const Tensor rows = axes_to_end(real, axes);
  check<InvalidArgument>(rows.dim(-1) > 0, "{}: expected elements along the axes, got shape {}.",
                         who, x.shape());
  const Tensor sorted = sort(rows, -1);  // NaN comes last
  const Tensor missing = isnan(rows);
  const Tensor counts =
      rows.dim(-1) - sum(cast(missing, DType::Int32), -1, true) * (nan == Nan::Missing ? 1 : 0);
  Tensor result = interpolated(sorted, counts, ravel(q.strong()), options.method);
  if (nan == Nan::Propagates) {
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    result = where(any(missing, -1, true), not_a_number, result);
  }
  result = moveaxis(result, -1, 0);
  const Shape kept = reduced_shape(x.shape(), axes, options.keepdims);
  return reshape(result, q.shape().concat(kept));
}

// A Keras function that is a kind of quantile: "median", class Median.
struct QuantileKind {
  const char* name;
  const char* class_name;
  Nan nan;
  double scale = 1;  // of q
};

Json axis_of(const Axes& axis) { return axis.all() ? Json() : one_or_list(axis.values()); }

Tensor quantile_of_kind(const QuantileKind& kind, const Tensor& x, const Tensor& q,
                        const QuantileOptions& options) {
  if (!is_open(x)) {
    const Tensor parts = kind.scale == 1 ? q : cast(q, DType::Float64) / kind.scale;
    return quantile_of(x, parts, options, kind.nan, kind.name);
  }
  const Json config = Json::object({{"axis", axis_of(options.axis)},
                                    {"method", options.method},
                                    {"keepdims", options.keepdims}});
  return whole_of(
      kind.name, std::vector<Tensor>{x, q}, {"numpy", kind.class_name, config},
      [=](const std::vector<Tensor>& in) { return quantile_of_kind(kind, in[0], in[1], options); });
}

Tensor median_of_kind(const QuantileKind& kind, const Tensor& x, const Axes& axis, bool keepdims) {
  if (!is_open(x)) return quantile_of_kind(kind, x, 0.5, {.axis = axis, .keepdims = keepdims});
  const Json config = Json::object({{"axis", axis_of(axis)}, {"keepdims", keepdims}});
  return whole_of(kind.name, x, {"numpy", kind.class_name, config},
                  [=](const Tensor& in) { return median_of_kind(kind, in, axis, keepdims); });
}

constexpr int64_t kFewFeatures = 16;  // per program
constexpr int64_t kMaxFeatures = 64;  // more are better handled by a reduction

// The squared distances as a sum over features, each of which needs only as much memory as the
// result.
Tensor squared_distances(const Tensor& a, const Tensor& b) {
  const std::vector<Tensor> of_a = unstack(a, -1), of_b = unstack(b, -1);
  Tensor total;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Tensor square_of_one = square(expand_dims(of_a[i], -1) - expand_dims(of_b[i], -2));
    total = total.defined() ? total + square_of_one : square_of_one;
  }
  return total;
}

// The same with a few features at a time, each time by one program.
Tensor squared_distances_in_parts(const Tensor& a, const Tensor& b) {
  Tensor total;
  for (int64_t first = 0; first < a.dim(-1); first += kFewFeatures) {
    const int64_t end = std::min(first + kFewFeatures, a.dim(-1));
    std::vector<Tensor> operands = {slice_axis(a, -1, first, end), slice_axis(b, -1, first, end)};
    if (total.defined()) operands.push_back(total);
    total = at_once<"squared_distances">(operands, {}, [](const std::vector<Tensor>& in) {
      const Tensor part = squared_distances(in[0], in[1]);
      return in.size() == 3 ? in[2] + part : part;
    });
  }
  return total;
}

Tensor without_nan(const Tensor& x, double value) {
  return is_floating(x.dtype()) ? where(isnan(x), value, x) : x.strong();
}

// The extreme computed by `f` of floating-point numbers without NaN; NaN if none remain.
Tensor extreme_without_nan(const Tensor& x, const Axes& axis, bool keepdims, double other,
                           Tensor (*f)(const Tensor&, const Axes&, bool)) {
  if (!is_floating(x.dtype())) return f(x, axis, keepdims);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (x.shape().is_static() && x.num_elements() == 0) {
    return full(reduced_shape(x.shape(), axis.normalized(x.shape(), "nanmax"), keepdims), kNan,
                x.dtype());
  }
  const Tensor found = f(where(isnan(x), other, x), axis, keepdims);
  return where(all(isnan(x), axis, keepdims), kNan, found);
}

// `result` if any element isn't NaN, else `otherwise`.
Tensor where_any_counts(const Tensor& x, const Axes& axis, bool keepdims, const Tensor& result,
                        const Tensor& otherwise) {
  if (!is_floating(x.dtype())) return result;
  return where(all(isnan(x), axis, keepdims), otherwise, result);
}

}  // namespace

Tensor average(const Tensor& x, const Axes& axis, const Tensor& weights) {
  const ErrorPlace scope("average");
  if (!weights.defined()) return mean(x, axis);
  const auto [a, b] = unify(x, weights, "average");
  const Tensor values = to_floating(a);
  Tensor scale = to_floating(b);
  const Ints axes = axis.normalized(x.shape(), "average");
  if (scale.shape() != values.shape()) {
    check<InvalidArgument>(
        scale.rank() == 1 && axis.count() == 1 && scale.dim(0) == values.dim(axes[0]),
        "average: expected weights of x's shape {}, or one for each place along "
        "a single axis, got shape {}.",
        x.shape(), weights.shape());
    Shape along(Ints(static_cast<size_t>(x.rank()), 1));
    along[axes[0]] = scale.dim(0);
    scale = reshape(scale, along);
    return sum(values * scale, axes) / sum(scale);
  }
  return sum(values * scale, axes) / sum(scale, axes);
}

Tensor median(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("median");
  return median_of_kind({"median", "Median", Nan::Propagates}, x, axis, keepdims);
}
Tensor quantile(const Tensor& x, const Tensor& q, const QuantileOptions& options) {
  const ErrorPlace scope("quantile");
  return quantile_of_kind({"quantile", "Quantile", Nan::Propagates}, x, q, options);
}
Tensor percentile(const Tensor& x, const Tensor& q, const QuantileOptions& options) {
  const ErrorPlace scope("percentile");
  return quantile_of_kind({"percentile", "Percentile", Nan::Propagates, 100}, x, q, options);
}
Tensor nanmedian(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nanmedian");
  return median_of_kind({"nanmedian", "Nanmedian", Nan::Missing}, x, axis, keepdims);
}
Tensor nanquantile(const Tensor& x, const Tensor& q, const QuantileOptions& options) {
  const ErrorPlace scope("nanquantile");
  return quantile_of_kind({"nanquantile", "Nanquantile", Nan::Missing}, x, q, options);
}
Tensor nanpercentile(const Tensor& x, const Tensor& q, const QuantileOptions& options) {
  const ErrorPlace scope("nanpercentile");
  return quantile_of_kind({"nanpercentile", "Nanpercentile", Nan::Missing, 100}, x, q, options);
}

Tensor ptp(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("ptp");
  const Tensor numbers = to_numbers(x);
  return max(numbers, axis, keepdims) - min(numbers, axis, keepdims);
}

Tensor corrcoef(const Tensor& x) {
  const ErrorPlace scope("corrcoef");
  check<InvalidArgument>(x.rank() == 1 || x.rank() == 2,
                         "corrcoef: expected (variables, observations), got shape {}.", x.shape());
  const Tensor rows = x.rank() == 1 ? expand_dims(to_floating(x), 0) : to_floating(x);
  const Tensor centered = rows - mean(rows, -1, true);
  const Tensor products = matmul(centered, centered, {.transpose_x2 = true});
  const Tensor lengths = sqrt(diagonal(products));
  const Tensor result = clip(products / (expand_dims(lengths, 1) * lengths), -1, 1);
  return x.rank() == 1 ? reshape(result, {}) : result;
}

Tensor psnr(const Tensor& x1, const Tensor& x2, double max_val) {
  check<InvalidArgument>(x1.shape() == x2.shape(),
                         "psnr: expected two tensors of one shape, got {} and {}.", x1.shape(),
                         x2.shape());
  const auto [a, b] = unify(to_floating(x1), to_floating(x2), "psnr");
  return 20 * std::log10(max_val) - 10 * log10(mean(square(a - b)));
}

Tensor correlate(const Tensor& x1, const Tensor& x2, const std::string& mode) {
  const ErrorPlace scope("correlate");
  check<InvalidArgument>(mode == "valid" || mode == "same" || mode == "full",
                         "correlate: unknown mode '{}'. Known: valid, same, full.", mode);
  if (is_open(x1) || is_open(x2)) {
    return whole_of(
        "correlate", std::vector<Tensor>{x1, x2},
        {"numpy", "Correlate", Json::object({{"mode", mode}})},
        [mode](const std::vector<Tensor>& in) { return correlate(in[0], in[1], mode); });
  }
  const auto [a, b] = unified_reals(x1, x2, "correlate");
  check<InvalidArgument>(a.rank() == 1 && b.rank() == 1 && a.dim(0) >= 1 && b.dim(0) >= 1,
                         "correlate: expected two vectors with elements, got {} and {}.", a.shape(),
                         b.shape());
  const int64_t n = a.dim(0), m = b.dim(0);
  check<InvalidArgument>(mode != "valid" || n >= m,
                         "correlate: expected a second vector that isn't longer than the first, "
                         "got {} and {}. Exchange them, or take mode full.",
                         n, m);
  const Tensor padded = mode == "valid" ? a : pad(a, {{m - 1, m - 1}});
  const Tensor sums = reshape(conv(reshape(padded, {1, -1, 1}), reshape(b, {-1, 1, 1})), {-1});
  if (mode != "same") return sums;
  const int64_t kept = std::max(n, m);
  const int64_t begin = (std::min(n, m) - 1) / 2;
  return slice_axis(sums, 0, begin, begin + kept);
}

Tensor cdist(const Tensor& x, const Tensor& y) {
  const auto [a, b] = unified_reals(x, y, "cdist");
  check<InvalidArgument>(a.rank() >= 2 && b.rank() >= 2 && a.shape().back() == b.shape().back(),
                         "cdist: expected (..., m, size) and (..., n, size), got {} and {}.",
                         a.shape(), b.shape());
  const int64_t features = a.shape().back();
  if (features > 0 && features <= kMaxFeatures && goes_at_once({a, b})) {
    return sqrt(squared_distances_in_parts(a, b));
  }
  return sqrt(sum(square(expand_dims(a, -2) - expand_dims(b, -3)), -1));
}

std::pair<Tensor, Tensor> histogram(const Tensor& x, const HistogramOptions& options) {
  const ErrorPlace scope("histogram");
  check<InvalidArgument>(options.bins >= 1, "histogram: expected bins >= 1, got {}.", options.bins);
  const Tensor flat = ravel(to_numbers(x));
  const Tensor real = to_floating(flat);
  Tensor low = options.range ? constant_like(real, options.range->first) : min(real);
  Tensor high = options.range ? constant_like(real, options.range->second) : max(real);
  check<InvalidArgument>(!options.range || options.range->first <= options.range->second,
                         "histogram: expected a range from low to high, got ({}, {}).",
                         options.range ? options.range->first : 0,
                         options.range ? options.range->second : 0);
  const Tensor edges = linspace(low, high, Checked(options.bins, "histogram") + 1);
  const Tensor inner = slice_axis(edges, 0, 1, options.bins);
  const Tensor inside = logical_and(real >= low, real <= high);
  const Tensor counts =
      segment_sum(cast(inside, DType::Int32), searchsorted(inner, real, "right"), options.bins);
  return {cast(counts, flat.dtype()), cast(edges, flat.dtype())};
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  check<InvalidArgument>(x.rank() == 1 && (is_integer(x.dtype()) || x.dtype() == DType::Bool),
                         "bincount: expected a vector of integers, got {} of shape {}.", x.dtype(),
                         x.shape());
  require_value(x, "bincount", "Use ops::segment_sum with a fixed number of segments instead.");
  const Tensor places = to_numbers(x);
  int64_t size = std::max<int64_t>(minlength, 0);
  if (x.dim(0) > 0) {
    const auto least = cast(min(places), DType::Int64).item<int64_t>();
    check<InvalidArgument>(least >= 0, "bincount: expected integers >= 0, got {}.", least);
    const auto most = cast(max(places), DType::Int64).item<int64_t>();
    check<InvalidArgument>(most >= 0 && most < kMaxBins,
                           "bincount: expected integers below 2^48, as there is a bin for each "
                           "number from 0, got {}.",
                           static_cast<uint64_t>(most));
    size = std::max(size, most + 1);
  }
  const Tensor amounts = weights.defined() ? to_numbers(weights) : ones_like(places, DType::Int32);
  check<InvalidArgument>(amounts.shape() == x.shape(),
                         "bincount: expected weights of x's shape {}, got {}.", x.shape(),
                         amounts.shape());
  return call<"scatter_add">({places, amounts},
                             {{"shape", Shape{size}.dims()}, {"axis", int64_t{0}}});
}

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, const std::string& side) {
  check<InvalidArgument>(side == "left" || side == "right",
                         "searchsorted: expected side \"left\" or \"right\", got \"{}\".", side);
  check<InvalidArgument>(sorted_sequence.rank() == 1,
                         "searchsorted: expected a sorted vector, got shape {}. Use "
                         "ops::vectorized_map for several.",
                         sorted_sequence.shape());
  if (is_open(sorted_sequence)) {
    return whole_of(
        "searchsorted", std::vector<Tensor>{sorted_sequence, values},
        {"numpy", "SearchSorted", Json::object({{"side", side}})},
        [side](const std::vector<Tensor>& in) { return searchsorted(in[0], in[1], side); });
  }
  const auto [sequence, wanted] = unify(sorted_sequence, values, "searchsorted");
  const int64_t size = sequence.dim(0);
  if (sequence.dtype() != DType::Bool && goes_at_once({sequence, wanted})) {
    return call<"searchsorted">({sequence, wanted}, {{"right", side == "right"}});
  }
  // Whether the element at `index` comes before the insertion point.
  auto before = [&, &sequence = sequence, &wanted = wanted](const Tensor& index) {
    const Tensor element = take(sequence, index);
    const Tensor smaller = side == "left" ? element < wanted : element <= wanted;
    if (!is_floating(sequence.dtype())) return smaller;
    const Tensor nan = isnan(wanted);
    return logical_or(smaller,
                      side == "left" ? logical_and(nan, logical_not(isnan(element))) : nan);
  };
  // Binary search for all values together: the number of elements before each.
  Tensor count = zeros_like(wanted, DType::Int32);
  int64_t step = 1;
  while (step <= size / 2) step *= 2;
  for (; size > 0 && step >= 1; step /= 2) {
    const Tensor next = count + step;
    const Tensor possible = next <= size;
    const Tensor index = where(possible, next - 1, 0);
    count = where(logical_and(possible, before(index)), next, count);
  }
  return count;
}

Tensor digitize(const Tensor& x, const Tensor& bins) {
  const ErrorPlace scope("digitize");
  return searchsorted(bins, x, "right");
}

Tensor cumprod(const Tensor& x, std::optional<int64_t> axis, std::optional<DTypeLike> dtype) {
  const ErrorPlace scope("cumprod");
  if (is_open(x)) {
    const Json config = Json::object({{"axis", axis ? Json(*axis) : Json()},
                                      {"dtype", dtype ? Json(to_string(*dtype)) : Json()}});
    return whole_of("cumprod", x, {"numpy", "Cumprod", config},
                    [=](const Tensor& in) { return cumprod(in, axis, dtype); });
  }
  const Tensor numbers = to_numbers(cast(x, dtype.value_or(x.dtype())));
  const Tensor along = axis ? numbers : ravel(numbers);
  const int64_t normalized = along.shape().normalize_axis(axis.value_or(0), "cumprod");
  if (!goes_at_once({along})) return running_products(along, normalized);
  return call<"cumprod">({along}, {{"axis", normalized}, {"exclusive", false}, {"reverse", false}});
}

Tensor diff(const Tensor& x, int64_t n, int64_t axis) {
  const ErrorPlace scope("diff");
  check<InvalidArgument>(n >= 0, "diff: expected n >= 0, got {}.", n);
  const int64_t along = x.shape().normalize_axis(axis, "diff");
  if (n > 0 && is_open(x, along)) {
    const Json config = Json::object({{"n", n}, {"axis", axis}});
    return whole_of("diff", x, {"numpy", "Diff", config},
                    [=](const Tensor& in) { return diff(in, n, axis); });
  }
  Tensor result = x.strong();
  require_few(std::min(n, result.dim(along)), "differences of differences", "diff");
  for (int64_t i = 0; i < n && result.dim(along) > 0; ++i) {
    const Tensor later = slice_axis(result, along, 1);
    const Tensor earlier = slice_axis(result, along, 0, result.dim(along) - 1);
    result = x.dtype() == DType::Bool ? not_equal(later, earlier) : later - earlier;
  }
  return result;
}

Tensor trapezoid(const Tensor& y, const TrapezoidOptions& options) {
  const ErrorPlace scope("trapezoid");
  if (is_open(y, options.axis)) {
    TrapezoidOptions rest = options;
    rest.x = {};
    if (!options.x.defined()) {
      const Json config = Json::object({{"x", {}}, {"dx", options.dx}, {"axis", options.axis}});
      return whole_of("trapezoid", y, {"numpy", "Trapezoid", config},
                      [=](const Tensor& in) { return trapezoid(in, rest); });
    }
    if (options.x.rank() == 1 && !is_model_placeholder(options.x) && !options.x.is_symbolic()) {
      const Tensor points = options.x;
      Json::Array list;
      for (const float place : cast(points, DType::Float32).to_vector<float>()) {
        list.emplace_back(place);
      }
      const Json config =
          Json::object({{"x", Json(std::move(list))}, {"dx", options.dx}, {"axis", options.axis}});
      return whole_of("trapezoid", y, {"numpy", "Trapezoid", config}, [=](const Tensor& in) {
        return trapezoid(in, {.x = points, .dx = rest.dx, .axis = rest.axis});
      });
    }
    return as_whole("trapezoid", {y, options.x}, [rest](const std::vector<Tensor>& in) {
      TrapezoidOptions all = rest;
      all.x = in[1];
      return trapezoid(in[0], all);
    });
  }
  const Tensor last = moveaxis(to_floating(y), options.axis, -1);
  if (is_inferring_types() && options.x.defined() && options.x.rank() == 1 &&
      options.x.dim(0) != last.dim(-1)) {
    return sum(last, -1);  // for any size: when it runs, there are as many positions
  }
  check<InvalidArgument>(last.dim(-1) > 0, "trapezoid: expected samples along axis {}, got {}.",
                         options.axis, y.shape());
  const int64_t intervals = last.dim(-1) - 1;
  if (intervals == 0) return sum(slice_axis(last, -1, 1), -1);
  Tensor widths = full({intervals}, options.dx, last.dtype());
  if (options.x.defined()) {
    const Tensor points = cast(options.x, last.dtype());
    widths = diff(points.rank() == 1 ? points : moveaxis(points, options.axis, -1));
  }
  // A sample counts half of the widths on both sides.
  const int64_t along = widths.rank() - 1;
  std::vector<std::pair<int64_t, int64_t>> before(static_cast<size_t>(widths.rank()), {0, 0});
  std::vector<std::pair<int64_t, int64_t>> behind = before;
  before[static_cast<size_t>(along)] = {1, 0};
  behind[static_cast<size_t>(along)] = {0, 1};
  const Tensor weights = (pad(widths, before) + pad(widths, behind)) * 0.5;
  return weights.rank() == 1 ? matmul(last, weights) : sum(last * weights, -1);
}

Tensor nansum(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nansum");
  const Ints axes = axis.normalized(x.shape(), "nansum");
  if (!is_floating(x.dtype())) return sum(x, axes, keepdims);
  return at_once<"nansum", true>(
      {x}, {{"axes", axes}, {"keepdims", keepdims}},
      [&](const std::vector<Tensor>& in) { return sum(without_nan(in[0], 0), axes, keepdims); });
}
Tensor nanprod(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nanprod");
  return prod(without_nan(x, 1), axis, keepdims);
}

Tensor nanmax(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nanmax");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return extreme_without_nan(x, axis, keepdims, -kInfinity, max);
}
Tensor nanmin(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nanmin");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return extreme_without_nan(x, axis, keepdims, kInfinity, min);
}

Tensor nanmean(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nanmean");
  if (!is_floating(x.dtype())) return mean(x, axis, keepdims);
  const Ints axes = axis.normalized(x.shape(), "nanmean");
  return at_once<"nanmean", true>(
      {x}, {{"axes", axes}, {"keepdims", keepdims}}, [&](const std::vector<Tensor>& in) {
        const Tensor wide = to_accumulator(in[0]);
        const Tensor count = sum(cast(logical_not(isnan(wide)), wide.dtype()), axes, keepdims);
        return cast(nansum(wide, axes, keepdims) / count, x.dtype());
      });
}

Tensor nanvar(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nanvar");
  if (!is_floating(x.dtype())) return var(x, axis, keepdims);
  // No NaN enters the arithmetic, so that the gradient has none either.
  const Tensor wide = to_accumulator(x);
  const Tensor missing = isnan(wide);
  const Tensor centered = where(missing, 0, where(missing, 0, wide) - nanmean(wide, axis, true));
  const Tensor count = sum(cast(logical_not(missing), wide.dtype()), axis, keepdims);
  return cast(sum(square(centered), axis, keepdims) / count, x.dtype());
}
Tensor nanstd(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("nanstd");
  return sqrt(nanvar(x, axis, keepdims));
}

Tensor nanargmax(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const ErrorPlace scope("nanargmax");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return where_any_counts(x, axis ? Axes(*axis) : Axes(), keepdims,
                          argmax(without_nan(x, -kInfinity), axis, keepdims), -1);
}
Tensor nanargmin(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const ErrorPlace scope("nanargmin");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return where_any_counts(x, axis ? Axes(*axis) : Axes(), keepdims,
                          argmin(without_nan(x, kInfinity), axis, keepdims), -1);
}

Tensor nancumsum(const Tensor& x, std::optional<int64_t> axis, std::optional<DTypeLike> dtype) {
  const ErrorPlace scope("nancumsum");
  return cumsum(without_nan(cast(x, dtype.value_or(x.dtype())), 0), axis);
}
Tensor nancumprod(const Tensor& x, std::optional<int64_t> axis, std::optional<DTypeLike> dtype) {
  const ErrorPlace scope("nancumprod");
  return cumprod(without_nan(cast(x, dtype.value_or(x.dtype())), 1), axis);
}

}  // namespace cornu::ops
