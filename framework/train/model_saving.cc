// SPDX-License-Identifier: Apache-2.0
// Models in files: .keras archives and .weights.h5.
#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/io/archive.h"
#include "framework/io/atomic_file.h"
#include "framework/model/weight_limit.h"
#include "framework/saving/assets.h"
#include "framework/saving/weights_file.h"
#include "framework/train/body.h"
#include "framework/train/model_config.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

constexpr char kMetadata[] = "metadata.json";
constexpr char kConfig[] = "config.json";
constexpr char kWeights[] = "model.weights.h5";
constexpr char kKerasVersion[] = "3.15.1";  // whose format this is
constexpr size_t kMostConfig = size_t{64} << 20;
// Neither weights nor configs compress more: an archive that says they did is refused.
constexpr size_t kMostExpansion = 64;

void check_target(const Model& model, const std::string& path, const char* what, const char* ending,
                  const char* advice, const SaveOptions& options) {
  check<InvalidArgument>(path.ends_with(ending),
                         "{}: {} expected a path that ends in '{}', got '{}'. {}", title_of(model),
                         what, ending, path, advice);
  std::error_code ignored;
  check<AlreadyExists>(options.overwrite || !std::filesystem::exists(path, ignored),
                       "{}: '{}' exists already. Remove it, or save with {{.overwrite = true}}.",
                       title_of(model), path);
}

// A Sequential model that starts with an Input has its weights before its first call.
void build_if_known(Model& model) {
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  if (!graph || model.built()) return;
  std::vector<Shape> shapes;
  for (const Tensor& input : graph->inputs()) shapes.push_back(input.shape());
  model.ensure_built(shapes);
}

OptimizerState optimizer_state(const Model& model) {
  if (!model.compiled()) return {};
  const OptimizerImpl& optimizer = model.optimizer().impl();
  const std::string& name = optimizer.name();
  OptimizerState state = {name.empty() ? to_snake_case(optimizer.class_name()) : name,
                          optimizer.variables()};
  for (const auto& [group, part] : optimizer.parts()) {
    state.parts.emplace_back(group, OptimizerState{part.impl().name(), part.variables()});
  }
  return state;
}

void report(OptimizerRestore restored, const Model& model, const std::string& path) {
  if (restored != OptimizerRestore::Misfit) return;
  logging::warn(fmt::format(
      "{}: the optimizer's state in '{}' is another optimizer's, or of other variables; "
      "training goes on with a fresh one.",
      title_of(model), path));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Json read_config(const ArchiveReader& archive, const std::string& path) {
  try {
    const size_t most = std::min(kMostConfig, kMostExpansion * file_size(path));
    return Json::parse(archive.read_text(kConfig, most));
  } catch (Error& error) {
    error.add_place(path + ": " + kConfig);
    throw;
  }
}

// The model that a config describes, with fresh weights.
Model model_from_config(const Json& config, bool compile) {
  const LayerHandle layer = layer_from_json(config);
  const auto* made = dynamic_cast<const Model*>(layer.shared().get());
  check<InvalidArgument>(made != nullptr, "the class '{}' is a layer's; expected a model's.",
                         layer.get().class_name());
  Model model(*made);
  build_if_known(model);
  const Json* build = config.find("build_config");
  const Json* shape = build && build->is_object() ? build->find("input_shape") : nullptr;
  if (shape && shape->is_array() && (!model.built() || !model.body())) {
    model.build(shape->as_shape());
  }
  const Json* arguments = config.find("compile_config");
  if (compile && arguments && arguments->is_object() && arguments->size() > 0) {
    model.compile(compile_options_from_json(*arguments));
  }
  return model;
}

// Runs `make`; what it throws says which part of a file was bad.
template <class F>
auto from_file(const std::string& place, const F& make) {
  try {
    return make();
  } catch (const NotFound& error) {  // a key that isn't there
    raise<DataLoss>("{}: {}", place, error.what());
  } catch (Error& error) {
    error.add_place(place);
    throw;
  }
}

}  // namespace

