// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/weights_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/model/saved_parts.h"
#include "framework/model/title.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/legacy_format.h"
#include "framework/saving/weight_paths.h"

namespace cornu {
namespace {

constexpr char kOptimizer[] = "optimizer";
constexpr char kOldRoot[] = "_layer_checkpoint_dependencies";  // in Keras 2.13

Tensor value_of(const Layer& layer, const Variable& weight) {
  const auto parts = saved_parts_of(layer);
  return parts ? parts->saved_value(weight) : weight.stored();
}

SavedParts::Values values_of(const Layer& layer) {
  const auto parts = saved_parts_of(layer);
  return parts ? parts->saved_values() : SavedParts::Values();
}

// The tensors of one group in a file, by their names in it.
struct WeightGroup {
  std::string path;
  std::string name;  // of the layer or optimizer
  std::vector<std::pair<std::string, Tensor>> items;
};

WeightGroup group_of(const std::string& path, const std::string& name,
                     const std::vector<Variable>& variables) {
  WeightGroup group{path, name, {}};
  for (size_t i = 0; i < variables.size(); ++i) {
    group.items.emplace_back(std::to_string(i), variables[i].stored());
  }
  return group;
}

// The complete contents of a weights file, in Keras's order. Values share memory with the
// variables.
std::vector<WeightGroup> groups_of(const Layer& model, const OptimizerState& optimizer,
                                   const SkippedLayers& skipped) {
  std::vector<WeightGroup> groups;
  for (const SavedLayer& saved : weight_paths(model, skipped)) {
    try {
      groups.push_back({saved.vars(), saved.layer->name(), {}});
      for (size_t i = 0; i < saved.weights.size(); ++i) {
        groups.back().items.emplace_back(std::to_string(i),
                                         value_of(*saved.layer, saved.weights[i]));
      }
      for (auto& value : values_of(*saved.layer)) groups.back().items.push_back(std::move(value));
    } catch (Error& error) {
      error.add_place(title_of(*saved.layer));
      throw;
    }
  }
  const auto add_optimizer = [&](const std::string& attribute, const OptimizerState& state) {
    if (state.empty()) return;
    groups.push_back(group_of(attribute + "/vars", state.name, state.variables));
    for (const auto& [group, part] : state.parts) {
      groups.push_back(
          group_of(fmt::format("{}/{}/vars", attribute, group), part.name, part.variables));
    }
  };
  add_optimizer(kOptimizer, optimizer);
  for (const auto& [attribute, other] : optimizer.others) add_optimizer(attribute, other);
  return groups;
}

// Finds the new values of a model's variables before any variable is changed.
class Loading {
 public:
  Loading(const WeightsSource& source, bool skip_mismatch)
      : source_(source), skip_mismatch_(skip_mismatch) {}

  void add_layers(const std::vector<SavedLayer>& layers) {
    for (const SavedLayer& saved : layers) here_.emplace(saved.path, saved.layer);
    for (const SavedLayer& saved : layers) add_layer(saved);
  }

  void add_layer(const SavedLayer& saved) {
    try {
      find_layer(saved);
    } catch (const Error& error) {
      if (!skip_mismatch_) throw;
      skipped_.emplace_back(title_of(*saved.layer), error.what());
    }
  }

  OptimizerRestore add_optimizer(const std::string& attribute, const OptimizerState& optimizer) {
    const OptimizerRestore restored = add_state(attribute, optimizer);
    const OptimizerState* inner = legacy::inner_optimizer(optimizer);
    return inner && restored == OptimizerRestore::Misfit ? add_state(attribute, *inner) : restored;
  }

  void run() const {
    plan_.run();
    for (const auto& [parts, values] : parts_) {
      parts->weights_loaded();
      if (!values.empty()) parts->load_values(values);
    }
    warn_of_places();
    if (skipped_.empty()) return;
    std::vector<std::string> titles;
    for (const auto& [title, why] : skipped_) titles.push_back(title);
    logging::warn(
        fmt::format("{}: {} of the model's objects were skipped, since the file's don't "
                    "fit: {}. Of the first: {}",
                    source_.name(), skipped_.size(), join(titles, ", "), skipped_[0].second));
  }

 private:
  static constexpr const char* kMend =
      "Load it into a model with the layers of the one that was saved, in the same order.";

