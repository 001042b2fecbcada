// SPDX-License-Identifier: Apache-2.0
// Weights and losses of layers.
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "framework/core/compute_team.h"
#include "framework/core/per_thread.h"
#include "framework/core/strings.h"
#include "framework/model/functional.h"
#include "framework/model/layer_state.h"
#include "framework/model/weight_limit.h"
#include "framework/ops/ops.h"
#include "framework/strategy/loss_parts.h"

namespace cornu {
namespace {

bool is_trainable_weight(const Layer& layer, const Variable& variable) {
  return layer.trainable() && variable.trainable();
}
bool is_frozen_weight(const Layer& layer, const Variable& variable) {
  return !is_trainable_weight(layer, variable);
}
bool is_any(const Layer&, const Variable&) { return true; }

// Losses that layers added in this thread's last calls, by layer id.
struct CallLosses {
  std::weak_ptr<internal::LayerState> layer;
  std::vector<Tensor> losses;
};
using AllCallLosses = std::unordered_map<uint64_t, CallLosses>;
AllCallLosses& call_losses() {
  return per_thread([] { return AllCallLosses(); });
}

std::vector<Tensor>& call_losses_of(const std::shared_ptr<internal::LayerState>& state) {
  CallLosses& entry = call_losses()[state->id];
  if (entry.layer.expired()) {  // new entry: also drop those of destroyed layers
    entry.layer = state;
    std::erase_if(call_losses(), [](const auto& other) { return other.second.layer.expired(); });
  }
  return entry.losses;
}

// Runs an initializer. A thread that only builds a model shouldn't keep a compute team that it
// acquired just for this, as other threads may do the work (core/compute_team.h).
Tensor make_weight(const Initializer& initializer, const Shape& shape, DType dtype) {
  const bool had_team = has_compute_team();
  Tensor weight = internal::outside_of_traces([&] { return (*initializer)(shape, dtype); });
  if (!had_team && has_compute_team()) release_compute_team();
  return weight;
}

}  // namespace

Variable Layer::add_weight(const WeightOptions& options) {
  internal::require_unbuilt(*this, "add_weight", options.name);
  check<InvalidArgument>(options.shape.is_static(),
                         "{} '{}': weight '{}' needs a known shape, got {}. Give Input the missing "
                         "axes.",
                         class_name(), name(), options.name, options.shape);
  const DType dtype = options.dtype.value_or(variable_dtype());
  const uint64_t bytes = options.shape.num_bytes(size_of(dtype));
  WeightLimit::add(bytes);
  Initializer initializer = options.initializer;
  if (!initializer) initializer = Initializer(is_floating(dtype) ? "glorot_uniform" : "zeros");
  const auto initial_value = [initializer, shape = options.shape, dtype] {
    return make_weight(initializer, shape, dtype);
  };
  const bool waits = WeightLimit::defers(bytes);
  Variable variable(waits ? Tensor::empty(options.shape, dtype) : initial_value(),
                    {.name = options.name,
                     .trainable = options.trainable,
                     .autocast = options.autocast,
                     .aggregation = options.aggregation,
                     .sparse_gradients = options.sparse_gradients});
  if (waits) WeightLimit::defer(variable, initial_value);
  const std::string& scope = NameScope::current();
  variable.set_path((scope.empty() ? name() : scope) + "/" + options.name);
  if (options.constraint) {
    variable.set_constraint(
        [constraint = options.constraint](const Tensor& weight) { return (*constraint)(weight); });
  }
  if (options.regularizer) state_->regularizers.push_back({variable, options.regularizer});
  state_->add_own(variable);
  return variable;
}

void Layer::remove_weight(const Variable& weight) {
  internal::require_unbuilt(*this, "remove_weight", weight.name());
  const auto is_it = [&](const Variable& other) { return other.id() == weight.id(); };
  std::erase_if(state_->own_weights, is_it);
  std::erase_if(state_->regularizers, [&](const auto& of) { return is_it(of.variable); });
  state_->made_frozen.erase(weight.number());
}

void Layer::set_quantization(const std::string& mode, std::optional<int64_t> block_size) {
  state_->policy.quantization_mode = mode;
  state_->policy.block_size = block_size;
}

Variable Layer::add_state(const std::string& state_name, const Tensor& initial_value,
                          VariableSynchronization synchronization) {
  Variable variable(initial_value, {.name = state_name,
                                    .trainable = false,
                                    .autocast = false,
                                    .synchronization = synchronization});
  track_state(variable);
  return variable;
}

void Layer::track_state(const Variable& state) {
  state.set_path(name() + "/" + state.name());
  state_->own_state.push_back(state);
}

void Layer::add_loss(const Tensor& loss) {
  check<InvalidArgument>(loss.shape().empty(),
                         "{} '{}': add_loss expects a scalar, got shape {}. Reduce it, for example "
                         "with ops::mean.",
                         class_name(), name(), loss.shape());
  call_losses_of(state_).push_back(as_added_loss(loss));
}

bool Layer::trainable() const { return state_->trainable; }

void Layer::set_trainable(bool trainable) {
  set_trainable_since(trainable, internal::next_stamp());
}

void Layer::set_trainable_since(bool trainable, uint64_t when) {
  if (state_->trainable_since > when) return;  // set more recently
  state_->trainable = trainable;
  state_->trainable_since = when;
  for (const auto& [key, layer] : sublayers()) layer->set_trainable_since(trainable, when);
}

void Layer::clear_losses() {
  if (call_losses().empty()) return;
  call_losses().erase(state_->id);
  for (const auto& [key, layer] : sublayers()) layer->clear_losses();
}

// Visits this layer and those below, each once.
void Layer::walk(std::unordered_set<uint64_t>& seen,
                 const std::function<void(const Layer&)>& visit) const {
  if (!seen.insert(state_->id).second) return;
  visit(*this);
  for (const auto& [key, layer] : sublayers()) layer->walk(seen, visit);
}

std::vector<LayerHandle> Layer::flatten_layers() const {
  // Handles don't pass on const, as elsewhere.
  auto& self = const_cast<Layer&>(*this);  // NOLINT
  std::shared_ptr<Layer> owned = self.shared_self();
  if (!owned) owned = std::shared_ptr<Layer>(std::shared_ptr<void>(), &self);
  std::vector<LayerHandle> result{LayerHandle(std::move(owned))};
  std::unordered_set<uint64_t> seen{state_->id};
  std::deque<std::shared_ptr<Layer>> next;
  for (auto& [key, layer] : sublayers()) next.push_back(std::move(layer));
  while (!next.empty()) {
    const std::shared_ptr<Layer> layer = std::move(next.front());
    next.pop_front();
    if (is_operation(*layer) || !seen.insert(layer->state_->id).second) continue;
    result.emplace_back(layer);
    for (auto& [key, within] : layer->sublayers()) next.push_front(std::move(within));
  }
  return result;
}

void Layer::enable_lora(const LoraOptions&) {
  raise<InvalidArgument>(
      "{} '{}': it has no weight that LoRA could adapt. Dense, EinsumDense, Embedding, "
      "ReversibleEmbedding, Conv1D, Conv2D and Conv3D have: call enable_lora of such layers within "
      "it, which flatten_layers() finds.",
      class_name(), name());
}

std::vector<Tensor> Layer::losses() const {
  std::vector<Tensor> result;
  std::unordered_set<uint64_t> seen;
  walk(seen, [&](const Layer& layer) {
    if (const auto found = call_losses().find(layer.state_->id); found != call_losses().end()) {
      result.insert(result.end(), found->second.losses.begin(), found->second.losses.end());
    }
    for (const auto& [variable, regularizer] : layer.state_->regularizers) {
      if (trainable() && is_trainable_weight(layer, variable)) {
        result.push_back((*regularizer)(variable.value()));
      }
    }
  });
  return result;
}

void Layer::reset_states() const {
  std::unordered_set<uint64_t> seen;
  walk(seen, [](const Layer& layer) { layer.zero_states(); });
}

std::vector<Variable> Layer::collect(bool (*wanted)(const Layer&, const Variable&),
                                     bool with_state) const {
  std::vector<Variable> result;
  std::unordered_set<const void*> known;
  std::unordered_set<uint64_t> seen;
  if (wanted == is_trainable_weight) {  // with several layers: when none of them is frozen
    walk(seen, [&](const Layer& layer) {
      if (layer.trainable()) return;
      for (const Variable& variable : layer.own_weights()) known.insert(variable.id());
    });
    seen.clear();
  }
  walk(seen, [&](const Layer& layer) {
    auto add = [&](const Variable& variable) {
      if (wanted(layer, variable) && known.insert(variable.id()).second) result.push_back(variable);
    };
    for (const Variable& variable : layer.own_weights_in_order()) add(variable);
    if (with_state) std::for_each(layer.own_state().begin(), layer.own_state().end(), add);
  });
  return result;
}

const std::vector<Variable>& Layer::own_weights() const { return state_->own_weights; }
std::vector<Variable> Layer::own_weights_in_order() const {
  std::vector<Variable> weights = own_weights();
  std::stable_partition(weights.begin(), weights.end(), [this](const Variable& weight) {
    return !state_->made_frozen.contains(weight.number());
  });
  return weights;
}

const std::vector<Variable>& Layer::own_state() const { return state_->own_state; }

Variable Layer::weight(const std::string& weight_name) const {
  const std::vector<Variable>& own = own_weights();
  const auto is_tracked_so = [&](const Variable& variable) {
    return variable.path().ends_with("/" + weight_name);
  };
  auto found = std::ranges::find_if(own, is_tracked_so);
  if (found == own.end()) found = std::ranges::find(own, weight_name, &Variable::name);
  if (found != own.end()) return *found;
  check<FailedPrecondition>(built(),
                            "{} '{}': its weight '{}' doesn't exist yet. Call the layer, or build "
                            "it for the shape of its input.",
                            class_name(), name(), weight_name);
  std::vector<std::string> known;
  for (const Variable& variable : own) known.push_back(variable.name());
  raise<NotFound>("{} '{}' has no weight named '{}'.{}", class_name(), name(), weight_name,
                  did_you_mean(weight_name, known));
}

std::vector<Variable> Layer::weights() const { return collect(is_any, false); }
std::vector<Variable> Layer::trainable_weights() const {
  return trainable() ? collect(is_trainable_weight, false) : std::vector<Variable>();
}
std::vector<Variable> Layer::non_trainable_weights() const {
  return collect(trainable() ? is_frozen_weight : is_any, false);
}
std::vector<Variable> Layer::variables() const { return collect(is_any, true); }
std::vector<Variable> Layer::non_trainable_variables() const {
  return collect(trainable() ? is_frozen_weight : is_any, true);
}

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> values;
  for (const Variable& variable : weights()) {
    const Tensor stored = variable.stored();
    Tensor copy = Tensor::empty(stored.shape(), stored.dtype());
    stored.copy_to_host(copy.mutable_raw());
    values.push_back(std::move(copy));
  }
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values) {
  const std::vector<Variable> all = weights();
  check<InvalidArgument>(
      values.size() == all.size(), "{} '{}': set_weights expected {} tensors, got {}.{}",
      class_name(), name(), all.size(), values.size(),
      all.empty() && !built() ? " The layer isn't built yet: call it first." : "");
  for (size_t i = 0; i < all.size(); ++i) {
    check<InvalidArgument>(values[i].shape() == all[i].shape(),
                           "{} '{}': set_weights expected shape {} for '{}', got {}.", class_name(),
                           name(), all[i].shape(), all[i].path(), values[i].shape());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].store(values[i].dtype() == all[i].dtype() ? values[i]
                                                     : ops::cast(values[i], all[i].dtype()));
  }
}

int64_t Layer::count_params() const {
  int64_t count = 0;
  for (const Variable& variable : weights()) count += variable.num_elements();
  check<FailedPrecondition>(built() || count > 0,
                            "{} '{}': count_params needs its weights, which don't exist yet. Call "
                            "it, or build it with an input shape, first.",
                            class_name(), name());
  return count;
}

}  // namespace cornu
