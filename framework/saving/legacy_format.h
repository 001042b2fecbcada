// SPDX-License-Identifier: Apache-2.0
// Shared definitions for reading and writing HDF5 files in the Keras 2 format: the root (or the
// group "model_weights" of a whole model's file) has the attribute layer_names, and each layer's
// group has weight_names. Internal: saving. Reference: keras/src/legacy/saving/legacy_h5_format.py.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/variable.h"
#include "framework/model/layer.h"
#include "framework/saving/weights_file.h"

namespace cornu::legacy {

inline constexpr char kWholeModel[] = "model_weights";
inline constexpr char kTopLevel[] = "top_level_model_weights";  // next to the layers' groups
inline constexpr char kOptimizer[] = "optimizer_weights";
inline constexpr char kLayerNames[] = "layer_names";
inline constexpr char kWeightNames[] = "weight_names";

// Lists of names may be split into "layer_names0", "layer_names1", …, since attributes are limited
// in size.
std::string part_of_names(const char* name, size_t part);

// A layer's weights in the order of those files: trainable ones, then the others.
std::vector<Variable> weights_of(const Layer& layer);
// The model's own weights, excluding those of its layers, in the same order.
std::vector<Variable> own_weights_of(const Layer& model);

// Whether an optimizer's `stored` values, of which `shape_of` tells the shapes, are its iterations
// and a momentum for each variable, although it uses none: Keras 2's SGD has them in any case.
bool has_unused_momenta(size_t stored, const std::function<Shape(size_t)>& shape_of,
                        const OptimizerState& optimizer);

// Keras 2's LossScaleOptimizer stores the state of its inner optimizer, and none of its own.
// Returns the inner optimizer; nullptr if there is none.
const OptimizerState* inner_optimizer(const OptimizerState& optimizer);

// Replaces '/' by '_', as in the names of Keras 3's DenseNets: Keras 2's have "conv1/conv", which
// Keras 3 doesn't allow.
std::string modern_name(std::string name);

// Converts the config of a model or layer written by Keras 2 (also in .keras files) to the form of
// Keras 3.
Json modern_config(const Json& config);

// The contents of a model's attributes model_config and training_config.
struct Configs {
  Json model;
  std::optional<Json> training;  // nullopt if not compiled
};
// `config` is the contents of a .keras file's config.json. Layers within the model keep that form:
// if they were written with only class and config, Keras would take the op Add for a layer and
// "dot" for a function, and would drop axes if there are several.
Configs configs_of(const Json& config);

}  // namespace cornu::legacy
