// SPDX-License-Identifier: Apache-2.0
// Saving and loading models: .keras archives, .weights.h5, .weights.json, .h5 in the Keras 2
// format, and loading .onnx.
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/model/dictionary_paths.h"
#include "framework/model/weight_limit.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/keras_archive.h"
#include "framework/saving/onnx/reading/importer.h"
#include "framework/saving/weights_file.h"
#include "framework/train/body.h"
#include "framework/train/model_config.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

// Whether a file name denotes a whole model in the Keras 2 format.
bool is_legacy_name(const std::string& path) {
  return !path.ends_with(".weights.h5") && (path.ends_with(".h5") || path.ends_with(".hdf5"));
}

// For the worker that writes: other workers may get here after it has written.
void check_overwrite(const Model& model, const std::string& path, bool overwrite) {
  std::error_code ignored;
  check<AlreadyExists>(
      overwrite || !get_strategy().is_chief() || !std::filesystem::exists(path, ignored),
      "{}: '{}' exists already. Remove it, or save with {{.overwrite = true}}.", title_of(model),
      path);
}

// Without the variables that files of the optimizer omit.
std::vector<Variable> saved(std::vector<Variable> variables, const OptimizerImpl& optimizer) {
  for (const Variable& unsaved : optimizer.unsaved_variables()) {
    std::erase_if(variables, [&](const Variable& one) { return one.id() == unsaved.id(); });
  }
  return variables;
}

OptimizerState state_of(const OptimizerImpl& optimizer) {
  const std::string& name = optimizer.name();
  OptimizerState state = {name.empty() ? to_snake_case(optimizer.class_name()) : name,
                          saved(optimizer.variables(), optimizer)};
  state.built = optimizer.built();
  state.trained = optimizer.trainable_variables();
  for (const auto& [group, part] : optimizer.parts()) {
    OptimizerState inner = {part.impl().name(), saved(part.variables(), optimizer)};
    inner.built = part.impl().built();
    inner.trained = part.impl().trainable_variables();
    state.parts.emplace_back(group, std::move(inner));
  }
  return state;
}

OptimizerState optimizer_state(const Model& model) {
  OptimizerState state;
  if (model.compiled()) state = state_of(model.optimizer().impl());
  for (const auto& [attribute, optimizer] : model.trainer().tracked_optimizers()) {
    state.others.emplace_back(attribute, state_of(optimizer.impl()));
  }
  return state;
}

// What remains of a model without objects_to_skip.
struct Kept {
  OptimizerState optimizer;
  SkippedLayers skipped;
};
Kept kept_of(Model& model, const ObjectsToSkip& objects) {
  Kept kept{optimizer_state(model), {}};
  for (const auto& object : objects) {
    if (const auto* layer = std::get_if<LayerHandle>(&object)) {
      const bool whole = &layer->get() == model.shared_self().get();
      kept.skipped.insert(whole ? &model : &layer->get());
      if (whole) kept.optimizer = {};
    } else {
      const OptimizerImpl* optimizer = &std::get<Optimizer>(object).impl();
      if (model.compiled() && optimizer == &model.optimizer().impl()) {
        auto others = std::move(kept.optimizer.others);
        kept.optimizer = {};
        kept.optimizer.others = std::move(others);
      }
      for (const auto& tracked : model.trainer().tracked_optimizers()) {
        if (&tracked.second.impl() != optimizer) continue;
        std::erase_if(kept.optimizer.others,
                      [&](const auto& one) { return one.first == tracked.first; });
      }
    }
  }
  return kept;
}

void report(OptimizerRestore restored, const Model& model, const std::string& path) {
  if (restored == OptimizerRestore::Unbuilt) {
    logging::warn(
        fmt::format("{}: the optimizer isn't built, so its state in '{}' isn't loaded. To load it, "
                    "call model.optimizer().build(model.trainable_variables()) first, or load a "
                    "whole model with load_model.",
                    title_of(model), path));
  }
  if (restored != OptimizerRestore::Misfit) return;
  logging::warn(
      fmt::format("{}: the optimizer's state in '{}' is another optimizer's, or of other "
                  "variables; training continues with the state that this one has.",
                  title_of(model), path));
}

