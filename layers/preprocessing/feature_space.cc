// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/feature_space.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "framework/core/strings.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/model/weight_limit.h"
#include "framework/ops/ops.h"
#include "framework/saving/keras_archive.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/adaptable.h"
#include "layers/preprocessing/category_encoding.h"
#include "layers/preprocessing/category_output.h"
#include "layers/preprocessing/discretization.h"
#include "layers/preprocessing/feature_layers.h"
#include "layers/preprocessing/hashed_crossing.h"
#include "layers/preprocessing/hashing.h"
#include "layers/preprocessing/integer_lookup.h"
#include "layers/preprocessing/normalization.h"
#include "layers/preprocessing/rescaling.h"
#include "layers/preprocessing/string_lookup.h"

namespace cornu::layers {
namespace {

constexpr char kOneHot[] = "one_hot";

std::string name_of_layer(const std::string& feature, const char* type) {
  return (feature.empty() ? unique_name(type) : feature) + "_preprocessor";
}

// ---- data to adapt to ----

using UseBatch = std::function<void(const Tensor&)>;

// A batch of a column, as expected by adapt of a feature's layer: (batch, 1), or more axes.
Tensor as_column(const Tensor& values) {
  return values.rank() == 1 ? ops::expand_dims(values, -1) : values;
}

// Splits a column of examples into the batches that a dataset of rows would produce.
void give_rows(const Tensor& column, int64_t together, const UseBatch& use) {
  check<InvalidArgument>(column.rank() > 0, "FeatureSpace: adapt expected columns, got a scalar.");
  const int64_t rows = column.dim(0);
  const int64_t step = column.rank() == 1 ? together : 1;
  for (int64_t row = 0; row < rows; row += step) {
    const Tensor part = column.rows(row, std::min(row + step, rows));
    use(as_column(column.rank() == 1 ? part : part.with_shape(part.shape().slice(1))));
  }
}

// ---- files ----

Json serialized_part(const char* class_name, Json config) {
  return Json::object({{"module", kFeatureModule},
                       {"class_name", class_name},
                       {"config", std::move(config)},
                       {"registered_name", class_name}});
}

Json serialize(const Feature& feature) {
  return serialized_part(
      "Feature", Json::object({{"dtype", to_string(feature.dtype())},
                               {"preprocessor", serialize_layer(feature.preprocessor().get())},
                               {"output_mode", feature.output_mode()}}));
}

Json serialize(const Cross& cross) {
  return serialized_part("Cross",
                         Json::object({{"feature_names", Json::Array(cross.feature_names().begin(),
                                                                     cross.feature_names().end())},
                                       {"crossing_dim", *cross.crossing_dim()},
                                       {"output_mode", cross.output_mode()}}));
}

Feature feature_from_json(const Json& json) {
  if (json.is_string()) return json.as_string();
  const Json& config = json.at("config");
  return {dtype_from_string(config.at("dtype").as_string()),
          layer_from_json(config.at("preprocessor")), config.at("output_mode").as_string()};
}

Cross cross_from_json(const Json& json, int64_t crossing_dim) {
  if (json.is_array()) return {json.as_strings(), crossing_dim};
  const Json& config = json.at("config");
  return {config.at("feature_names").as_strings(), config.at("crossing_dim").as_int(),
          config.at("output_mode").as_string()};
}

// ---- the layer ----

// The number of classes that a layer distinguishes; nullopt if unknown.
std::optional<int64_t> categories_of(const LayerHandle& layer) {
  const std::string name = layer.get().class_name();
  if (name == "StringLookup") return StringLookup::of(layer).vocabulary_size();
  if (name == "IntegerLookup") return IntegerLookup::of(layer).vocabulary_size();
  const Json config = layer.get_config();
  if (name == "CategoryEncoding") return config.at("num_tokens").as_int();
  if (name == "Hashing" || name == "HashedCrossing") return config.at("num_bins").as_int();
  if (name != "Discretization") return {};
  const Json& bins = config.at("num_bins");
  return bins.is_null() ? static_cast<int64_t>(config.at("bin_boundaries").size()) + 1
                        : bins.as_int();
}

class FeatureSpaceLayer : public KerasLayer {
 public:
  explicit FeatureSpaceLayer(const FeatureSpaceOptions& options)
      : KerasLayer("FeatureSpace", {.name = options.name}), options_(options) {
    require(!options.features.empty(), "expected features, got none.");
    check_one_of(label(), "output_mode", options.output_mode, {"concat", "dict"});
    std::set<std::string> names;
    for (auto& [name, feature] : options_.features) {
      require(names.insert(name).second, "two features are named '{}'.", name);
      if (!feature.type().empty()) feature = standard_feature(name, feature.type());
    }
    for (Cross& cross : options_.crosses) add_cross(cross, names);
    std::vector<LayerHandle> layers, crossers;
    std::vector<Tensors::Named> inputs;
    for (const auto& [name, feature] : options_.features) {
      layers.push_back(feature.preprocessor());
      inputs.emplace_back(name, Input({.shape = {1}, .dtype = feature.dtype(), .name = name}));
    }
    for (const auto& [name, crosser] : crossers_) crossers.push_back(crosser);
    track("preprocessors", layers);
    track("crossers", crossers);
    inputs_ = Tensors::named(std::move(inputs));
  }
  bool autocast() const override { return false; }
  Json module() const override { return "keras.utils"; }

