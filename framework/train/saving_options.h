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
  bool overwrite = true;  // false: AlreadyExists when the file is there
  // Of .h5 files: whether compile arguments and the optimizer's state are written. .keras files
  // always have them.
  bool include_optimizer = true;
};

// What a file of weights is written or read without: layers, models among them, with those below
// them that belong to no other layer, and the model's optimizer.
using ObjectsToSkip = std::vector<std::variant<LayerHandle, Optimizer>>;

struct SaveWeightsOptions {
  bool overwrite = true;  // false: AlreadyExists when the file is there
  // In GB (2^30 bytes). The weights are divided over files x_00000.weights.h5, x_00001.weights.h5,
  // …, of at most so many bytes of weights, which x.weights.json names. None: one file.
  std::optional<double> max_shard_size = {};
  ObjectsToSkip objects_to_skip = {};
};

struct LoadWeightsOptions {
  // Weights that don't fit keep their values, with a warning that names them; none of a layer does
  // where one doesn't, unless the file is Keras 2's.
  bool skip_mismatch = false;
  // Of files of Keras 2: layers get the weights of the layer of their name, all others keep theirs.
  // InvalidArgument for other files.
  bool by_name = false;
  // These keep what they have, whatever the file has of them. Of .weights.h5 and .weights.json
  // alone: InvalidArgument for other files.
  ObjectsToSkip objects_to_skip = {};
};

struct LoadOptions {
  bool compile = true;
};

}  // namespace cornu
