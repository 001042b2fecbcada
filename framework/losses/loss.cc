// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/loss.h"

#include <array>

#include "framework/core/strings.h"
#include "framework/core/user_code.h"
#include "framework/losses/function_loss.h"
#include "framework/losses/operands.h"
#include "framework/losses/register.h"
#include "framework/model/call_frame.h"
#include "framework/model/layer.h"
#include "framework/model/registration_advice.h"
#include "framework/ops/ops.h"
#include "framework/strategy/loss_parts.h"
#include "framework/strategy/replica_context.h"

namespace cornu {
namespace {

constexpr std::array<std::pair<Reduction, const char*>, 5> kReductions = {{
    {Reduction::SumOverBatchSize, "sum_over_batch_size"},
    {Reduction::Sum, "sum"},
    {Reduction::Mean, "mean"},
    {Reduction::MeanWithSampleWeight, "mean_with_sample_weight"},
    {Reduction::None, "none"},
}};

Tensor both_masks(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  const int64_t rank = std::max(a.rank(), b.rank());
  return ops::logical_and(with_rank(a, rank), with_rank(b, rank));
}

// A batch's losses before reduction.
struct Unreduced {
  Tensor values;   // weighted
  Tensor weights;  // including the mask; undefined if there are none
  Tensor mask;     // undefined if there is none
};

// Sample weights have a value per example, or per loss value of an example.
void require_fitting(const Tensor& given, const Tensor& weights, const Shape& values) {
  const Shape shape = with_rank(weights, values.rank()).shape();
  bool fits = true;
  for (int64_t axis = 1; axis <= std::min(shape.rank(), values.rank()); ++axis) {
    const int64_t size = shape[-axis];
    fits = fits && (size == values[-axis] || size == 1 || values[-axis] == 1);
  }
  check<InvalidArgument>(
      fits, "expected sample_weight of shape {}{}, as the losses are of shape {}, got shape {}.",
      values.slice(0, 1), values.rank() > 1 ? fmt::format(" or {}", values) : "", values,
      given.shape());
}

// Converts predictions to the dtype in which the loss's function computes: the loss's own dtype if
// specified, with at least 32 bits.
Tensor computable(const LossImpl& loss, const Tensor& y_pred) {
  const DType wide = computed_in(loss.dtype().value_or(y_pred.dtype()));
  return wide == y_pred.dtype() ? y_pred : ops::cast(y_pred, wide);
}

Unreduced unreduced(const LossImpl& loss, const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) {
  Unreduced result;
  result.values = loss.call(y_true, computable(loss, y_pred));
  result.mask = both_masks(y_pred.mask(), result.values.mask());
  // The function may return narrower values, whose sum might be inexact or overflow.
  const DType wide = computed_in(result.values.dtype());
  if (wide != result.values.dtype()) result.values = ops::cast(result.values, wide);
  result.weights = masked_weights(result.mask, sample_weight);
  if (!result.weights.defined()) return result;
  auto [values, weights] = squeeze_or_expand_to_same_rank(result.values, result.weights);
  result.weights = ops::cast(weights, values.dtype());
  if (sample_weight.defined()) require_fitting(sample_weight, result.weights, values.shape());
  result.values = values * with_rank(result.weights, values.rank());
  return result;
}

// The divisor of a mean counts all replicas: the sum of weights or of unmasked positions if there
// are any, otherwise the number of elements, which a single replica knows in advance.
Tensor reduced(const Unreduced& losses, Reduction reduction) {
  const Tensor& values = losses.values;
  if (values.rank() == 0 && reduction != Reduction::Sum && !losses.mask.defined()) {
    return by_share_of_examples(values);  // already a mean
  }
  const Tensor sum = values.rank() == 0 ? values : ops::sum(values);
  if (reduction == Reduction::Sum) return sum;
  const auto count = static_cast<double>(values.num_elements());
  if (reduction == Reduction::MeanWithSampleWeight && losses.weights.defined()) {
    return ops::divide_no_nan(sum, sum_over_replicas(ops::sum(losses.weights)));
  }
  if (reduction != Reduction::MeanWithSampleWeight && losses.mask.defined()) {
    // The fraction of positions that are unmasked.
    const double share =
        count / static_cast<double>(std::max<int64_t>(1, losses.mask.num_elements()));
    const Tensor left = ops::sum(ops::cast(losses.mask, values.dtype())) * share;
    return ops::divide_no_nan(sum, sum_over_replicas(left));
  }
  if (replicas_in_sync() == 1) return count <= 1 ? sum : sum * (1.0 / count);
  const Tensor total = ops::cast(sum_of_known(count), values.dtype());
  return sum * ops::divide_no_nan(1.0, total);
}

// Calls `body`; errors name the loss.
template <class F>
auto placed(const LossImpl& loss, const F& body) {
  const internal::CallFrame nobody;  // a model called by a loss isn't part of the one being trained
  try {
    return body();
  } catch (Error& error) {
    const std::string class_name = loss.class_name().empty() ? "Loss" : loss.class_name();
    error.add_place(fmt::format("{} '{}'", class_name, loss.name()));
    throw;
  }
}

bool is_generic(std::string_view name) {
  const std::string lower = lower_case(name);
  return lower == "crossentropy" || lower == "ce";
}

}  // namespace

const char* to_string(Reduction reduction) {
  for (const auto& [value, name] : kReductions) {
    if (value == reduction) return name;
  }
  return "none";
}

Reduction reduction_from_string(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [value, text] : kReductions) {
    if (name == text) return value;
    known.emplace_back(text);
  }
  raise<InvalidArgument>("Unknown reduction '{}'.{}", name, did_you_mean(name, known));
}

