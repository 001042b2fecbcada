// SPDX-License-Identifier: Apache-2.0
#include "framework/model/regularizers.h"

#include <cmath>

#include "framework/model/register.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"

namespace cornu::regularizers {
namespace {

double checked(const char* who, const char* what, double value) {
  check<InvalidArgument>(std::isfinite(value) && value >= 0, "{}: expected {} >= 0, got {}.", who,
                         what, value);
  return value;
}

// Scales to Euclidean norm 1 along `axis`; norms below 1e-7 are treated as 1e-7.
Tensor normalized(const Tensor& x, int64_t axis) {
  const Tensor square = ops::sum(ops::square(x), axis, true);
  return x * ops::rsqrt(ops::maximum(square, 1e-14));
}

// A value that Keras keeps, and saves, as a float32 tensor.
double as_float32(double value) { return static_cast<float>(value); }

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, L1L2Options& options) {
  fields("l1", options.l1);
  fields("l2", options.l2);
}
template <class Fields>
void visit_fields(Fields& fields, OrthogonalRegularizerOptions& options) {
  fields("factor", options.factor);
  fields("mode", options.mode);
}

L1::L1(double l1) : l1_(checked("L1", "l1", l1)) {}
Tensor L1::operator()(const Tensor& x) const { return l1_ * ops::sum(ops::abs(x)); }
Json L1::get_config() const { return Json::object({{"l1", as_float32(l1_)}}); }

L2::L2(double l2) : l2_(checked("L2", "l2", l2)) {}
Tensor L2::operator()(const Tensor& x) const { return l2_ * ops::sum(ops::square(x)); }
Json L2::get_config() const { return Json::object({{"l2", l2_}}); }

L1L2::L1L2(const L1L2Options& options) : options_(options) {
  checked("L1L2", "l1", options.l1);
  checked("L1L2", "l2", options.l2);
}

Tensor L1L2::operator()(const Tensor& x) const {
  if (options_.l1 == 0 && options_.l2 == 0) return ops::zeros({}, x.dtype());
  if (options_.l1 == 0) return L2(options_.l2)(x);
  if (options_.l2 == 0) return L1(options_.l1)(x);
  return L1(options_.l1)(x) + L2(options_.l2)(x);
}

Json L1L2::get_config() const {
  Json config = Json::object();
  write_options(config, options_);
  return config;
}

OrthogonalRegularizer::OrthogonalRegularizer(const OrthogonalRegularizerOptions& options)
    : options_(options) {
  checked("OrthogonalRegularizer", "factor", options.factor);
  check<InvalidArgument>(options.mode == "rows" || options.mode == "columns",
                         "OrthogonalRegularizer: expected mode 'rows' or 'columns', got '{}'.",
                         options.mode);
}

Tensor OrthogonalRegularizer::operator()(const Tensor& x) const {
  check<InvalidArgument>(x.rank() == 2, "OrthogonalRegularizer: expected a matrix, got shape {}.",
                         x.shape());
  const bool rows = options_.mode == "rows";
  const Tensor units = normalized(x, rows ? 1 : 0);
  const Tensor other = ops::transpose(units);
  const Tensor cosines = rows ? ops::matmul(units, other) : ops::matmul(other, units);
  const int64_t size = cosines.dim(0);
  const double pairs = static_cast<double>(size) * static_cast<double>(size - 1) / 2.0;
  const Tensor between = cosines * (1.0 - ops::eye(size, x.dtype()));
  return options_.factor * 0.5 / pairs * ops::sum(ops::abs(between));
}

Json OrthogonalRegularizer::get_config() const {
  Json config = Json::object();
  write_options(config, OrthogonalRegularizerOptions{.factor = as_float32(options_.factor),
                                                     .mode = options_.mode});
  return config;
}

void register_all(Registry<RegularizerFactory>& registry) {
  registry.add("L1", [](const Json& config) -> Regularizer {
    double l1 = 0.01;
    ConfigReader{config}("l1", l1);
    return L1(l1);
  });
  registry.add("L2", [](const Json& config) -> Regularizer {
    double l2 = 0.01;
    ConfigReader{config}("l2", l2);
    return L2(l2);
  });
  registry.add("L1L2", [](const Json& config) -> Regularizer {
    return L1L2(read_options<L1L2Options>(config));
  });
  registry.add("OrthogonalRegularizer", [](const Json& config) -> Regularizer {
    return OrthogonalRegularizer(read_options<OrthogonalRegularizerOptions>(config));
  });
  registry.add_alias("l1_l2", "L1L2");
}

}  // namespace cornu::regularizers
