// SPDX-License-Identifier: Apache-2.0
// Weight files in the Keras 2 format, which keras.applications still uses to publish weights.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/model/title.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/legacy_format.h"
#include "framework/saving/weights_file.h"

namespace cornu {

std::string legacy::part_of_names(const char* name, size_t part) {
  return fmt::format("{}{}", name, part);
}

std::vector<Variable> legacy::weights_of(const Layer& layer) {
  std::vector<Variable> weights = layer.trainable_weights();
  const std::vector<Variable> others = layer.non_trainable_weights();
  weights.insert(weights.end(), others.begin(), others.end());
  return weights;
}

std::vector<Variable> legacy::own_weights_of(const Layer& model) {
  return model.own_weights_in_order();
}

bool legacy::has_unused_momenta(size_t stored, const std::function<Shape(size_t)>& shape_of,
                                const OptimizerState& optimizer) {
  const std::vector<Variable>& trained = optimizer.trained;
  if (trained.empty() || stored != trained.size() + 1) return false;
  if (optimizer.variables.size() > kBeforeSlots) return false;
  for (size_t i = 0; i < trained.size(); ++i) {
    if (shape_of(i + 1) != trained[i].shape()) return false;
  }
  return true;
}

const OptimizerState* legacy::inner_optimizer(const OptimizerState& optimizer) {
  const auto& parts = optimizer.parts;
  return parts.size() == 1 && parts[0].first == "inner_optimizer" ? &parts[0].second : nullptr;
}

namespace {

constexpr char kLoadOther[] = "Load it into a model with the layers of the one that was saved.";

std::vector<std::string> names_in(const Hdf5Reader& reader, const std::string& group,
                                  const char* name) {
  if (auto whole = reader.strings_attribute(group, name)) return *whole;
  std::vector<std::string> names;
  for (size_t part = 0;; ++part) {
    const auto more = reader.strings_attribute(group, legacy::part_of_names(name, part));
    if (!more) return names;
    names.insert(names.end(), more->begin(), more->end());
  }
}

struct StoredLayer {
  std::string name;
  size_t number;                     // index in the file's list
  std::vector<std::string> weights;  // paths
};

class LegacyLoading {
 public:
  LegacyLoading(const Hdf5Reader& reader, const std::string& path, const Layer& model,
                const LegacyOptions& options)
      : reader_(reader), path_(path), model_(model), options_(options) {
    names_ = names_in(reader, "", legacy::kLayerNames);
    if (names_.empty() && reader.is_group(legacy::kWholeModel)) {
      prefix_ = std::string(legacy::kWholeModel) + "/";
      names_ = names_in(reader, legacy::kWholeModel, legacy::kLayerNames);
    }
    check<InvalidArgument>(!names_.empty(),
                           "{}: it isn't a weight file of Keras 2, which has an attribute "
                           "'layer_names'. Those of Keras 3 are called '….weights.h5'.",
                           path);
    const auto list = model.saved_list();
    check<InvalidArgument>(list.has_value(),
                           "{}: files of Keras 2 are loaded into functional and Sequential models, "
                           "not into '{}', an object of the class {}.",
                           path, model.name(), model.class_name());
    layers_ = *list;
  }

  void run() {
    options_.by_name ? find_by_name() : find_by_order();
    find_top_level();
    plan_.run();
  }

 private:
  StoredLayer stored_layer(size_t number) const {
    const std::string& name = names_[number];
    StoredLayer layer{name, number, names_in(reader_, prefix_ + name, legacy::kWeightNames)};
    for (std::string& weight : layer.weights) {
      weight = fmt::format("{}{}/{}", prefix_, name, weight);
    }
    return layer;
  }