  Json get_config() const override {
    Json features = Json::object();
    for (const auto& [name, feature] : options_.features) features.set(name, serialize(feature));
    Json::Array crosses;
    for (const Cross& cross : options_.crosses) crosses.push_back(serialize(cross));
    return Json::object({{"features", std::move(features)},
                         {"output_mode", options_.output_mode},
                         {"crosses", std::move(crosses)},
                         {"crossing_dim", options_.crossing_dim},
                         {"hashing_dim", options_.hashing_dim},
                         {"num_discretization_bins", options_.num_discretization_bins}});
  }

  void build_list(const std::vector<Shape>&) override {}

  Tensors call_list(const Tensors& data, const CallArgs&) override { return encoded(data); }

  // Encodes a dictionary of values, or of placeholders, in which case layers are recorded.
  Tensors encoded(const Tensors& data) const {
    require_adapted();
    check_names(data);
    bool single = false;
    std::map<std::string, Tensor> found;  // sorted by name
    for (const auto& [name, feature] : options_.features) {
      Tensor x = data.at(name);
      if (x.rank() == 0) {
        x = ops::reshape(x, {1, 1});
        single = true;
      } else if (x.rank() == 1) {
        x = ops::expand_dims(x, -1);
      }
      found.emplace(name, feature.preprocessor()(x).single());
    }
    const Tensors result = merged(found, crossed(found));
    if (!single) return result;
    std::vector<Tensor> rows;
    for (const Tensor& x : result) {
      rows.push_back(x.rank() >= 2 && x.dim(0) == 1 ? ops::squeeze(x, 0) : x);
    }
    return result.with(std::move(rows));
  }

  // `for_each_of` passes the batches of a feature.
  void adapt(const std::function<void(const std::string&, const UseBatch&)>& for_each_of) {
    for (const auto& entry : options_.features) {
      auto* const layer = dynamic_cast<Adaptable*>(&entry.second.preprocessor().get());
      if (!layer || !layer->learns()) continue;
      layer->adapt(
          AdaptData::of_batches([&](const UseBatch& use) { for_each_of(entry.first, use); }), {});
    }
    encoded_.reset();
    get_encoded_features();  // reports incompatible encodings now
  }

  const Tensors& inputs() const { return inputs_; }

  Tensors get_encoded_features() {
    if (!encoded_) encoded_ = encoded(inputs_);
    return *encoded_;
  }

  void require_adapted() const {
    for (const auto& [name, feature] : options_.features) {
      const auto* layer = dynamic_cast<const Adaptable*>(&feature.preprocessor().get());
      check<FailedPrecondition>(
          !layer || !layer->learns() || layer->has_learned(),
          "{}: its feature '{}' learns from data: call adapt with a dataset of dictionaries first.",
          label(), name);
    }
  }

  LayerHandle preprocessor(const std::string& feature) const {
    for (const auto& [name, own] : options_.features) {
      if (name == feature) return own.preprocessor();
    }
    raise<NotFound>("{} has no feature '{}'.{}", label(), feature,
                    did_you_mean(feature, inputs_.names()));
  }
  LayerHandle crosser(const std::string& cross) const {
    std::vector<std::string> names;
    for (const auto& [name, layer] : crossers_) {
      if (name == cross) return layer;
      names.push_back(name);
    }
    raise<NotFound>("{} has no cross '{}'.{}", label(), cross, did_you_mean(cross, names));
  }