// For the shape of a single input, a list of shapes, or objects with shapes by input name.
void build_for(Model& model, const Json& input_shape) {
  std::vector<Shape> shapes;
  std::vector<std::string> names;
  if (input_shape.is_object()) {
    for (const auto& [name, shape] : values_by_path(input_shape)) {
      names.push_back(name);
      shapes.push_back(shape.as_shape());
    }
  } else if (input_shape.is_array()) {
    const Json::Array& list = input_shape.as_array();
    if (list.empty() || !list[0].is_array()) return model.build(input_shape.as_shape());
    for (const Json& shape : list) shapes.push_back(shape.as_shape());
  }
  if (shapes.empty()) return;
  model.ensure_built(shapes, names);
  if (model.body()) return;
  std::vector<std::pair<DType, Shape>> types;
  for (const Shape& shape : shapes) types.emplace_back(model.compute_dtype(), shape);
  model.compute_output_types(types, {}, names);
}

}  // namespace

Model model_from_config(const Json& config, bool compile) {
  const LayerHandle layer = layer_from_json(config);
  const auto* made = dynamic_cast<const Model*>(layer.shared().get());
  check<InvalidArgument>(
      made != nullptr,
      "the class '{}' is a layer's; expected a model's. A layer that was saved alone "
      "is loaded by its own class, as layers::FeatureSpace::load does.",
      layer.get().class_name());
  Model model(*made);
  build_if_known(model);
  const Json* build = config.find("build_config");
  const Json* shape = build && build->is_object() ? build->find("input_shape") : nullptr;
  if (shape && (!model.built() || !model.body())) build_for(model, *shape);
  const Json* arguments = config.find("compile_config");
  if (compile && arguments && arguments->is_object() && arguments->size() > 0) {
    model.compile(compile_options_for(model, *arguments));
  }
  return model;
}

void build_if_known(Model& model) {
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  if (!graph || model.built()) return;
  std::vector<Shape> shapes;
  for (const Tensor& input : graph->inputs()) shapes.push_back(input.shape());
  model.ensure_built(shapes);
}

void Model::save(const std::string& path, const SaveOptions& options) {
  const StrategyScope scope(trainer_->strategy());
  const bool legacy = is_legacy_name(path);
  check<InvalidArgument>(legacy || path.ends_with(".keras"),
                         "{}: save expected a path that ends in '.keras', '.h5' or '.hdf5', got "
                         "'{}'. Name it 'x.keras'; for the weights alone use "
                         "save_weights('x.weights.h5').",
                         title_of(*this), path);
  check<InvalidArgument>(
      !legacy || class_name() == "Functional" || class_name() == "Sequential",
      "{}: '{}' would be an HDF5 file, which has functional and Sequential models, not objects of "
      "other classes. Save it as 'x.keras', or its weights as 'x.weights.h5'.",
      title_of(*this), path);
  check_overwrite(*this, path, options.overwrite);
  build_if_known(*this);
  require_built("save");
  const bool whole = !legacy || options.include_optimizer;
  const Json config = whole ? serialize_model(*this) : serialize_architecture(*this);
  require_quantization_in_config(subject(), config);
  const OptimizerState optimizer = whole ? optimizer_state(*this) : OptimizerState();
  if (!legacy) {
    write_keras_archive(path, config, *this, optimizer);
  } else if (get_strategy().is_chief()) {
    save_legacy_model(path, config, *this, optimizer);
  }
}

void Model::save_weights(const std::string& path, const SaveWeightsOptions& options) {
  const StrategyScope scope(trainer_->strategy());
  const bool sharded = options.max_shard_size.has_value();
  constexpr std::string_view kWhole = ".weights.h5", kShards = ".weights.json";
  const bool renamed = sharded && path.ends_with(kWhole);
  const std::string target =
      renamed ? fmt::format("{}{}", path.substr(0, path.size() - kWhole.size()), kShards) : path;
  check<InvalidArgument>(target.ends_with(sharded ? kShards : kWhole),
                         "{}: save_weights expected a path that ends in '{}', got '{}'. {}",
                         title_of(*this), sharded ? kShards : kWhole, path,
                         sharded
                             ? "That file says what shard has what weights."
                             : "Name it 'x.weights.h5'; for the whole model use save('x.keras').");
  check_overwrite(*this, target, options.overwrite);
  constexpr double kGigabyte = 1 << 30;
  constexpr double kMax = 1e9;  // its size in bytes still fits an integer
  const double most = options.max_shard_size.value_or(1);
  check<InvalidArgument>(
      most > 0 && most <= kMax,
      "{}: save_weights expected a max_shard_size in GB, above 0 and at most 1e9, "
      "got {}.",
      title_of(*this), most);
  build_if_known(*this);
  require_built("save_weights");
  if (!get_strategy().is_chief()) return;
  if (renamed) {
    logging::warn(
        fmt::format("{}: with max_shard_size, '{}' is written as '{}', which names the "
                    "shards.",
                    title_of(*this), path, target));
  }
  const Kept kept = kept_of(*this, options.objects_to_skip);
  if (sharded) {
    save_weights_shards(target, static_cast<uint64_t>(most * kGigabyte), *this, kept.optimizer,
                        kept.skipped);
  } else {
    save_weights_file(target, *this, kept.optimizer, kept.skipped);
  }
}