  // Considers layers with weights. Stops reading a file with more weights than the model has.
  void find_by_order() {
    size_t most = 0;  // a weight counts in each layer that has it
    for (const auto& layer : layers_) most += layer->weights().size();
    std::vector<StoredLayer> stored;
    size_t count = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      StoredLayer layer = stored_layer(i);
      count += layer.weights.size();
      check<InvalidArgument>(count <= most, "{} has more weights than the model's {}. {}", path_,
                             most, kLoadOther);
      if (!layer.weights.empty()) stored.push_back(std::move(layer));
    }
    std::erase_if(layers_, [](const auto& layer) { return layer->weights().empty(); });
    check<InvalidArgument>(stored.size() == layers_.size(),
                           "{}: expected {} layers with weights, as '{}' has, got {}. {}", path_,
                           layers_.size(), model_.name(), stored.size(), kLoadOther);
    for (size_t i = 0; i < stored.size(); ++i) {
      const Layer& layer = *layers_[i];
      const std::vector<Variable> weights = legacy::weights_of(layer);
      check<InvalidArgument>(stored[i].weights.size() == weights.size(),
                             "{}: {} '{}' expected {} weights, got {} of the layer '{}'.", path_,
                             layer.class_name(), layer.name(), weights.size(),
                             stored[i].weights.size(), stored[i].name);
      add(title_of(layer), weights, stored[i].weights);
    }
  }

  void find_by_name() {
    std::map<std::string, std::vector<const Layer*>> known;
    for (const auto& layer : layers_) known[layer->name()].push_back(layer.get());
    const std::set<std::string> stored_names(names_.begin(), names_.end());
    std::set<std::string> seen;
    for (size_t i = 0; i < names_.size(); ++i) {
      auto found = known.find(names_[i]);
      const std::string modern = legacy::modern_name(names_[i]);
      if (!stored_names.contains(modern)) found = known.find(modern);
      if (found == known.end()) continue;
      check<InvalidArgument>(seen.insert(found->first).second, "{} has the layer '{}' twice.",
                             path_, printable(names_[i]));
      const StoredLayer stored = stored_layer(i);
      for (const Layer* layer : found->second) {
        const std::vector<Variable> weights = legacy::weights_of(*layer);
        if (!expect_count(title_of(*layer), weights.size(), stored.weights.size())) continue;
        add(title_of(*layer), weights, stored.weights);
      }
    }
  }

  // The model's own weights, excluding those of its layers.
  void find_top_level() {
    const std::string group = prefix_ + legacy::kTopLevel;
    if (!reader_.is_group(group)) return;
    std::vector<std::string> stored = names_in(reader_, group, legacy::kWeightNames);
    for (std::string& weight : stored) weight = group + "/" + weight;
    const std::vector<Variable> weights = legacy::own_weights_of(model_);
    const std::string title = title_of(model_);
    const bool fits = options_.by_name ? expect_count(title, weights.size(), stored.size())
                                       : expect_count(title, weights.size(), stored.size(), false);
    if (fits) add(title, weights, stored);
  }

  // Whether the counts match; otherwise throws an error or, with skip_mismatch, logs a warning.
  bool expect_count(const std::string& title, size_t wanted, size_t found, bool may_skip = true) {
    if (wanted == found) return true;
    return misfit(fmt::format("{}: {} expected {} weights, got {}", path_, title, wanted, found),
                  may_skip);
  }

  bool misfit(const std::string& what, bool may_skip = true) const {
    check<InvalidArgument>(options_.skip_mismatch && may_skip, "{}.", what);
    logging::warn(what + ": skipped.");
    return false;
  }

  void add(const std::string& title, const std::vector<Variable>& weights,
           const std::vector<std::string>& paths) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const Shape shape = reader_.describe(paths[i]).shape;
      if (shape == weights[i].shape()) {
        plan_.add(weights[i], reader_, paths[i]);
      } else {
        misfit(fmt::format("{}: {}: weight '{}' expected shape {}, got {} at '{}'", path_, title,
                           weights[i].name(), weights[i].shape(), shape, paths[i]));
      }
    }
  }

  const Hdf5Reader& reader_;
  const std::string& path_;
  const Layer& model_;
  LegacyOptions options_;
  std::string prefix_;
  std::vector<std::string> names_;  // of the file's layers
  std::vector<std::shared_ptr<Layer>> layers_;
  ReadPlan plan_;
};

