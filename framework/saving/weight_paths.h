// SPDX-License-Identifier: Apache-2.0
// Where a model's weights lie in Keras's weight files.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "framework/core/variable.h"
#include "framework/model/layer.h"

namespace cornu {

// A layer, and the group that holds its own weights: "<path>/vars/0", "<path>/vars/1", ….
struct SavedLayer {
  std::string path;  // "layers/dense_1"; "" for the model itself
  const Layer* layer;
  std::vector<Variable> weights;  // its own that files have, in order (own_weights_in_order)
  // Groups of a file that only a layer with more sub-layers writes, where those are numbered in the
  // order they were made: with other ones, the numbers mean others.
  std::vector<std::string> beyond = {};
  std::string vars() const { return path.empty() ? "vars" : path + "/vars"; }
};

// The model and all layers in it, each once, in the order of Keras's files (saving_lib of Keras
// 3.15). A model's layers are the list "layers", named there by class ("dense", "dense_1", …);
// tracked layers go by attribute, unless they come after "layers" in the alphabet and so were
// saved as part of the list. Of those in `skipped`, and of layers below them alone, there are none.
std::vector<SavedLayer> weight_paths(const Layer& model, std::set<const Layer*> skipped = {});

}  // namespace cornu
