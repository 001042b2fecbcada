// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/strings.h"
#include "framework/model/layer.h"
#include "framework/strategy/batch_source.h"
#include "layers/argument_types.h"
#include "layers/preprocessing/adapt_data.h"

namespace cornu::layers {

// How a feature is encoded: the name of a type ("float_normalized"), with the defaults of its
// feature space, or the result of one of FeatureSpace's factory functions.
class Feature {
 public:
  Feature(const char* type) : type_(given_text(type, "feature")) {}  // NOLINT: implicit on purpose
  Feature(std::string type) : type_(std::move(type)) {}              // NOLINT
  // A custom layer. `dtype`: that of the inputs. `output_mode`: "float" (the layer's output), "int"
  // (the same) or "one_hot" (encodes the layer's class numbers). Throws InvalidArgument for other
  // modes and without a layer.
  Feature(DType dtype, const LayerHandle& preprocessor, std::string output_mode);

  const std::string& type() const { return type_; }  // empty for a custom layer
  DType dtype() const { return dtype_; }
  const LayerHandle& preprocessor() const { return preprocessor_; }
  const std::string& output_mode() const { return output_mode_; }

 private:
  std::string type_;
  DType dtype_ = DType::Float32;
  LayerHandle preprocessor_;
  std::string output_mode_;
};

// A cross of features: encodes the bin of each combination of their values.
class Cross {
 public:
  Cross(std::initializer_list<std::string> feature_names)  // NOLINT: implicit on purpose
      : feature_names_(feature_names) {}
  // `crossing_dim`: number of bins. `output_mode`: "one_hot" or "int"; throws InvalidArgument for
  // others.
  Cross(std::vector<std::string> feature_names, int64_t crossing_dim,
        std::string output_mode = "one_hot");

  const std::vector<std::string>& feature_names() const { return feature_names_; }
  const std::optional<int64_t>& crossing_dim() const { return crossing_dim_; }  // None: the space's
  const std::string& output_mode() const { return output_mode_; }
  std::string name() const;  // "first_X_second"

 private:
  std::vector<std::string> feature_names_;
  std::optional<int64_t> crossing_dim_;
  std::string output_mode_ = "one_hot";
};

struct FloatRescaledOptions {
  double scale = 1.0;
  double offset = 0.0;
  std::string name = {};
};

struct FloatDiscretizedOptions {
  std::optional<int64_t> num_bins = {};
  NumberList bin_boundaries = {};  // replaces num_bins
  std::string output_mode = "one_hot";
  std::string name = {};
};

struct CategoricalOptions {
  std::optional<int64_t> max_tokens = {};
  int64_t num_oov_indices = 1;
  std::string output_mode = "one_hot";
  std::string name = {};
};

struct HashedOptions {
  int64_t num_bins = 0;  // required
  std::string output_mode = "one_hot";
  std::string name = {};
};

struct FeatureSpaceOptions {
  std::vector<std::pair<std::string, Feature>> features = {};  // by name; required
  std::string output_mode = "concat";                          // or "dict"
  std::vector<Cross> crosses = {};
  int64_t crossing_dim = 32;  // for crosses that don't specify one
  // Number of bins for features "integer_hashed" and "string_hashed", and for "float_discretized",
  // specified by type name.
  int64_t hashing_dim = 32;
  int64_t num_discretization_bins = 32;
  std::string name = {};
};

// keras.utils.FeatureSpace: encodes rows of tables, i.e. dictionaries of numbers and strings, with
// a layer for each column. Types: "float", "float_rescaled", "float_normalized",
// "float_discretized", "integer_categorical", "string_categorical", "integer_hashed",
// "string_hashed".
//
//   layers::FeatureSpace space({.features = {{"age", "float_normalized"},
//                                            {"job", "string_categorical"},
//                                            {"city", layers::FeatureSpace::string_hashed(
//                                                         {.num_bins = 16})}},
//                               .crosses = {{"job", "city"}}});
//   space.adapt(rows);                                // a dataset of dictionaries
//   auto encoded = rows.batch(32).map(space);         // (batch, numbers)
//   Model model(space.get_inputs(), layers::Dense({.units = 1})(space.get_encoded_features()));
//
// Called with a dictionary of scalars, or of columns (batch) or (batch, 1), it returns all
// encodings concatenated, features followed by crosses, each sorted by name ("concat"), or by name
// ("dict"). For scalars, the result has no batch axis. With placeholders, it records the layers of
// its features, so that models contain them and their files match Keras's. Throws InvalidArgument
// for missing or unknown features and for encodings that can't be concatenated (integers, strings);
// FailedPrecondition before adapt if a feature learns from data.
//
// Strings reside on the host: see StringLookup.
class FeatureSpace final : public LayerHandle {
 public:
  explicit FeatureSpace(const FeatureSpaceOptions& options);
  static FeatureSpace from_config(const Json& config);
  // Returns a handle to an existing layer of this class. Throws InvalidArgument for other layers.
  static FeatureSpace of(const LayerHandle& layer);