  struct Found {
    const Hdf5Reader* file;
    std::string path;
    Shape shape() const { return file->describe(path).shape; }
  };
  // Returns an item of a group; throws the reader's NotFound when it doesn't exist.
  Found at(const std::string& group, const std::string& item) const {
    const Hdf5Reader* file = source_.file_of(group, item);
    check<NotFound>(file != nullptr, "{}: '{}/{}': there is no '{}'.", source_.name(), group, item,
                    item);
    return {file, group + "/" + item};
  }

  OptimizerRestore add_state(const std::string& attribute, const OptimizerState& optimizer) {
    const std::string vars = attribute + "/vars";
    if (optimizer.empty()) return OptimizerRestore::NotAsked;
    if (!source_.has(vars)) return OptimizerRestore::NotInFile;
    std::vector<Variable> variables = optimizer.variables;
    // Before any step, there are iterations and the learning rate, or only iterations if the rate
    // follows a schedule.
    size_t stored = source_.count(vars);
    bool is_trained = has_made_steps_in(vars);
    for (const auto& [group, part] : optimizer.parts) {
      is_trained = is_trained || has_made_steps_in(fmt::format("{}/{}/vars", attribute, group));
    }
    if (is_trained && !optimizer.built) return OptimizerRestore::Unbuilt;
    // An optimizer with parts then stores theirs after its own; nothing has been learned.
    if (!is_trained && !optimizer.parts.empty() &&
        stored <= kBeforeSlots * (1 + optimizer.parts.size())) {
      return OptimizerRestore::Done;
    }
    // Keras 2 stores the learning rate only in the config.
    if (stored > 1 && stored + 1 == variables.size() && variables[1].name() == "learning_rate") {
      variables.erase(variables.begin() + 1);
    }
    const auto shape_of = [&](size_t i) { return at(vars, std::to_string(i)).shape(); };
    if (stored != variables.size() && legacy::has_unused_momenta(stored, shape_of, optimizer)) {
      stored = 1;
      variables.resize(1);
    }
    const bool unused = stored > 0 && stored <= kBeforeSlots && stored < variables.size();
    if (stored != variables.size() && (!unused || is_trained)) return OptimizerRestore::Misfit;
    std::vector<Found> found;
    for (size_t i = 0; i < stored; ++i) {
      found.push_back(at(vars, std::to_string(i)));
      if (found[i].shape() != variables[i].shape()) return OptimizerRestore::Misfit;
    }
    for (size_t i = 0; i < stored; ++i) plan_.add(variables[i], *found[i].file, found[i].path);
    return OptimizerRestore::Done;
  }

  // For an optimizer, whose first variable is its counter.
  bool has_made_steps_in(const std::string& group) const {
    const Hdf5Reader* file = source_.file_of(group, "0");
    return file && has_made_steps(*file, group + "/0");
  }

  void find_layer(const SavedLayer& saved) {
    const Layer& layer = *saved.layer;
    for (const std::string& more : saved.beyond) {
      check<InvalidArgument>(!source_.has(more),
                             "{} was saved by a model with more layers like '{}' in {} '{}': which "
                             "of them are this one's isn't known. Name them in its constructor "
                             "with track(\"name\", …), before they are saved.",
                             source_.name(), more, layer.class_name(), layer.name());
    }
    const std::string group = find_group(saved.vars());
    SavedParts::Values values = find_values(layer, group);
    const size_t stored = source_.count(group) - values.size();
    if (stored != saved.weights.size()) {
      raise<InvalidArgument>(
          "{}: {} '{}' expected {} weights at '{}', got {}. {}", source_.name(), layer.class_name(),
          layer.name(), saved.weights.size(), saved.vars(), stored,
          !layer.built() && stored > 0 ? "The layer isn't built yet: call the model first."
          : source_.file_of(group, "0") == nullptr ? advice(group)
                                                   : advice(group, saved));
    }
    std::vector<Found> weights;
    for (size_t i = 0; i < saved.weights.size(); ++i) {
      const Variable& variable = saved.weights[i];
      weights.push_back(at(group, std::to_string(i)));
      const Shape shape = weights[i].shape();
      check<InvalidArgument>(shape == variable.shape(),
                             "{}: {} '{}': weight '{}' expected shape {}, got {} at '{}'. {}",
                             source_.name(), layer.class_name(), layer.name(), variable.name(),
                             variable.shape(), shape, weights[i].path, kMend);
      if (skip_mismatch_) weights[i].file->verify(weights[i].path, shape, variable.dtype());
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      plan_.add(saved.weights[i], *weights[i].file, weights[i].path);
    }
    if (!weights.empty() && is_found_by_number(layer, group)) {
      layers_.push_back({&layer, name_in(*weights[0].file, group)});
    }
    if (auto parts = saved_parts_of(layer)) {
      parts_.emplace_back(std::move(parts), std::move(values));
    }
  }

