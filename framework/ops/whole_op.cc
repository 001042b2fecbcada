// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/whole_op.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "framework/graph/dispatch.h"
#include "framework/graph/graph.h"
#include "framework/ops/definition.h"

namespace cornu::ops::internal {
namespace {

std::shared_ptr<OpDef> definition(const char* name, WholeFunction f) {
  const auto op = std::make_shared<OpDef>();
  op->name = name;
  op->expand = [name, f = std::move(f)](const std::vector<Tensor>& given, const Attributes&) {
    for (const Tensor& x : given) {
      check<FailedPrecondition>(x.shape().is_static(),
                                "{}: a function being traced uses {}. Pass it as an argument.",
                                name, x);
    }
    return f(given);
  };
  return op;
}

// The attribute keeps the op alive for as long as any node uses it.
AttributeValue keeping(const std::shared_ptr<OpDef>& op) {
  static const auto* none = new Graph;
  return std::shared_ptr<const Graph>(op, none);
}

// One definition per form, so that nodes that do the same compare equal.
std::shared_ptr<OpDef> definition_of(const std::string& form, const char* name, WholeFunction f) {
  static std::mutex mutex;
  static auto* known = new std::map<std::string, std::weak_ptr<OpDef>>;
  const std::lock_guard lock(mutex);
  std::erase_if(*known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<OpDef>& place = (*known)[form];
  std::shared_ptr<OpDef> op = place.lock();
  if (!op) place = op = definition(name, std::move(f));
  return op;
}

}  // namespace

bool is_model_placeholder(const Tensor& x) {
  return x.defined() && x.is_symbolic() && !current_tracer();
}

bool any_placeholder(const std::vector<Tensor>& tensors) {
  return std::ranges::any_of(tensors, is_model_placeholder);
}

bool is_open(const Tensor& x) { return is_model_placeholder(x) && !x.shape().is_static(); }
bool is_open(const Tensor& x, int64_t axis) {
  return is_model_placeholder(x) && x.dim(axis) == kUnknown;
}

std::vector<Tensor> apply_whole(const char* name, const std::vector<Tensor>& inputs,
                                WholeFunction f) {
  const auto op = definition(name, std::move(f));
  return cornu::apply(*op, inputs, {{"function", keeping(op)}});
}

std::vector<Tensor> apply_whole(const char* name, const std::vector<Tensor>& inputs,
                                const KerasForm& form, WholeFunction f) {
  const std::string text = Json::object({{"module", "keras.src.ops." + form.module},
                                         {"class_name", form.class_name},
                                         {"config", form.config}})
                               .dump();
  const auto op = definition_of(text, name, std::move(f));
  return cornu::apply(*op, inputs, {{"function", keeping(op)}, {kKerasForm, text}});
}

Tensor whole_of(const char* name, const Tensor& x, const KerasForm& form,
                std::function<Tensor(const Tensor&)> f) {
  const auto of_all = [f = std::move(f)](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{f(in[0])};
  };
  return apply_whole(name, {x}, form, of_all).front();
}

Tensor whole_of(const char* name, const std::vector<Tensor>& inputs, const KerasForm& form,
                std::function<Tensor(const std::vector<Tensor>&)> f) {
  const auto all = [f = std::move(f)](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{f(in)};
  };
  return apply_whole(name, inputs, form, all).front();
}

Tensor as_whole(const char* name, const std::vector<Tensor>& inputs,
                const std::function<Tensor(const std::vector<Tensor>&)>& f, int64_t first) {
  for (const Tensor& input : inputs) require_defined(input, name);
  const bool known = std::all_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
    return input.shape().slice(std::min(first, input.rank())).is_static();
  });
  if (known || !any_placeholder(inputs)) return f(inputs);
  return apply_whole(
             name, inputs,
             [f](const std::vector<Tensor>& given) { return std::vector<Tensor>{f(given)}; })
      .front();
}

bool has_open_padding(const Tensor& x, const Padding& padding,
                      const std::vector<int64_t>& strides) {
  if (!padding.is_same()) return false;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] > 1 && is_open(x, static_cast<int64_t>(i) + 1)) return true;
  }
  return false;
}

Json one_or_list(const std::vector<int64_t>& numbers) {
  return numbers.size() == 1 ? Json(numbers[0]) : Json(numbers);
}

}  // namespace cornu::ops::internal
