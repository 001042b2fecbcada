// SPDX-License-Identifier: Apache-2.0
// Weight files of Keras 2, in which keras.applications still publishes its weights: the root (or
// the group "model_weights" of a whole model's file) has the attribute layer_names, each layer's
// group has weight_names. Reference: keras/src/legacy/saving/legacy_h5_format.py.
#include <utility>

#include "framework/saving/hdf5_file.h"
#include "framework/saving/weights_file.h"

namespace cornu {
namespace {

constexpr char kWholeModel[] = "model_weights";
constexpr char kLoadOther[] = "Load it into a model with the layers of the one that was saved.";

// A list that may be cut into "name0", "name1", …, since an attribute has its limits.
std::vector<std::string> names_in(const Hdf5Reader& reader, const std::string& group,
                                  const std::string& name) {
  if (auto whole = reader.strings_attribute(group, name)) return *whole;
  std::vector<std::string> names;
  for (int part = 0;; ++part) {
    const auto more = reader.strings_attribute(group, fmt::format("{}{}", name, part));
    if (!more) return names;
    names.insert(names.end(), more->begin(), more->end());
  }
}

struct StoredLayer {
  std::string name;
  std::vector<std::string> weights;  // paths
};

// Those with weights. A file with more weights than the model has (`most`) isn't read on.
std::vector<StoredLayer> stored_layers(const Hdf5Reader& reader, const std::string& path,
                                       size_t most) {
  std::string prefix;
  std::vector<std::string> names = names_in(reader, "", "layer_names");
  if (names.empty() && reader.is_group(kWholeModel)) {
    prefix = std::string(kWholeModel) + "/";
    names = names_in(reader, kWholeModel, "layer_names");
  }
  check<InvalidArgument>(!names.empty(),
                         "{}: it isn't a weight file of Keras 2, which has an attribute "
                         "'layer_names'. Those of Keras 3 are called '….weights.h5'.",
                         path);
  std::vector<StoredLayer> layers;
  size_t count = 0;
  for (const std::string& name : names) {
    StoredLayer layer{name, names_in(reader, prefix + name, "weight_names")};
    for (std::string& weight : layer.weights) weight = fmt::format("{}{}/{}", prefix, name, weight);
    count += layer.weights.size();
    check<InvalidArgument>(count <= most, "{}: it has more weights than the model's {}. {}", path,
                           most, kLoadOther);
    if (!layer.weights.empty()) layers.push_back(std::move(layer));
  }
  return layers;
}

// In the order of those files.
std::vector<Variable> legacy_order(const Layer& layer) {
  std::vector<Variable> weights = layer.trainable_weights();
  const std::vector<Variable> others = layer.non_trainable_weights();
  weights.insert(weights.end(), others.begin(), others.end());
  return weights;
}

void load_legacy(const Hdf5Reader& reader, const std::string& path, const Layer& model) {
  const auto list = model.saved_list();
  check<InvalidArgument>(list.has_value(),
                         "{}: files of Keras 2 are loaded into functional and Sequential models, "
                         "not into '{}', an object of the class {}.",
                         path, model.name(), model.class_name());
  const auto stored = stored_layers(reader, path, model.weights().size());
  std::vector<const Layer*> layers;
  for (const auto& layer : *list) {
    if (!layer->weights().empty()) layers.push_back(layer.get());
  }
  check<InvalidArgument>(stored.size() == layers.size(),
                         "{}: expected {} layers with weights, as '{}' has, got {}. {}", path,
                         layers.size(), model.name(), stored.size(), kLoadOther);
  std::vector<std::pair<Variable, Tensor>> values;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::vector<Variable> weights = legacy_order(*layers[i]);
    const std::vector<std::string>& paths = stored[i].weights;
    check<InvalidArgument>(paths.size() == weights.size(),
                           "{}: {} '{}' expected {} weights, got {} of the layer '{}'.", path,
                           layers[i]->class_name(), layers[i]->name(), weights.size(), paths.size(),
                           stored[i].name);
    for (size_t k = 0; k < weights.size(); ++k) {
      const Shape shape = reader.describe(paths[k]).shape;
      check<InvalidArgument>(shape == weights[k].shape(),
                             "{}: {} '{}': weight '{}' expected shape {}, got {} at '{}'.", path,
                             layers[i]->class_name(), layers[i]->name(), weights[k].name(),
                             weights[k].shape(), shape, paths[k]);
      values.emplace_back(weights[k], reader.read(paths[k], shape, weights[k].dtype()));
    }
  }
  for (const auto& [variable, value] : values) variable.store(value);
}

OptimizerRestore load_optimizer(const Hdf5Reader& reader, const OptimizerState& optimizer) {
  const std::string group = "optimizer_weights";
  if (!reader.is_group(group)) return OptimizerRestore::NotInFile;
  const std::vector<std::string> names = names_in(reader, group, "weight_names");
  std::vector<Variable> variables = optimizer.variables;
  // Keras 2 has the learning rate in the config alone.
  if (names.size() + 1 == variables.size() && variables[1].name() == "learning_rate") {
    variables.erase(variables.begin() + 1);
  }
  if (names.size() != variables.size()) return OptimizerRestore::Misfit;
  std::vector<Tensor> values;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string path = group + "/" + names[i];
    const Variable& variable = variables[i];
    if (reader.describe(path).shape != variable.shape()) return OptimizerRestore::Misfit;
    values.push_back(reader.read(path, variable.shape(), variable.dtype()));
  }
  for (size_t i = 0; i < values.size(); ++i) variables[i].store(values[i]);
  return OptimizerRestore::Done;
}

}  // namespace

void load_legacy_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                    const Layer& model) {
  load_legacy(Hdf5Reader::from_bytes(std::move(bytes), name), name, model);
}

OptimizerRestore load_legacy_weights_file(const std::string& path, const Layer& model,
                                          const OptimizerState& optimizer) {
  const Hdf5Reader reader = Hdf5Reader::open(path);
  load_legacy(reader, path, model);
  return optimizer.empty() ? OptimizerRestore::NotAsked : load_optimizer(reader, optimizer);
}

}  // namespace cornu