Json config_value(Reduction reduction) { return to_string(reduction); }

void set_from_config(const Json& json, Reduction& reduction) {
  reduction = json.is_null() ? Reduction::None : reduction_from_string(json.as_string());
}

LossImpl::LossImpl(std::string name, Reduction reduction, const DTypeName& dtype)
    : name_(std::move(name)), reduction_(reduction) {
  if (dtype.empty()) return;
  dtype_ = DTypePolicy::parse(dtype).compute;
  check<InvalidArgument>(is_floating(*dtype_),
                         "Loss '{}': expected a floating-point dtype, got \"{}\".", name_,
                         static_cast<const std::string&>(dtype));
}

Json LossImpl::get_config() const {
  Json config = Json::object({{"name", name_}, {"reduction", to_string(reduction_)}});
  if (dtype_) config.set("dtype", to_string(*dtype_));
  return config;
}

Loss::Loss(const char* name) : Loss(std::string(given_text(name, "loss"))) {}

Loss::Loss(const std::string& name) : generic_(name) {
  if (is_generic(name)) return;
  const auto& registry = loss_registry();
  const std::string& class_name = registry.resolve(name);
  // Keras names such a loss after its alias, but uses the default name for a class name.
  Json config = Json::object();
  if (name != class_name) config.set("name", name);
  impl_ = registry.at(class_name)(config).impl_;
}

Loss::Loss(Function function, const LossOptions& options) {
  auto typed = [function = given_function(std::move(function), "Loss")](const Tensor& y_true,
                                                                        const Tensor& y_pred) {
    auto [left, right] = squeeze_or_expand_to_same_rank(ops::cast(y_true, y_pred.dtype()), y_pred);
    return function(left, right);
  };
  LossOptions named = options;
  if (named.name.empty()) named.name = "loss";
  impl_ = std::make_shared<const losses::FunctionLoss>("", named, std::move(typed));
}

const LossImpl& Loss::impl() const {
  check<FailedPrecondition>(!needs_resolving(),
                            "Loss '{}': which loss it is depends on the shapes of labels and "
                            "predictions. Call it, or resolve() it first.",
                            generic_);
  return required("Loss", "a loss");
}

Loss Loss::resolve(const Shape& y_true, const Shape& y_pred) const {
  if (!needs_resolving()) return *this;
  const bool binary = !y_pred.empty() && y_pred.back() == 1;
  const bool sparse = y_true.rank() < y_pred.rank() || (y_true.back() == 1 && y_pred.back() > 1);
  const char* class_name = binary   ? "BinaryCrossentropy"
                           : sparse ? "SparseCategoricalCrossentropy"
                                    : "CategoricalCrossentropy";
  Loss loss = loss_registry().at(class_name)(Json::object({{"name", generic_}}));
  loss.generic_ = generic_;
  return loss;
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred,
                        const Tensor& sample_weight) const {
  if (needs_resolving()) {
    return resolve(y_true.shape(), y_pred.shape())(y_true, y_pred, sample_weight);
  }
  return placed(impl(), [&]() -> Tensor {
    const Unreduced losses = unreduced(impl(), y_true, y_pred, sample_weight);
    const Tensor result = impl().reduction() == Reduction::None
                              ? losses.values.with_mask({})
                              : reduced(losses, impl().reduction());
    const Tensor typed = impl().dtype() ? ops::cast(result, *impl().dtype()) : result;
    if (impl().reduction() != Reduction::None) note_loss_part(typed);
    return typed;
  });
}

Registry<LossFactory>& loss_registry() {
  static auto& registry = make_registry<LossFactory>("loss", register_builtins);
  return registry;
}

Json serialize(const Loss& loss) {
  if (!loss) return nullptr;
  if (!loss.spelling().empty()) return loss.spelling();
  const std::string class_name = loss.impl().class_name();
  check<InvalidArgument>(!class_name.empty(),
                         "Loss '{}': a function, or a class without class_name(), can't be saved. "
                         "Make it a LossImpl whose class_name() is \"package>Name\", and register "
                         "that with loss_registry().add(…).",
                         loss.name());
  return serialized_form("keras.losses", class_name, loss.impl().get_config());
}

Loss loss_from_json(const Json& json) {
  if (json.is_null()) return {};
  if (const Json* name = json.is_string() ? &json : name_of_function(json)) {
    const std::string known = function_in_file(loss_registry(), json, name->as_string());
    return with_registration_advice(loss_registry(), known, [&] { return Loss(known); });
  }
  return make_from_file(loss_registry(), json);
}

}  // namespace cornu
