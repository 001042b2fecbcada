// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/creation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/limits.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

void require_count(int64_t num, std::string_view who) {
  check<InvalidArgument>(num >= 0, "{}: expected num >= 0, got {}.", who, num);
}

// A window's points in [0, 1]; a single point gets the window's highest value.
template <class F>
Tensor window(int64_t size, std::string_view who, F f) {
  check<InvalidArgument>(size >= 0, "{}: expected a size >= 0, got {}.", who, size);
  require_table(size);
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(size - 1);
    values.push_back(size == 1 ? 1.0F : static_cast<float>(f(at)));
  }
  return Tensor::from(values);
}

double cosine(double turns) { return std::cos(2 * std::numbers::pi * turns); }

}  // namespace

Tensor array(const Tensor& x, std::optional<DTypeLike> dtype) {
  return convert_to_tensor(x, dtype);
}

Tensor convert_to_tensor(const Tensor& x, std::optional<DTypeLike> dtype) {
  return dtype ? cast(x, *dtype) : x.strong();
}

Tensor convert_to_numpy(const Tensor& x) { return x.host().strong(); }

Tensor linspace(const Tensor& start, const Tensor& stop, int64_t num, const SpaceOptions& options) {
  const ErrorPlace scope("linspace");
  require_count(num, "linspace");
  const auto [first, last] = unify(start, stop, "linspace");
  const DType dtype =
      options.dtype.value_or(is_floating(first.dtype()) ? first.dtype() : DType::Float32);
  // When rounding down, an error in the last digit would become an error of 1.
  const bool whole = is_integer(dtype);
  const Tensor from = whole ? cast(first, DType::Float64) : to_accumulator(first);
  const Tensor to = whole ? cast(last, DType::Float64) : to_accumulator(last);
  const Shape ends = broadcast_shapes(from.shape(), to.shape(), "linspace");
  const auto intervals = static_cast<double>(options.endpoint ? num - 1 : num);
  std::vector<int64_t> column(static_cast<size_t>(ends.rank()), 1);
  column.insert(column.begin(), num);
  const Tensor places = reshape(arange(num, from.dtype()), Shape(column));
  Tensor values = from + places * ((to - from) / std::max(intervals, 1.0));
  if (options.endpoint && num > 1) values = where(places < intervals, values, to);
  return moveaxis(cast(whole ? floor(values) : values, dtype), 0, options.axis);
}

Tensor logspace(const Tensor& start, const Tensor& stop, int64_t num,
                const LogspaceOptions& options) {
  const ErrorPlace scope("logspace");
  const Tensor exponents =
      linspace(start, stop, num, {.endpoint = options.endpoint, .axis = options.axis});
  const Tensor values = power(constant_like(exponents, options.base), exponents);
  return cast(values, options.dtype.value_or(values.dtype()));
}

Tensor geomspace(const Tensor& start, const Tensor& stop, int64_t num,
                 const SpaceOptions& options) {
  const ErrorPlace scope("geomspace");
  const auto [first, last] = unify(start, stop, "geomspace");
  const Tensor from = to_floating(first);
  const Tensor exponents = linspace(log(abs(from)), log(abs(to_floating(last))), num,
                                    {.endpoint = options.endpoint, .axis = options.axis});
  const Tensor signs = from.rank() == 0 ? sign(from) : expand_dims(sign(from), options.axis);
  const Tensor values = signs * exp(exponents);
  return cast(values, options.dtype.value_or(values.dtype()));
}

Tensor empty(const Shape& shape, DTypeLike dtype) { return zeros(shape, dtype); }
Tensor empty_like(const Tensor& x, std::optional<DTypeLike> dtype) { return zeros_like(x, dtype); }
Tensor identity(int64_t n, DTypeLike dtype) {
  const ErrorPlace scope("identity");
  return eye(n, dtype);
}

Tensor tri(int64_t n, const TriOptions& options) {
  const int64_t m = options.m.value_or(n);
  check<InvalidArgument>(n >= 0 && m >= 0, "tri: expected sizes >= 0, got {} and {}.", n, m);
  const Tensor rows = expand_dims(arange(n, DType::Int64), 1);
  const Tensor columns = expand_dims(arange(m, DType::Int64), 0);
  return cast(columns <= rows + options.k, options.dtype);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& xs, const std::string& indexing) {
  check<InvalidArgument>(indexing == "xy" || indexing == "ij",
                         "meshgrid: expected indexing \"xy\" or \"ij\", got \"{}\".", indexing);
  if (std::ranges::any_of(xs, [](const Tensor& x) { return is_open(x); })) {
    return apply_whole(
        "meshgrid", xs, {"numpy", "Meshgrid", Json::object({{"indexing", indexing}})},
        [indexing](const std::vector<Tensor>& in) { return meshgrid(in, indexing); });
  }
  std::vector<Tensor> vectors;
  Shape sizes;
  for (const Tensor& x : xs) {
    vectors.push_back(ravel(x.strong()));
    sizes.push_back(vectors.back().dim(0));
  }
  std::vector<int64_t> axes(vectors.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (indexing == "xy" && vectors.size() >= 2) {
    std::swap(axes[0], axes[1]);
    std::swap(sizes[0], sizes[1]);
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < vectors.size(); ++i) {
    Shape apart(std::vector<int64_t>(vectors.size(), 1));
    apart[axes[i]] = sizes[axes[i]];
    grids.push_back(broadcast_to(reshape(vectors[i], apart), sizes));
  }
  return grids;
}

Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  const ErrorPlace scope("vander");
  check<InvalidArgument>(x.rank() == 1, "vander: expected a vector, got shape {}.", x.shape());
  if (is_open(x)) {
    const Json config = Json::object({{"N", n ? Json(*n) : Json()}, {"increasing", increasing}});
    return whole_of("vander", x, {"numpy", "Vander", config},
                    [n, increasing](const Tensor& in) { return vander(in, n, increasing); });
  }
  const int64_t columns = n.value_or(x.dim(0));
  require_count(columns, "vander");
  const Tensor ascending = arange(columns, x.dtype());
  return power(expand_dims(x, 1), increasing ? ascending : flip(ascending));
}

Tensor bartlett(int64_t size) {
  return window(size, "bartlett", [](double at) { return 1 - std::abs(2 * at - 1); });
}
Tensor blackman(int64_t size) {
  return window(size, "blackman",
                [](double at) { return 0.42 - 0.5 * cosine(at) + 0.08 * cosine(2 * at); });
}
Tensor hamming(int64_t size) {
  return window(size, "hamming", [](double at) { return 0.54 - 0.46 * cosine(at); });
}
Tensor kaiser(int64_t size, double beta) {
  check<InvalidArgument>(beta >= 0 && beta < 700, "kaiser: expected beta in [0, 700), got {}.",
                         beta);
  return window(size, "kaiser", [=](double at) {
    const double place = 2 * at - 1;
    const double height = std::sqrt(std::max(0.0, 1 - place * place));
    return std::cyl_bessel_i(0.0, beta * height) / std::cyl_bessel_i(0.0, beta);
  });
}
Tensor hanning(int64_t size) {
  return window(size, "hanning", [](double at) { return 0.5 - 0.5 * cosine(at); });
}

}  // namespace cornu::ops
