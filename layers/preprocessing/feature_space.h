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

// How a feature is encoded: one of the types' names ("float_normalized"), with the defaults of the
// space that it is in, or what a maker of FeatureSpace gives.
class Feature {
 public:
  Feature(const char* type) : type_(given_text(type, "feature")) {}  // NOLINT: implicit on purpose
  Feature(std::string type) : type_(std::move(type)) {}              // NOLINT
  // A layer of one's own. `dtype`: of the inputs. `output_mode`: "float" (as the layer gives it),
  // "int" (the same) or "one_hot" (of the layer's class numbers). InvalidArgument for another mode,
  // or no layer.
  Feature(DType dtype, const LayerHandle& preprocessor, std::string output_mode);

  const std::string& type() const { return type_; }  // empty with a layer
  DType dtype() const { return dtype_; }
  const LayerHandle& preprocessor() const { return preprocessor_; }
  const std::string& output_mode() const { return output_mode_; }

 private:
  std::string type_;
  DType dtype_ = DType::Float32;
  LayerHandle preprocessor_;
  std::string output_mode_;
};

// Features that count together: the bin of each combination of their values.
class Cross {
 public:
  Cross(std::initializer_list<std::string> feature_names)  // NOLINT: implicit on purpose
      : feature_names_(feature_names) {}
  // `crossing_dim`: bins. `output_mode`: "one_hot" or "int"; InvalidArgument for another.
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
  NumberList bin_boundaries = {};  // instead of num_bins
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
  int64_t crossing_dim = 32;  // of crosses that don't say theirs
  // Bins of features "integer_hashed", "string_hashed", and "float_discretized", by these names.
  int64_t hashing_dim = 32;
  int64_t num_discretization_bins = 32;
  std::string name = {};
};

// keras.utils.FeatureSpace: encodes rows of tables, dictionaries of numbers and strings, by one
// layer for each column. Types: "float", "float_rescaled", "float_normalized", "float_discretized",
// "integer_categorical", "string_categorical", "integer_hashed", "string_hashed".
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
// Called with a dictionary of scalars, or of columns (batch) or (batch, 1), it gives all encodings
// side by side, first the features, then the crosses, each in the order of their names ("concat");
// or the same by name ("dict"). Of scalars, what it gives has no axis of batches. With placeholders
// it records the layers of its features, so that models have these, and their files are Keras's.
// InvalidArgument for missing or unknown features, and for what can't be put side by side
// (integers, strings); FailedPrecondition before adapt where a feature learns from data.
//
// Strings lie on the host: see StringLookup.
class FeatureSpace : public LayerHandle {
 public:
  explicit FeatureSpace(const FeatureSpaceOptions& options);
  static FeatureSpace from_config(const Json& config);
  // The handle of a layer of this class. InvalidArgument otherwise.
  static FeatureSpace of(const LayerHandle& layer);

  // ---- types of features ----

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

  // Each feature that learns reads a pass of its own over the data: columns by name, or a
  // data::Dataset (or BatchSource) of batches, or of rows, dictionaries of scalars, of which 32 are
  // one batch. What was compiled before keeps what it knew. Not while another thread uses it.
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

  // Placeholders by the features' names, (None, 1) each, and what becomes of them.
  Tensors get_inputs() const;
  Tensors get_encoded_features() const;

  // The layers behind features, and crosses (HashedCrossing), by name. NotFound with the nearest.
  LayerHandle preprocessor(const std::string& feature) const;
  LayerHandle crosser(const std::string& cross) const;

  // A `.keras` file, which keras.saving.load_model opens; and back. InvalidArgument for a path of
  // another ending; errors of files as Model::save's and load_model's.
  void save(const std::string& path) const;
  static FeatureSpace load(const std::string& path);

 private:
  static constexpr int64_t kRowsTogether = 32;  // as Keras does it: quantiles depend on it
  struct Of {};
  FeatureSpace(std::shared_ptr<Layer> layer, Of) : LayerHandle(std::move(layer)) {}
  void adapt_to(const std::shared_ptr<BatchSource>& rows, const AdaptOptions& options) const;
};

}  // namespace cornu::layers
