// SPDX-License-Identifier: Apache-2.0
// Locations of a model's weights in Keras's weight files.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "framework/core/variable.h"
#include "framework/model/layer.h"

namespace cornu {

// The group `name` within `group`, which is "" for the file.
std::string group_in(const std::string& group, const std::string& name);
// The group around `group`; "" if that is the file.
std::string parent_group(const std::string& group);

// A layer, and the group that contains its own weights: "<path>/vars/0", "<path>/vars/1", ….
struct SavedLayer {
  std::string path;  // "layers/dense_1"; "" for the model itself
  const Layer* layer;
  std::vector<Variable> weights;  // its own weights in files, in order (own_weights_in_order)
  // Groups that are in a file only if the saved layer had more sub-layers that are numbered in
  // creation order; in that case the numbers would refer to other sub-layers.
  std::vector<std::string> beyond = {};
  std::string vars() const { return group_in(path, "vars"); }
};

// Returns the model and all layers in it, each once, in the order of Keras's files (saving_lib of
// Keras 3.15). A model's layers form the list "layers", where they are named by class ("dense",
// "dense_1", …). Tracked layers are named by attribute, unless the attribute sorts after "layers"
// alphabetically, so that they were already saved as part of the list. Excludes layers in `skipped`
// and those only reachable through them.
std::vector<SavedLayer> weight_paths(const Layer& model, std::set<const Layer*> skipped = {});

}  // namespace cornu