  // Whether a layer's group is named by its class and number ("layers/dense_2/vars"), not by an
  // attribute ("head/vars").
  static bool is_found_by_number(const Layer& layer, const std::string& group) {
    const std::filesystem::path holder = std::filesystem::path(group).parent_path();
    return number_in(holder.filename().string(), layer.class_name()).has_value();
  }

  // The layer's name when it was saved; empty if the file doesn't contain it.
  static std::string name_in(const Hdf5Reader& file, const std::string& group) {
    try {
      return file.string_attribute(group, "name").value_or("");
    } catch (const InvalidArgument&) {
      return "";
    }
  }

  // For class Dense: 0 for "dense", 2 for "dense_2"; nullopt for names that weren't numbered.
  static std::optional<int64_t> number_in(std::string_view name, const std::string& class_name) {
    const std::string own = to_snake_case(class_name);
    if (!name.starts_with(own)) return std::nullopt;
    name.remove_prefix(own.size());
    if (name.empty()) return 0;
    int64_t number = 0;
    const char* end = name.data() + name.size();
    const bool is_number = name.size() > 1 && name[0] == '_' &&
                           std::from_chars(name.data() + 1, end, number).ptr == end;
    return is_number ? std::optional(number) : std::nullopt;
  }

  // Whether the numbered names of a class's layers are in the same order in file and model. The
  // numbers may start at different values, if other layers were created before.
  bool counted_alike(const std::string& class_name) const {
    std::map<int64_t, int64_t> numbers;  // number in the file -> number in the model
    for (const auto& [layer, name] : layers_) {
      if (layer->class_name() != class_name) continue;
      const auto there = number_in(name, class_name);
      const auto here = number_in(layer->name(), class_name);
      if (there && here) numbers.emplace(*there, *here);
    }
    int64_t last = -1;
    for (const auto& [there, here] : numbers) {
      if (here <= last) return false;
      last = here;
    }
    return true;
  }

  // Files number the layers of a class in Keras's order of the graph. If the name that a layer had
  // belongs to another layer of the model, the models may differ.
  void warn_of_places() const {
    std::map<std::string, const Layer*> by_name;
    for (const auto& [layer, name] : layers_) by_name.emplace(layer->name(), layer);
    for (const auto& [layer, name] : layers_) {
      const auto other = by_name.find(name);
      const std::string class_name = layer->class_name();
      if (name == layer->name() || other == by_name.end() ||
          other->second->class_name() != class_name ||
          (number_in(name, class_name) && number_in(layer->name(), class_name) &&
           counted_alike(class_name))) {
        continue;
      }
      return logging::warn(fmt::format(
          "{}: weights that a layer '{}' had go to {} '{}', as the order of the model's layers has "
          "it, though the model has a layer '{}'. Layers come in the order of their distance from "
          "the outputs, where one of ops:: may count as several: if the models differ in that, "
          "load the whole one (load_model), or put the op into a layer.",
          source_.name(), printable(name), layer->class_name(), layer->name(), printable(name)));
    }
  }

  // Returns the layer's saved values other than weights.
  SavedParts::Values find_values(const Layer& layer, const std::string& group) const {
    SavedParts::Values found;
    for (const auto& [name, like] : values_of(layer)) {
      const std::string path = group + "/" + name;
      const Hdf5Reader* file = source_.file_of(group, name);
      check<InvalidArgument>(file != nullptr,
                             "{}: {} '{}' expected '{}' at '{}', which isn't there. {}",
                             source_.name(), layer.class_name(), layer.name(), name, path, kMend);
      const Shape shape = file->describe(path).shape;
      check<InvalidArgument>(
          shape == like.shape(), "{}: {} '{}': '{}' expected shape {}, got {} at '{}'. {}",
          source_.name(), layer.class_name(), layer.name(), name, like.shape(), shape, path, kMend);
      found.emplace_back(name, file->read(path, shape, like.dtype()));
    }
    return found;
  }