  // Keras's get_build_config and build_from_config: the shapes for which layers were built.
  Json build_config() const {
    Json config = Json::object();
    for (const auto& [name, feature] : options_.features) {
      const std::vector<Shape>& shapes = feature.preprocessor().get().built_shapes();
      Json own = Json::object();
      if (shapes.size() == 1 && shapes[0].rank() > 0) {
        own.set("input_shape", Shape({kUnknown}).concat(shapes[0].slice(1)));
      }
      config.set(name, std::move(own));
    }
    return config;
  }
  void build_from_config(const Json& config) {
    for (const auto& [name, feature] : options_.features) {
      const Json* own = config.find(name);
      const Json* shape = own && own->is_object() ? own->find("input_shape") : nullptr;
      if (shape && shape->is_array()) feature.preprocessor().build(shape->as_shape());
    }
  }

 private:
  Feature standard_feature(const std::string& name, const std::string& type) const {
    if (type == "float") return FeatureSpace::float_(name);
    if (type == "float_rescaled") return FeatureSpace::float_rescaled({.name = name});
    if (type == "float_normalized") return FeatureSpace::float_normalized(name);
    if (type == "float_discretized") {
      return FeatureSpace::float_discretized(
          {.num_bins = options_.num_discretization_bins, .name = name});
    }
    if (type == "integer_categorical") return FeatureSpace::integer_categorical({.name = name});
    if (type == "string_categorical") return FeatureSpace::string_categorical({.name = name});
    const HashedOptions hashed = {.num_bins = options_.hashing_dim, .name = name};
    if (type == "integer_hashed") return FeatureSpace::integer_hashed(hashed);
    if (type == "string_hashed") return FeatureSpace::string_hashed(hashed);
    const std::vector<std::string> known = {
        "float",          "float_rescaled",      "float_normalized",   "float_discretized",
        "integer_hashed", "integer_categorical", "string_categorical", "string_hashed"};
    raise<InvalidArgument>("{}: feature '{}' is of no known type '{}'.{}", label(), name, type,
                           did_you_mean(type, known));
  }

  void add_cross(Cross& cross, const std::set<std::string>& features) {
    if (!cross.crossing_dim()) cross = Cross(cross.feature_names(), options_.crossing_dim);
    require(cross.feature_names().size() >= 2, "expected a cross of two features or more, got {}.",
            cross.feature_names().size());
    for (const std::string& name : cross.feature_names()) {
      if (features.contains(name)) continue;
      raise<InvalidArgument>(
          "{}: the cross '{}' is of a feature '{}', which isn't there.{}", label(), cross.name(),
          name, did_you_mean(name, std::vector<std::string>(features.begin(), features.end())));
    }
    const std::string name = cross.name();
    const bool taken =
        features.contains(name) || std::any_of(crossers_.begin(), crossers_.end(),
                                               [&](const auto& own) { return own.first == name; });
    require(!taken, "two features or crosses are named '{}'.", name);
    crossers_.emplace_back(name, HashedCrossing({.num_bins = *cross.crossing_dim(), .name = name}));
  }

  void check_names(const Tensors& data) const {
    const std::vector<std::string>& known = inputs_.names();
    require(data.has_names(),
            "expected a dictionary of the features {}, got {} inputs without names.",
            join(known, ", "), data.size());
    const auto find_missing = [](const auto& names, const auto& among) {
      const std::set<std::string> there(among.begin(), among.end());
      return std::ranges::find_if(names, [&](const auto& name) { return !there.contains(name); });
    };
    require(find_missing(known, data.names()) == known.end(), "expected the features {}, got {}.",
            join(known, ", "), join(data.names(), ", "));
    const auto other = find_missing(data.names(), known);
    if (other != data.names().end()) {
      raise<InvalidArgument>("{}: it has no feature '{}'.{}", label(), *other,
                             did_you_mean(*other, known));
    }
  }

  std::map<std::string, Tensor> crossed(const std::map<std::string, Tensor>& features) const {
    std::map<std::string, Tensor> result;
    for (size_t i = 0; i < crossers_.size(); ++i) {
      std::vector<Tensor> parts;
      for (const std::string& name : options_.crosses[i].feature_names()) {
        parts.push_back(features.at(name));
      }
      const auto& [name, crosser] = crossers_[i];
      result.emplace(name, crosser(Tensors(std::move(parts))).single());
    }
    return result;
  }

