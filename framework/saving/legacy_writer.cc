// SPDX-License-Identifier: Apache-2.0
// Writes whole models to HDF5 files in the Keras 2 format, as Keras 3 still does.
#include <algorithm>
#include <set>
#include <utility>

#include "framework/io/atomic_file.h"
#include "framework/model/functional.h"
#include "framework/model/title.h"
#include "framework/ops/math.h"
#include "framework/saving/assets.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/legacy_format.h"
#include "framework/saving/weights_file.h"

namespace cornu {
namespace {

constexpr char kKernelOrder[] = "tensorflow";  // "backend": determines the axis order of weights

class LegacyWriter {
 public:
  void write_configs(const Json& config) {
    writer_.set_attribute("", "keras_version", kKerasVersion);
    writer_.set_attribute("", "backend", kKernelOrder);
    const legacy::Configs configs = legacy::configs_of(config);
    writer_.set_attribute("", "model_config", configs.model.dump());
    if (configs.training) writer_.set_attribute("", "training_config", configs.training->dump());
  }

  void write_layers(const Layer& model, std::vector<std::shared_ptr<Layer>> layers) {
    std::vector<std::string> names;
    for (const auto& layer : layers) names.push_back(layer->name());
    writer_.make_group(legacy::kWholeModel);
    write_names(legacy::kWholeModel, legacy::kLayerNames, names);
    writer_.set_attribute(legacy::kWholeModel, "backend", kKernelOrder);
    writer_.set_attribute(legacy::kWholeModel, "keras_version", kKerasVersion);
    // A group must precede the groups within it.
    std::sort(layers.begin(), layers.end(),
              [](const auto& a, const auto& b) { return a->name() < b->name(); });
    for (const auto& layer : layers) {
      write_part(*layer, group_in_model(layer->name()), legacy::weights_of(*layer));
    }
    write_part(model, group_in_model(legacy::kTopLevel), legacy::own_weights_of(model));
  }

  void write_group(const std::string& group, const std::vector<Variable>& variables) {
    writer_.make_group(group);
    std::vector<std::string> names;
    std::set<std::string> taken;
    for (const Variable& variable : variables) {
      std::string name = variable.path();
      for (int n = 1; !taken.insert(name).second; ++n) {
        name = fmt::format("{}_{}", variable.path(), n);
      }
      names.push_back(std::move(name));
    }
    write_names(group, legacy::kWeightNames, names);
    for (size_t i = 0; i < variables.size(); ++i) {
      writer_.write(group + "/" + names[i], readable(variables[i].stored()));
    }
  }

  Hdf5Image take() { return writer_.take(); }

 private:
  // Converts bfloat16, which Keras doesn't read from such files, to the same numbers in float32.
  static Tensor readable(const Tensor& value) {
    return value.dtype() == DType::BFloat16 ? ops::cast(value, DType::Float32) : value;
  }

  static std::string group_in_model(const std::string& name) {
    return fmt::format("{}/{}", legacy::kWholeModel, name);
  }

  void write_part(const Layer& layer, const std::string& group,
                  const std::vector<Variable>& weights) {
    try {
      write_group(group, weights);
    } catch (Error& error) {
      error.add_place(title_of(layer));
      throw;
    }
  }

  // Splits the names into as few parts as necessary, longer ones first, like NumPy's array_split.
  void write_names(const std::string& group, const char* attribute,
                   const std::vector<std::string>& names) {
    size_t longest = 1;
    for (const std::string& name : names) longest = std::max(longest, name.size());
    check<InvalidArgument>(longest <= Hdf5Writer::kMaxInList,
                           "'{}': a name of {} bytes is longer than {}, the most that an HDF5 "
                           "attribute holds. Give it a shorter name.",
                           group, longest, Hdf5Writer::kMaxInList);
    const size_t room = Hdf5Writer::kMaxInList / longest;
    if (names.size() <= room) return writer_.set_attribute(group, attribute, names);
    const size_t parts = (names.size() + room - 1) / room;
    auto next = names.begin();
    for (size_t part = 0; part < parts; ++part) {
      const size_t count = names.size() / parts + (part < names.size() % parts ? 1 : 0);
      const auto end = next + static_cast<int64_t>(count);
      writer_.set_attribute(group, legacy::part_of_names(attribute, part),
                            std::vector<std::string>(next, end));
      next = end;
    }
  }

  Hdf5Writer writer_;
};

// Ops aren't layers in Keras.
std::vector<std::shared_ptr<Layer>> layers_of(const Layer& model) {
  auto layers = model.saved_list().value();
  std::erase_if(layers, [](const auto& layer) { return is_operation(*layer); });
  return layers;
}

}  // namespace

void save_legacy_model(const std::string& path, const Json& config, const Layer& model,
                       const OptimizerState& optimizer) {
  if (const auto assets = assets_of(model); !assets.empty()) {
    raise<InvalidArgument>(
        "{}: HDF5 files have no place for '{}', which a layer has learned from data. Save the "
        "model as 'x.keras', or give the layer its vocabulary when it is made.",
        path, assets[0].first);
  }
  LegacyWriter writer;
  writer.write_configs(config);
  writer.write_layers(model, layers_of(model));
  if (!optimizer.empty()) writer.write_group(legacy::kOptimizer, optimizer.variables);
  write_file_atomically(path, writer.take().pieces);
}

}  // namespace cornu
