// SPDX-License-Identifier: Apache-2.0
// Quantization of models.
#include <functional>
#include <string>
#include <unordered_set>

#include "framework/core/logging.h"
#include "framework/model/title.h"
#include "framework/train/model.h"
#include "framework/train/model_config.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

// Adds the descendants that have no sub-layers, each once.
void add_leaves(const Layer& layer, std::unordered_set<const Layer*>& seen,
                std::vector<std::shared_ptr<Layer>>& leaves) {
  for (const auto& [key, child] : layer.sublayers()) {
    if (!seen.insert(child.get()).second) continue;
    if (child->sublayers().empty()) {
      leaves.push_back(child);
    } else {
      add_leaves(*child, seen, leaves);
    }
  }
}

// Adds the names of the layers that a config marks as quantized.
void add_quantized_names(const Json& json, std::unordered_set<std::string>& names) {
  if (json.is_array()) {
    for (const Json& item : json.as_array()) add_quantized_names(item, names);
  }
  if (!json.is_object()) return;
  const Json* name = json.find("name");
  const Json* dtype = json.find("dtype");
  const Json* policy = dtype && dtype->is_object() ? dtype->find("class_name") : nullptr;
  if (name && name->is_string() && policy &&
      (*policy == Json("QuantizedDTypePolicy") || *policy == Json("Int4DTypePolicy"))) {
    names.insert(name->as_string());
  }
  for (const auto& [key, value] : json.as_object()) add_quantized_names(value, names);
}

}  // namespace

void require_quantization_in_config(const Model& model, const Json& config) {
  std::vector<std::shared_ptr<Layer>> leaves;
  std::unordered_set<const Layer*> seen;
  add_leaves(model, seen, leaves);
  std::unordered_set<std::string> told;
  add_quantized_names(config, told);
  for (const auto& leaf : leaves) {
    check<Unimplemented>(
        leaf->dtype_policy().quantization_mode.empty() || told.contains(leaf->name()),
        "{}: {} within it is quantized, which the config of the layer that has it "
        "doesn't record, so that the file could not be loaded. Save the weights, by save_weights, "
        "and load them into a model that is quantized alike; or exclude that layer with filters.",
        title_of(model), title_of(*leaf));
  }
}

void Model::quantize(const QuantizeOptions& options) {
  Model& model = subject();
  const std::string who = title_of(model);
  const auto config = internal::resolved_config(options, who);
  check<FailedPrecondition>(model.built(),
                            "{}: quantize needs its weights. Call the model first, fit it, or give "
                            "it an Input.",
                            who);
  std::vector<std::shared_ptr<Layer>> leaves;
  std::unordered_set<const Layer*> seen;
  add_leaves(model, seen, leaves);
  std::vector<Quantizable*> chosen;
  for (const auto& leaf : leaves) {
    if (!dynamic_cast<Quantizable*>(leaf.get()) || !options.filters.takes(LayerHandle(leaf))) {
      continue;
    }
    chosen.push_back(&internal::require_quantizable(*leaf, config.mode()));
  }
  if (chosen.empty()) {
    logging::warn(
        fmt::format("{}: quantize changed nothing: no layer {} weights that can be "
                    "quantized.",
                    who, options.filters.given() ? "that filters take has" : "has"));
  }
  const StrategyScope scope(trainer_->strategy());
  std::vector<std::function<void()>> replacements;  // computed before anything is replaced
  for (Quantizable* layer : chosen) replacements.push_back(layer->quantized(config));
  for (const auto& replace : replacements) replace();
  trainer_->forget_steps();
}

}  // namespace cornu