// The optimizers of Keras 2 before 2.11 (tf.keras.optimizers.legacy) store one slot of all
// variables after another slot of all; Keras 3 alternates these two.
std::vector<std::string> in_keras_3_order(const std::vector<std::string>& names) {
  if (names.empty() || !names[0].ends_with("/iter:0")) return names;
  for (const auto& [before, after] :
       {std::pair("/m:0", "/v:0"), std::pair("/accum_grad:0", "/accum_var:0")}) {
    std::vector<std::string> later;
    for (const std::string& name : names) {
      if (name.ends_with(after)) later.push_back(name);
    }
    std::vector<std::string> result;
    size_t next = 0;
    for (const std::string& name : names) {
      if (name.ends_with(after)) continue;
      result.push_back(name);
      if (name.ends_with(before) && next < later.size()) result.push_back(later[next++]);
    }
    if (next > 0 && result.size() == names.size()) return result;
  }
  return names;
}

OptimizerRestore load_state(const Hdf5Reader& reader, const OptimizerState& optimizer) {
  const std::string group = legacy::kOptimizer;
  if (!reader.is_group(group)) return OptimizerRestore::NotInFile;
  std::vector<std::string> names = in_keras_3_order(names_in(reader, group, legacy::kWeightNames));
  const bool is_trained = std::ranges::any_of(names, [&](const std::string& name) {
    const bool counts = name.substr(name.rfind('/') + 1).starts_with("iter");
    return counts && has_made_steps(reader, group + "/" + name);
  });
  if (is_trained && !optimizer.built) return OptimizerRestore::Unbuilt;
  std::vector<Variable> variables = optimizer.variables;
  // Before any step, there are iterations, and the learning rate unless it is only in the config.
  // Parts store theirs after these.
  if (!is_trained && !optimizer.parts.empty() &&
      names.size() <= kBeforeSlots * (1 + optimizer.parts.size())) {
    return OptimizerRestore::Done;
  }
  const bool has_rate = names.size() > 1 && names[1].find("learning_rate") != std::string::npos;
  const bool unused = names.size() <= (has_rate ? kBeforeSlots : 1) &&  //
                      names.size() < variables.size();
  if (unused && !is_trained)
    variables.erase(variables.begin() + std::ssize(names), variables.end());
  // Keras 2 stores the learning rate only in the config.
  if (!has_rate && names.size() + 1 == variables.size() && variables[1].name() == "learning_rate") {
    variables.erase(variables.begin() + 1);
  }
  const auto shape_of = [&](size_t i) { return reader.describe(group + "/" + names[i]).shape; };
  if (names.size() != variables.size() &&
      legacy::has_unused_momenta(names.size(), shape_of, optimizer)) {
    names.resize(1);
    variables.resize(1);
  }
  if (names.size() != variables.size()) return OptimizerRestore::Misfit;
  ReadPlan plan;
  for (size_t i = 0; i < names.size(); ++i) {
    if (shape_of(i) != variables[i].shape()) return OptimizerRestore::Misfit;
    plan.add(variables[i], reader, group + "/" + names[i]);
  }
  plan.run();
  return OptimizerRestore::Done;
}

OptimizerRestore load_optimizer(const Hdf5Reader& reader, const OptimizerState& optimizer) {
  const OptimizerRestore restored = load_state(reader, optimizer);
  const OptimizerState* inner = legacy::inner_optimizer(optimizer);
  return inner && restored == OptimizerRestore::Misfit ? load_state(reader, *inner) : restored;
}

}  // namespace

bool is_legacy_weights_file(const std::string& path) {
  const Hdf5Reader reader = Hdf5Reader::open(path);
  return reader.is_group(legacy::kWholeModel) || !names_in(reader, "", legacy::kLayerNames).empty();
}

void load_legacy_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                    const Layer& model, const LegacyOptions& options) {
  const Hdf5Reader reader = Hdf5Reader::from_bytes(std::move(bytes), name);
  LegacyLoading(reader, name, model, options).run();
}

OptimizerRestore load_legacy_weights_file(const std::string& path, const Layer& model,
                                          const OptimizerState& optimizer,
                                          const LegacyOptions& options) {
  const Hdf5Reader reader = Hdf5Reader::open(path);
  LegacyLoading(reader, path, model, options).run();
  return optimizer.empty() ? OptimizerRestore::NotAsked : load_optimizer(reader, optimizer);
}

}  // namespace cornu
