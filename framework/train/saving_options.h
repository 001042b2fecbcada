// SPDX-License-Identifier: Apache-2.0
// Options of a model's save, save_weights and load_weights, and of load_model.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "framework/model/layer.h"
#include "framework/train/optimizer.h"

namespace cornu {

struct SaveOptions {
  bool overwrite = true;  // false: throw AlreadyExists if the file exists
  // For .h5 files: whether to write compile arguments and the optimizer's state. .keras files
  // always contain them.
  bool include_optimizer = true;
};

// Objects to omit when writing or reading a weights file: layers (including models), along with
// their sub-layers that belong to no other layer, and the model's optimizer.
using ObjectsToSkip = std::vector<std::variant<LayerHandle, Optimizer>>;

struct SaveWeightsOptions {
  bool overwrite = true;  // false: throw AlreadyExists if the file exists
  // In GB (2^30 bytes). The weights are split into files x_00000.weights.h5, x_00001.weights.h5, …,
  // each with at most this size of weights, which are listed in x.weights.json. None: a single
  // file.
  std::optional<double> max_shard_size = {};
  ObjectsToSkip objects_to_skip = {};
};

struct LoadWeightsOptions {
  // Weights that don't fit keep their values, with a warning that names them. If one weight of a
  // layer doesn't fit, none of the layer's are loaded, unless the file is in the Keras 2 format.
  bool skip_mismatch = false;
  // For Keras 2 files: layers get the weights of the layer of the same name; other layers keep
  // theirs. Throws InvalidArgument for other files.
  bool by_name = false;
  // These objects keep their values, whatever the file contains. Only for .weights.h5 and
  // .weights.json; throws InvalidArgument for other files.
  ObjectsToSkip objects_to_skip = {};
};

struct LoadOptions {
  bool compile = true;
};

}  // namespace cornu