  Tensors merged(const std::map<std::string, Tensor>& features,
                 const std::map<std::string, Tensor>& crosses) const {
    std::vector<Tensors::Named> results;
    for (const auto& [name, x] : features) {
      for (const auto& [own, feature] : options_.features) {
        if (own != name) continue;
        results.emplace_back(name,
                             vector_of(name, x, feature.output_mode(), feature.preprocessor()));
      }
    }
    for (const auto& [name, x] : crosses) {
      for (size_t i = 0; i < crossers_.size(); ++i) {
        if (crossers_[i].first != name) continue;
        results.emplace_back(
            name, vector_of(name, x, options_.crosses[i].output_mode(), crossers_[i].second));
      }
    }
    if (options_.output_mode == "dict") return Tensors::named(std::move(results));
    std::vector<Tensor> parts;
    for (const auto& [name, x] : results) {
      require(!is_integer(x.dtype()) && x.dtype() != DType::String,
              "feature '{}' gives {}, which can't be combined with the others' numbers. Encode it, "
              "or use output_mode \"dict\".",
              name, x.dtype());
      parts.push_back(x);
    }
    if (is_placeholder(parts[0])) return TFDConcat()(Tensors(std::move(parts)));
    return ops::concatenate(parts, -1);
  }

  // Encodes a layer's output according to the feature's mode.
  Tensor vector_of(const std::string& name, const Tensor& x, const std::string& mode,
                   const LayerHandle& layer) const {
    if (mode != kOneHot) return x;
    require(
        is_integer(x.dtype()),
        "feature '{}' has output_mode \"one_hot\": expected class numbers of its layer, got {}.",
        name, x.dtype());
    const std::optional<int64_t> categories = categories_of(layer);
    require(categories.has_value(),
            "feature '{}' has output_mode \"one_hot\", but how many classes its {} has isn't "
            "known. Use output_mode \"int\".",
            name, layer.get().class_name());
    if (is_placeholder(x)) return CategoryEncoding({.num_tokens = *categories})(x);
    return encode_categories(x, "multi_hot", *categories, compute_dtype());
  }

