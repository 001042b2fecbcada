// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/weights_file.h"

#include <fmt/format.h>

#include <utility>

#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/model/saved_parts.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/weight_paths.h"

namespace cornu {
namespace {

constexpr char kOptimizer[] = "optimizer";
constexpr char kOldRoot[] = "_layer_checkpoint_dependencies";  // of Keras 2.13

std::string item(const std::string& group, size_t index) {
  return fmt::format("{}/{}", group, index);
}

SavedParts::Values values_of(const Layer& layer) {
  const auto parts = saved_parts_of(layer);
  return parts ? parts->saved_values() : SavedParts::Values();
}

void write_group(Hdf5Writer& writer, const std::string& group, const std::string& name,
                 const std::vector<Variable>& variables) {
  writer.make_group(group);
  writer.set_attribute(group, "name", name);
  for (size_t i = 0; i < variables.size(); ++i) {
    writer.write(item(group, i), variables[i].stored());
  }
}

// Values for variables, read before any of them is set.
class Loading {
 public:
  Loading(const Hdf5Reader& reader, std::string file) : reader_(reader), file_(std::move(file)) {}

  void read_layer(const SavedLayer& saved) {
    const Layer& layer = *saved.layer;
    for (const std::string& more : saved.beyond) {
      check<InvalidArgument>(!reader_.is_group(more),
                             "{}: it was saved by a model with more layers like '{}' in {} '{}': "
                             "which of them are this one's isn't known. Name them in its "
                             "constructor with track(\"name\", …), before they are saved.",
                             file_, more, layer.class_name(), layer.name());
    }
    const std::string group = find_group(saved.vars());
    const size_t stored = read_values(layer, group);
    check<InvalidArgument>(
        stored == saved.weights.size(), "{}: {} '{}' expected {} weights at '{}', got {}. {}",
        file_, layer.class_name(), layer.name(), saved.weights.size(), saved.vars(), stored,
        layer.built() || stored == 0 ? advice()
                                     : "The layer isn't built yet: call the model first.");
    for (size_t i = 0; i < saved.weights.size(); ++i) {
      const Variable& variable = saved.weights[i];
      const auto found = reader_.describe(item(group, i));
      check<InvalidArgument>(found.shape == variable.shape(),
                             "{}: {} '{}': weight '{}' expected shape {}, got {} at '{}'. {}",
                             file_, layer.class_name(), layer.name(), variable.name(),
                             variable.shape(), found.shape, item(group, i), kMend);
      values_.emplace_back(variable,
                           reader_.read(item(group, i), variable.shape(), variable.dtype()));
    }
  }

  // Those that the layer has beside weights. How many weights there are.
  size_t read_values(const Layer& layer, const std::string& group) {
    const SavedParts::Values wanted = values_of(layer);
    SavedParts::Values found;
    for (const auto& [name, like] : wanted) {
      const std::string path = group + "/" + name;
      check<InvalidArgument>(reader_.is_dataset(path),
                             "{}: {} '{}' expected '{}' at '{}', which isn't "
                             "there. {}",
                             file_, layer.class_name(), layer.name(), name, path, kMend);
      const Shape shape = reader_.describe(path).shape;
      check<InvalidArgument>(
          shape == like.shape(), "{}: {} '{}': '{}' expected shape {}, got {} at '{}'. {}", file_,
          layer.class_name(), layer.name(), name, like.shape(), shape, path, kMend);
      found.emplace_back(name, reader_.read(path, shape, like.dtype()));
    }
    const size_t weights = count(group) - found.size();
    if (!found.empty()) parts_.emplace_back(saved_parts_of(layer), std::move(found));
    return weights;
  }

