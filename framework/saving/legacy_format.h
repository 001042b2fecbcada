// SPDX-License-Identifier: Apache-2.0
// What those who read and write HDF5 files of Keras 2's form know of it: the root (or the group
// "model_weights" of a whole model's file) has the attribute layer_names, each layer's group has
// weight_names. Internal: saving. Reference: keras/src/legacy/saving/legacy_h5_format.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/variable.h"
#include "framework/model/layer.h"

namespace cornu::legacy {

inline constexpr char kWholeModel[] = "model_weights";
inline constexpr char kTopLevel[] = "top_level_model_weights";  // beside the layers' groups
inline constexpr char kOptimizer[] = "optimizer_weights";
inline constexpr char kLayerNames[] = "layer_names";
inline constexpr char kWeightNames[] = "weight_names";

// Lists of names may be cut into "layer_names0", "layer_names1", …, since an attribute has its
// limits.
std::string part_of_names(const char* name, size_t part);

// A layer's weights in the order of those files: trained ones, then the others.
std::vector<Variable> weights_of(const Layer& layer);
// The model's own, beside those of its layers, in the same order.
std::vector<Variable> own_weights_of(const Layer& model);

// A model's config, or a layer's, as Keras 3 has it, of what Keras 2 wrote, in .keras files, too.
Json modern_config(const Json& config);

// What the attributes model_config and training_config say of a model.
struct Configs {
  Json model;
  std::optional<Json> training;  // None where it isn't compiled
};
// `config`: as a .keras file's config.json has it. Layers within the model stay as they are there:
// by class and config alone, as Keras writes them, it takes the op Add for a layer, "dot" for a
// function, and drops axes where there are several.
Configs configs_of(const Json& config);

}  // namespace cornu::legacy