  // In Keras, layers of subclassed models are stored under attribute names; but if attributes sort
  // after "layers", which contains all of them, they are stored there.
  std::string advice(const std::string& group) const {
    std::vector<std::string> attributes;
    for (const std::string& name : source_.children()) {
      const bool known = name == "layers" || name == kOptimizer || name == "vars" ||
                         std::string(kOldRoot).starts_with(name);
      if (!known) attributes.push_back(printable(name));
    }
    const std::string absent = first_absent(group);
    const size_t top = absent.starts_with("layers/") ? absent.find('/') + 1 : 0;
    if (attributes.empty() || absent.find('/', top) != std::string::npos) return advice_for(absent);
    const std::vector<std::string> layers = source_.children("layers");
    if (group.starts_with("layers/") && !layers.empty()) {
      return fmt::format(
          "Its 'layers' holds {}: there, a layer of a subclassed model has the name of its class, "
          "which has to be called as it was.",
          join(layers, ", "));
    }
    return fmt::format(
        "It holds {}: names of a subclassed model's attributes. Give the layers these names in "
        "the constructor, as track(\"{}\", …) does.",
        join(attributes, ", "), attributes[0]);
  }

  // For a layer of which the file has weights, but another number of them.
  std::string advice(const std::string& group, const SavedLayer& saved) const {
    const bool is_stored = source_.file_of(group, "0")->describe(group + "/0").dtype == DType::Int8;
    const bool is_here = !saved.layer->dtype_policy().quantization_mode.empty();
    if (is_stored == is_here) return kMend;
    return is_stored ? "The file's layer is quantized: it has integers for weights. Quantize the "
                       "model in the same way, as by quantize(\"int8\"), before it loads them."
                     : "The model's layer is quantized, the file's isn't. Load the weights before "
                       "the model is quantized.";
  }

  // The first of a group and those around it, from the outside, that the file doesn't have; empty
  // if it has all.
  std::string first_absent(const std::string& group) const {
    for (size_t begin = 0; begin < group.size();) {
      const size_t end = std::min(group.find('/', begin), group.size());
      const std::string parent = begin == 0 ? "" : group.substr(0, begin - 1);
      if (!has_child(parent, group.substr(begin, end - begin))) return group.substr(0, end);
      begin = end + 1;
    }
    return "";
  }

  bool has_child(const std::string& parent, const std::string& name) const {
    const std::vector<std::string> names = source_.children(parent);
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Names what the file has, and the model hasn't, beside a group that the file doesn't have.
  std::string advice_for(const std::string& absent) const {
    if (absent.empty()) return kMend;
    const std::string parent = parent_group(absent);
    std::vector<std::string> others;
    for (const std::string& name : source_.children(parent)) {
      const std::string path = group_in(parent, name);
      if (name != "vars" && name != kOptimizer && !here_.contains(path)) {
        others.push_back(fmt::format("'{}'", printable(path)));
      }
    }
    const auto layer = here_.find(absent);
    if (others.empty() || layer == here_.end()) {
      return fmt::format("The file has no group '{}'. {}", absent, kMend);
    }
    if (others.size() > kMaxNamed) {
      others.resize(kMaxNamed);
      others.push_back("…");
    }
    const bool by_class = is_found_by_number(*layer->second, absent + "/vars");
    return fmt::format(
        "The file has no group '{}'; it has {}, which the model hasn't. {}", absent,
        join(others, ", "),
        by_class ? fmt::format("This one has the name of the class {}: class_name() must return "
                               "the name of the class that was saved.",
                               layer->second->class_name())
                 : "Give the layer the name that it had there, as track(\"name\", …) does.");
  }

  std::string find_group(const std::string& path) const {
    if (source_.has(path) || !path.starts_with("layers/")) return path;
    const std::string old = kOldRoot + path.substr(path.find('/'));
    if (source_.has(old)) return old;
    // In Keras 2, some layers within others are private attributes: "_query_dense".
    std::string found;
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      const std::string name = path.substr(begin, end - begin);
      const std::string group = found.empty() ? "" : found + "/";
      const bool is_private = !source_.has(group + name) && source_.has(group + "_" + name);
      found = group + (is_private ? "_" : "") + name;
      begin = end + 1;
    }
    return source_.has(found) ? found : path;
  }

  static constexpr size_t kMaxNamed = 5;

  const WeightsSource& source_;
  bool skip_mismatch_;
  std::map<std::string, const Layer*> here_;  // the model's layers, by their paths
  ReadPlan plan_;
  std::vector<std::pair<std::shared_ptr<SavedParts>, SavedParts::Values>> parts_;
  std::vector<std::pair<std::string, std::string>> skipped_;  // objects and reasons
  std::vector<std::pair<const Layer*, std::string>> layers_;  // with their names in the file
};

// Splits groups over files: starts a new file when an item would bring a file's items to more than
// `most` bytes.
class Shards {
 public:
  Shards(const std::string& path, uint64_t most) : most_(most) {
    const size_t name = path.rfind('/') + 1;  // 0 without a directory
    folder_ = path.substr(0, name);
    stem_ = path.substr(name, path.size() - name - std::string_view(".weights.json").size());
  }