void Model::save(const std::string& path, const SaveOptions& options) {
  const StrategyScope scope(trainer_->strategy());
  check_target(*this, path, "save", ".keras",
               "Name it 'x.keras'; for the weights alone use save_weights('x.weights.h5').",
               options);
  build_if_known(*this);
  require_built("save");
  const std::string metadata =
      Json::object(
          {{"keras_version", kKerasVersion},
           {"date_saved", fmt::format("{:%Y-%m-%d@%H:%M:%S}", fmt::localtime(std::time(nullptr)))}})
          .dump();
  const std::string config = serialize_model(*this).dump();
  const std::vector<std::byte> weights = weights_to_bytes(*this, optimizer_state(*this));
  if (!get_strategy().is_chief()) return;
  const auto assets = assets_of(*this);
  std::vector<ArchiveMember> members = {
      {kMetadata, bytes_of(metadata)}, {kConfig, bytes_of(config)}, {kWeights, weights}};
  for (const auto& [name, bytes] : assets) members.push_back({name, bytes_of(bytes)});
  write_archive(path, members);
}

void Model::save_weights(const std::string& path, const SaveOptions& options) {
  const StrategyScope scope(trainer_->strategy());
  check_target(*this, path, "save_weights", ".weights.h5",
               "Name it 'x.weights.h5'; for the whole model use save('x.keras').", options);
  build_if_known(*this);
  require_built("save_weights");
  if (!get_strategy().is_chief()) return;
  save_weights_file(path, *this, optimizer_state(*this));
}

void Model::load_weights(const std::string& path) {
  const StrategyScope scope(trainer_->strategy());
  build_if_known(*this);
  if (path.ends_with(".keras")) {
    const ArchiveReader archive(path);
    require_built("load_weights");
    report(load_weights_from_bytes(archive.read(kWeights, kMostExpansion * file_size(path)),
                                   path + ": " + kWeights, *this, optimizer_state(*this)),
           *this, path);
    return;
  }
  const bool legacy = path.ends_with(".h5") || path.ends_with(".hdf5");
  check<InvalidArgument>(legacy,
                         "{}: load_weights expected a path that ends in '.weights.h5', '.keras' or "
                         "'.h5', got '{}'.",
                         title_of(*this), path);
  file_size(path);  // that there is no file is the first thing to be told
  require_built("load_weights");
  if (!path.ends_with(".weights.h5")) {
    load_legacy_weights_file(path, *this);
    return;
  }
  report(load_weights_file(path, *this, optimizer_state(*this)), *this, path);
}

namespace {

Model load_legacy_model(const std::string& path, const LoadOptions& options) {
  const Json config = read_legacy_config(path);
  Model model = from_file(path, [&] {
    const WeightLimit limit(file_size(path));
    return model_from_config(config, options.compile);
  });
  if (!model.built()) return model;
  if (model.compiled()) model.optimizer().impl().build(model.trainable_variables());
  report(load_legacy_weights_file(path, model, optimizer_state(model)), model, path);
  return model;
}

}  // namespace

Model load_model(const std::string& path, const LoadOptions& options) {
  const bool legacy =
      !path.ends_with(".weights.h5") && (path.ends_with(".h5") || path.ends_with(".hdf5"));
  check<InvalidArgument>(legacy || path.ends_with(".keras"),
                         "load_model expected a path that ends in '.keras', '.h5' or '.hdf5', got "
                         "'{}'. Weights alone are loaded into a model with load_weights.",
                         path);
  if (legacy) return load_legacy_model(path, options);
  const ArchiveReader archive(path);
  const Json config = read_config(archive, path);
  std::vector<std::byte> weights = archive.read(kWeights, kMostExpansion * file_size(path));
  Model model = from_file(path + ": " + kConfig, [&] {
    const WeightLimit limit(weights.size());
    return model_from_config(config, options.compile);
  });
  if (!model.built()) return model;
  if (model.compiled()) model.optimizer().impl().build(model.trainable_variables());
  report(load_weights_from_bytes(std::move(weights), path + ": " + kWeights, model,
                                 optimizer_state(model)),
         model, path);
  load_assets(archive, path, kMostExpansion * file_size(path), model);
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

Model clone_model(const Model& model) {
  check<InvalidArgument>(model.body() != nullptr,
                         "clone_model: '{}' is an object of the class {}, which can't be cloned. "
                         "Make another one with make_layer<{}>(…).",
                         model.name(), model.class_name(), model.class_name());
  return model_from_config(serialize_model(model), false);
}

}  // namespace cornu