  // ---- feature types ----

  static Feature float_(const std::string& name = {});
  static Feature float_rescaled(const FloatRescaledOptions& options = {});
  static Feature float_normalized(const std::string& name = {});
  static Feature float_discretized(const FloatDiscretizedOptions& options);
  static Feature integer_categorical(const CategoricalOptions& options = {});
  static Feature string_categorical(const CategoricalOptions& options = {});
  static Feature integer_hashed(const HashedOptions& options);
  static Feature string_hashed(const HashedOptions& options);
  // Any other layer; see Feature.
  static Feature feature(DTypeLike dtype, const LayerHandle& preprocessor,
                         const std::string& output_mode) {
    return Feature(dtype, preprocessor, output_mode);
  }
  static Cross cross(const std::vector<std::string>& feature_names, int64_t crossing_dim,
                     const std::string& output_mode = "one_hot") {
    return Cross(feature_names, crossing_dim, output_mode);
  }

  // ---- use ----

  // Adapts the features that learn; each makes a separate pass over the data: columns by name, or a
  // data::Dataset (or BatchSource) of batches or of rows, i.e. dictionaries of scalars, which are
  // grouped into batches of 32. Functions compiled before keep the old state. Must not run while
  // another thread uses the layer.
  void adapt(const Tensors& columns) const;
  template <std::convertible_to<std::shared_ptr<BatchSource>> Source>
  void adapt(const Source& rows, const AdaptOptions& options = {}) const {
    if constexpr (requires {
                    rows.element_spec().types;
                    rows.batch(kRowsTogether);
                  }) {
      for (const auto& type : rows.element_spec().types) {
        if (type.shape.rank() == 0) return adapt_to(rows.batch(kRowsTogether), options);
      }
    }
    adapt_to(rows, options);
  }

  Tensors operator()(const Tensors& data) const;

  // Placeholders named after the features, each (None, 1), and their encodings.
  Tensors get_inputs() const;
  Tensors get_encoded_features() const;

  // The layers of features and of crosses (HashedCrossing), by name. Throws NotFound, suggesting
  // the nearest name.
  LayerHandle preprocessor(const std::string& feature) const;
  LayerHandle crosser(const std::string& cross) const;

  // Saves a `.keras` file, which keras.saving.load_model can open, and loads it. Throws
  // InvalidArgument for other file extensions; file errors are those of Model::save and load_model.
  void save(const std::string& path) const;
  static FeatureSpace load(const std::string& path);

 private:
  static constexpr int64_t kRowsTogether = 32;  // as in Keras: quantiles depend on it
  struct Of {};
  FeatureSpace(std::shared_ptr<Layer> layer, Of) : LayerHandle(std::move(layer)) {}
  void adapt_to(const std::shared_ptr<BatchSource>& rows, const AdaptOptions& options) const;
};

}  // namespace cornu::layers