  void add(const WeightGroup& group) {
    is_made_ = false;
    for (const auto& [item, tensor] : group.items) {
      const uint64_t bytes = tensor.bytes();
      const std::string path = group.path + "/" + item;
      check<InvalidArgument>(bytes <= most_,
                             "'{}' has {} bytes, more than a shard's {}: give max_shard_size a "
                             "larger value.",
                             path, bytes, most_);
      if (bytes > most_ - size_) next_file();
      if (!is_made_) {
        writer_.make_group(group.path);
        writer_.set_attribute(group.path, "name", group.name);
        map_[group.path].push_back(file_name());
        is_made_ = true;
      }
      writer_.write(path, tensor);
      size_ += bytes;
      total_ += bytes;
    }
  }

  // Returns the contents of the .weights.json.
  Json finish() {
    next_file();
    Json map = Json::object();
    for (const auto& [group, files] : map_) {
      Json::Array names(files.begin(), files.end());
      map.set("/" + group, names.size() == 1 ? names[0] : Json(std::move(names)));
    }
    Json metadata = Json::object({{"total_size", static_cast<int64_t>(total_)}});
    return Json::object({{"metadata", std::move(metadata)}, {"weight_map", std::move(map)}});
  }

 private:
  std::string file_name() const { return fmt::format("{}_{:05}.weights.h5", stem_, number_); }

  void next_file() {
    const Hdf5Image image = writer_.take();
    write_file_atomically(folder_ + file_name(), image.pieces);
    writer_ = Hdf5Writer();
    ++number_;
    size_ = 0;
    is_made_ = false;
  }

  uint64_t most_;
  std::string folder_, stem_;
  Hdf5Writer writer_;
  int number_ = 0;
  bool is_made_ = false;  // the current group exists in the current file
  uint64_t size_ = 0, total_ = 0;
  std::map<std::string, std::vector<std::string>> map_;  // files by group
};

}  // namespace

OptimizerRestore load_weights(const WeightsSource& source, const Layer& model,
                              const OptimizerState& optimizer, bool skip_mismatch,
                              const SkippedLayers& skipped) {
  Loading loading(source, skip_mismatch);
  loading.add_layers(weight_paths(model, skipped));
  const OptimizerRestore restored = loading.add_optimizer(kOptimizer, optimizer);
  for (const auto& [attribute, other] : optimizer.others) {
    const OptimizerRestore own = loading.add_optimizer(attribute, other);
    if (own == OptimizerRestore::Unbuilt || own == OptimizerRestore::Misfit) {
      logging::warn(fmt::format(
          "{}: the state of the optimizer '{}' isn't taken, since {}.", source.name(), attribute,
          own == OptimizerRestore::Unbuilt ? "it isn't built here: call its build(variables) before"
                                           : "it is another optimizer's, or of other variables"));
    }
  }
  loading.run();
  return restored;
}

Hdf5Image weights_image(const Layer& model, const OptimizerState& optimizer,
                        const SkippedLayers& skipped) {
  Hdf5Writer writer;
  for (const WeightGroup& group : groups_of(model, optimizer, skipped)) {
    writer.make_group(group.path);
    writer.set_attribute(group.path, "name", group.name);
    for (const auto& [item, tensor] : group.items) writer.write(group.path + "/" + item, tensor);
  }
  return writer.take();
}

OptimizerRestore load_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                         const Layer& model, const OptimizerState& optimizer) {
  return load_weights(WeightsSource::from_bytes(std::move(bytes), name), model, optimizer, false);
}

void save_weights_file(const std::string& path, const Layer& model, const OptimizerState& optimizer,
                       const SkippedLayers& skipped) {
  write_file_atomically(path, weights_image(model, optimizer, skipped).pieces);
}

void save_weights_shards(const std::string& path, uint64_t most, const Layer& model,
                         const OptimizerState& optimizer, const SkippedLayers& skipped) {
  Shards shards(path, most);
  for (const WeightGroup& group : groups_of(model, optimizer, skipped)) shards.add(group);
  write_file_atomically(path, shards.finish().dump());
}

}  // namespace cornu