  OptimizerRestore read_optimizer(const OptimizerState& optimizer) {
    if (optimizer.empty()) return OptimizerRestore::NotAsked;
    const std::string group = std::string(kOptimizer) + "/vars";
    if (!reader_.is_group(group)) return OptimizerRestore::NotInFile;
    const auto& variables = optimizer.variables;
    // Of an optimizer that has made no step yet, Keras saves iterations and learning rate alone, or
    // iterations where the rate follows a schedule.
    constexpr size_t kBeforeSlots = 2;
    const size_t stored = count(group);
    // One with parts has theirs behind its own then, and nothing that was learned.
    if (!optimizer.parts.empty() && stored <= kBeforeSlots * (1 + optimizer.parts.size())) {
      return OptimizerRestore::Done;
    }
    const bool unused = stored > 0 && stored <= kBeforeSlots && stored < variables.size();
    if (stored != variables.size() && !unused) return OptimizerRestore::Misfit;
    for (size_t i = 0; i < stored; ++i) {
      const auto found = reader_.describe(item(group, i));
      if (found.shape != variables[i].shape()) return OptimizerRestore::Misfit;
    }
    for (size_t i = 0; i < stored; ++i) {
      values_.emplace_back(
          variables[i], reader_.read(item(group, i), variables[i].shape(), variables[i].dtype()));
    }
    return OptimizerRestore::Done;
  }

  void assign() const {
    for (const auto& [variable, value] : values_) variable.store(value);
    for (const auto& [parts, values] : parts_) parts->load_values(values);
  }

 private:
  static constexpr const char* kMend =
      "Load it into a model with the layers of the one that was saved, in the same order.";

  // Subclassed models of Keras have their layers under the names of attributes.
  std::string advice() const {
    std::vector<std::string> attributes;
    for (const std::string& name : reader_.children("/")) {
      const bool known = name == "layers" || name == kOptimizer || name == "vars" ||
                         std::string(kOldRoot).starts_with(name);
      if (!known) attributes.push_back(printable(name));
    }
    if (attributes.empty()) return kMend;
    return fmt::format(
        "It holds {}: names of a subclassed model's attributes. Give the layers these names in "
        "the constructor, as track(\"{}\", …) does.",
        join(attributes, ", "), attributes[0]);
  }

  std::string find_group(const std::string& path) const {
    if (reader_.is_group(path) || !path.starts_with("layers/")) return path;
    const std::string old = kOldRoot + path.substr(path.find('/'));
    return reader_.is_group(old) ? old : path;
  }

  size_t count(const std::string& group) const {
    return reader_.is_group(group) ? reader_.children(group).size() : 0;
  }

  const Hdf5Reader& reader_;
  std::string file_;
  std::vector<std::pair<Variable, Tensor>> values_;
  std::vector<std::pair<std::shared_ptr<SavedParts>, SavedParts::Values>> parts_;
};

OptimizerRestore load(const Hdf5Reader& reader, const std::string& name, const Layer& model,
                      const OptimizerState& optimizer) {
  Loading loading(reader, name);
  for (const SavedLayer& saved : weight_paths(model)) loading.read_layer(saved);
  const OptimizerRestore restored = loading.read_optimizer(optimizer);
  loading.assign();
  return restored;
}

}  // namespace

std::vector<std::byte> weights_to_bytes(const Layer& model, const OptimizerState& optimizer) {
  Hdf5Writer writer;
  for (const SavedLayer& saved : weight_paths(model)) {
    try {
      write_group(writer, saved.vars(), saved.layer->name(), saved.weights);
      for (const auto& [name, value] : values_of(*saved.layer)) {
        writer.write(saved.vars() + "/" + name, value);
      }
    } catch (Error& error) {
      error.add_place(fmt::format("{} '{}'", saved.layer->class_name(), saved.layer->name()));
      throw;
    }
  }
  if (!optimizer.empty()) {
    write_group(writer, std::string(kOptimizer) + "/vars", optimizer.name, optimizer.variables);
    for (const auto& [group, part] : optimizer.parts) {
      write_group(writer, fmt::format("{}/{}/vars", kOptimizer, group), part.name, part.variables);
    }
  }
  return writer.take_bytes();
}

OptimizerRestore load_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                         const Layer& model, const OptimizerState& optimizer) {
  return load(Hdf5Reader::from_bytes(std::move(bytes), name), name, model, optimizer);
}

OptimizerRestore load_weights_file(const std::string& path, const Layer& model,
                                   const OptimizerState& optimizer) {
  return load(Hdf5Reader::open(path), path, model, optimizer);
}

void save_weights_file(const std::string& path, const Layer& model,
                       const OptimizerState& optimizer) {
  const std::vector<std::byte> bytes = weights_to_bytes(model, optimizer);
  write_file_atomically(path, bytes);
}

}  // namespace cornu
