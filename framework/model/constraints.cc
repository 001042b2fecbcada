// SPDX-License-Identifier: Apache-2.0
#include "framework/model/constraints.h"

#include "framework/model/register.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"

namespace cornu::constraints {
namespace {

constexpr double kEpsilon = 1e-7;

Tensor norms_of(const Tensor& weight, const std::vector<int64_t>& axis) {
  return ops::sqrt(ops::sum(ops::square(weight), axis, true));
}

// A single axis is written as a number, as in Keras.
Json axis_config(const std::vector<int64_t>& axis) {
  return axis.size() == 1 ? Json(axis[0]) : Json(axis);
}

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, MaxNormOptions& options) {
  fields("max_value", options.max_value);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, UnitNormOptions& options) {
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, MinMaxNormOptions& options) {
  fields("min_value", options.min_value);
  fields("max_value", options.max_value);
  fields("rate", options.rate);
  fields("axis", options.axis);
}

namespace {

template <class Options>
Json config_of(const Options& options) {
  Json config = Json::object();
  write_options(config, options);
  config.set("axis", axis_config(options.axis));
  return config;
}

}  // namespace

Tensor MaxNorm::operator()(const Tensor& weight) const {
  const Tensor norms = norms_of(weight, options_.axis);
  return weight * (ops::clip(norms, 0.0, options_.max_value) / (kEpsilon + norms));
}
Json MaxNorm::get_config() const { return config_of(options_); }

Tensor NonNeg::operator()(const Tensor& weight) const { return ops::maximum(weight, 0.0); }

Tensor UnitNorm::operator()(const Tensor& weight) const {
  return weight / (kEpsilon + norms_of(weight, options_.axis));
}
Json UnitNorm::get_config() const { return config_of(options_); }

Tensor MinMaxNorm::operator()(const Tensor& weight) const {
  const Tensor norms = norms_of(weight, options_.axis);
  const Tensor desired = options_.rate * ops::clip(norms, options_.min_value, options_.max_value) +
                         (1.0 - options_.rate) * norms;
  return weight * (desired / (kEpsilon + norms));
}
Json MinMaxNorm::get_config() const { return config_of(options_); }

namespace {

template <class T, class Options>
void add_class(Registry<ConstraintFactory>& registry) {
  registry.add(T().class_name(),
               [](const Json& config) -> Constraint { return T(read_options<Options>(config)); });
}

}  // namespace

void register_all(Registry<ConstraintFactory>& registry) {
  registry.add("NonNeg", [](const Json&) -> Constraint { return NonNeg(); });
  add_class<MaxNorm, MaxNormOptions>(registry);
  add_class<UnitNorm, UnitNormOptions>(registry);
  add_class<MinMaxNorm, MinMaxNormOptions>(registry);
}

}  // namespace cornu::constraints