void Model::load_weights(const std::string& path, const LoadWeightsOptions& options) {
  const StrategyScope scope(trainer_->strategy());
  build_if_known(*this);
  // Until version 2.12, Keras wrote HDF5 files under every name, "x.keras" as well.
  const bool older = is_hdf5_file(path) && is_legacy_weights_file(path);
  const bool archived = !older && path.ends_with(".keras");
  const bool modern =
      archived || (!older && (path.ends_with(".weights.h5") || path.ends_with(".weights.json")));
  check<InvalidArgument>(older || modern || path.ends_with(".h5") || path.ends_with(".hdf5"),
                         "{}: load_weights expected a path that ends in '.weights.h5', "
                         "'.weights.json', '.keras' or '.h5', got '{}'.",
                         title_of(*this), path);
  check<InvalidArgument>(!modern || !options.by_name,
                         "{}: by_name is for files of Keras 2 ('.h5'), whose layers have names; "
                         "got '{}'.",
                         title_of(*this), path);
  const bool alone = modern && !archived;
  check<InvalidArgument>(alone || options.objects_to_skip.empty(),
                         "{}: objects_to_skip is for files of weights alone ('.weights.h5', "
                         "'.weights.json'), got '{}'.",
                         title_of(*this), path);
  file_size(path);  // report a missing file first
  if (!modern) {
    require_built("load_weights");
    load_legacy_weights_file(path, *this, {}, {options.by_name, options.skip_mismatch});
    return;
  }
  std::optional<KerasArchive> archive;
  if (archived) archive.emplace(path);
  require_built("load_weights");
  const WeightsSource source = archived ? archive->weights() : WeightsSource::open(path);
  const Kept kept = kept_of(*this, options.objects_to_skip);
  report(cornu::load_weights(source, *this, kept.optimizer, options.skip_mismatch, kept.skipped),
         *this, path);
}

namespace {

Model load_legacy_model(const std::string& path, const LoadOptions& options) {
  const Json config = read_legacy_config(path);
  WeightLimit limit(
      std::max<uint64_t>(file_size(path), Hdf5Reader::open(path).bytes_of_datasets()));
  Model model = from_file(path, [&] { return model_from_config(config, options.compile); });
  if (model.built()) {
    if (model.compiled()) model.optimizer().impl().build(model.trainable_variables());
    report(load_legacy_weights_file(path, model, optimizer_state(model)), model, path);
  }
  limit.finish();
  return model;
}

// Such files contain only prediction: the model isn't compiled.
Model load_onnx_model(const std::string& path) {
  const onnx::ImportedGraph graph = onnx::read_onnx(path);
  Model model = from_file(path, [&] { return Model(graph.inputs, graph.outputs); });
  build_if_known(model);
  return model;
}

}  // namespace

Model load_model(const std::string& path, const LoadOptions& options) {
  const bool legacy = is_legacy_name(path);
  const bool foreign = path.ends_with(".onnx");
  check<InvalidArgument>(legacy || foreign || path.ends_with(".keras"),
                         "load_model expected a path that ends in '.keras', '.h5', '.hdf5' or "
                         "'.onnx', got '{}'. Weights alone are loaded into a model with "
                         "load_weights.",
                         path);
  if (foreign) return load_onnx_model(path);
  if (legacy || is_hdf5_file(path)) return load_legacy_model(path, options);
  const KerasArchive archive(path);
  const Json config = archive.config();
  const WeightsSource weights = archive.weights();
  WeightLimit limit(weights.bytes());
  Model model =
      from_file(archive.config_place(), [&] { return model_from_config(config, options.compile); });
  if (model.built()) {
    if (model.compiled()) model.optimizer().impl().build(model.trainable_variables());
    report(load_weights(weights, model, optimizer_state(model)), model, path);
    archive.load_assets(model);
  }
  limit.finish();
  return model;
}

std::string Model::to_json() const { return serialize_model(*this).dump(); }

Model model_from_json(const std::string& json) {
  const Json config = Json::parse(json);
  return from_file("model_from_json", [&] { return model_from_config(config, true); });
}

Model Model::from_config(const Json& config) {
  return from_file("Model::from_config", [&] { return Model(*functional_from_config(config)); });
}

Sequential Sequential::from_config(const Json& config) {
  return from_file("Sequential::from_config", [&] {
    return Sequential(*std::static_pointer_cast<Sequential>(sequential_from_config(config)));
  });
}

}  // namespace cornu