  FeatureSpaceOptions options_;                                // features and crosses are complete
  std::vector<std::pair<std::string, LayerHandle>> crossers_;  // of options_.crosses, in order
  Tensors inputs_;
  std::optional<Tensors> encoded_;
};

FeatureSpaceLayer& space_of(const LayerHandle& layer) { return layer_of<FeatureSpaceLayer>(layer); }

void require_path(const char* what, const std::string& path) {
  check<InvalidArgument>(path.ends_with(".keras"),
                         "FeatureSpace: {} expected a path that ends in '.keras', got '{}'.", what,
                         path);
}

}  // namespace

Feature::Feature(DType dtype, const LayerHandle& preprocessor, std::string output_mode)
    : dtype_(dtype), preprocessor_(preprocessor), output_mode_(std::move(output_mode)) {
  check<InvalidArgument>(static_cast<bool>(preprocessor), "Feature: expected a layer, got none.");
  check_one_of("Feature", "output_mode", output_mode_, {"int", kOneHot, "float"});
}

Cross::Cross(std::vector<std::string> feature_names, int64_t crossing_dim, std::string output_mode)
    : feature_names_(std::move(feature_names)),
      crossing_dim_(crossing_dim),
      output_mode_(std::move(output_mode)) {
  check_one_of("Cross", "output_mode", output_mode_, {"int", kOneHot});
}

std::string Cross::name() const { return join(feature_names_, "_X_"); }

FeatureSpace::FeatureSpace(const FeatureSpaceOptions& options)
    : LayerHandle(std::make_shared<FeatureSpaceLayer>(options)) {}

FeatureSpace FeatureSpace::from_config(const Json& config) {
  FeatureSpaceOptions options;
  ConfigReader fields(config);
  fields("output_mode", options.output_mode);
  fields("crossing_dim", options.crossing_dim);
  fields("hashing_dim", options.hashing_dim);
  fields("num_discretization_bins", options.num_discretization_bins);
  fields("name", options.name);
  for (const auto& [name, feature] : config.at("features").as_object()) {
    options.features.emplace_back(name, feature_from_json(feature));
  }
  if (const Json* crosses = config.find("crosses"); crosses && !crosses->is_null()) {
    for (const Json& cross : crosses->as_array()) {
      options.crosses.push_back(cross_from_json(cross, options.crossing_dim));
    }
  }
  return FeatureSpace(options);
}

FeatureSpace FeatureSpace::of(const LayerHandle& layer) {
  return FeatureSpace(require_class<FeatureSpaceLayer>(layer, "FeatureSpace"), Of());
}

Feature FeatureSpace::float_(const std::string& name) {
  return {DType::Float32, TFDIdentity({.name = name_of_layer(name, "float"), .dtype = "float32"}),
          "float"};
}

Feature FeatureSpace::float_rescaled(const FloatRescaledOptions& options) {
  return {DType::Float32,
          Rescaling({.scale = options.scale,
                     .offset = options.offset,
                     .name = name_of_layer(options.name, "float_rescaled")}),
          "float"};
}

Feature FeatureSpace::float_normalized(const std::string& name) {
  return {DType::Float32, Normalization({.name = name_of_layer(name, "float_normalized")}),
          "float"};
}

Feature FeatureSpace::float_discretized(const FloatDiscretizedOptions& options) {
  return {DType::Float32,
          Discretization({.bin_boundaries = options.bin_boundaries,
                          .num_bins = options.num_bins,
                          .name = name_of_layer(options.name, "float_discretized")}),
          options.output_mode};
}

Feature FeatureSpace::integer_categorical(const CategoricalOptions& options) {
  return {DType::Int32,
          IntegerLookup({.max_tokens = options.max_tokens,
                         .num_oov_indices = options.num_oov_indices,
                         .name = name_of_layer(options.name, "integer_categorical")}),
          options.output_mode};
}

Feature FeatureSpace::string_categorical(const CategoricalOptions& options) {
  return {DType::String,
          StringLookup({.max_tokens = options.max_tokens,
                        .num_oov_indices = options.num_oov_indices,
                        .name = name_of_layer(options.name, "string_categorical")}),
          options.output_mode};
}

Feature FeatureSpace::integer_hashed(const HashedOptions& options) {
  return {DType::Int32,
          Hashing({.num_bins = options.num_bins,
                   .name = name_of_layer(options.name, "integer_hashed")}),
          options.output_mode};
}

Feature FeatureSpace::string_hashed(const HashedOptions& options) {
  return {
      DType::String,
      Hashing({.num_bins = options.num_bins, .name = name_of_layer(options.name, "string_hashed")}),
      options.output_mode};
}

void FeatureSpace::adapt(const Tensors& columns) const {
  check<InvalidArgument>(columns.has_names(),
                         "FeatureSpace '{}': adapt expected columns by name, or a dataset.",
                         name());
  space_of(*this).adapt([&](const std::string& feature, const UseBatch& use) {
    give_rows(columns.at(feature).host(), kRowsTogether, use);
  });
}

void FeatureSpace::adapt_to(const std::shared_ptr<BatchSource>& rows,
                            const AdaptOptions& options) const {
  space_of(*this).adapt([&](const std::string& feature, const UseBatch& use) {
    AdaptData::of_input(rows, feature).for_each_batch(options, [&](const Tensor& x) {
      use(as_column(x));
    });
  });
}

Tensors FeatureSpace::operator()(const Tensors& data) const {
  const bool symbolic =
      std::any_of(data.begin(), data.end(), [](const Tensor& x) { return is_placeholder(x); });
  return symbolic ? space_of(*this).encoded(data) : LayerHandle::operator()(data);
}

Tensors FeatureSpace::get_inputs() const { return space_of(*this).inputs(); }

Tensors FeatureSpace::get_encoded_features() const {
  return space_of(*this).get_encoded_features();
}

LayerHandle FeatureSpace::preprocessor(const std::string& feature) const {
  return space_of(*this).preprocessor(feature);
}

LayerHandle FeatureSpace::crosser(const std::string& cross) const {
  return space_of(*this).crosser(cross);
}

void FeatureSpace::save(const std::string& path) const {
  require_path("save", path);
  const FeatureSpaceLayer& space = space_of(*this);
  space.require_adapted();
  Json config = serialize_layer(space);
  config.set("build_config", space.build_config());
  write_keras_archive(path, config, space);
}

FeatureSpace FeatureSpace::load(const std::string& path) {
  require_path("load", path);
  const KerasArchive archive(path);
  const Json config = archive.config();
  const WeightsSource weights = archive.weights();
  WeightLimit limit(weights.bytes());
  const FeatureSpace space = from_file(archive.config_place(), [&] {
    const FeatureSpace made = of(layer_from_json(config));
    const Json* build = config.find("build_config");
    if (build && build->is_object()) space_of(made).build_from_config(*build);
    return made;
  });
  load_weights(weights, space.get());
  archive.load_assets(space.get());
  limit.finish();
  return space;
}

}  // namespace cornu::layers
