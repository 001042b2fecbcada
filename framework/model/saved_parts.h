// SPDX-License-Identifier: Apache-2.0
// What a layer saves to files in addition to its weights.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/layer.h"

namespace cornu {

// Keras's save_own_variables and save_assets. Saving reads the parts; loading restores them after
// the weights have been loaded, values first.
class SavedParts {
 public:
  using Values = std::vector<std::pair<std::string, Tensor>>;
  using Assets = std::vector<std::pair<std::string, std::string>>;  // file name, bytes

  virtual ~SavedParts() = default;

  // The layer's own weights that are saved, in file order, and the value saved for each. Loading
  // assigns the value to the weight and calls weights_loaded() once all weights are loaded.
  virtual std::vector<Variable> saved_weights(std::vector<Variable> own) const { return own; }
  virtual Tensor saved_value(const Variable& weight) const { return weight.stored(); }
  virtual void weights_loaded() {}
  // Values saved under their own names ("idf_weights"), next to the numbered weights. Each must be
  // present in a file with this shape, and is converted to this dtype.
  virtual Values saved_values() const { return {}; }
  virtual void load_values(const Values&) {}
  // The layer's files in a .keras archive; empty when the config already contains the data.
  virtual Assets saved_assets() const { return {}; }
  // Names of the assets that an archive must have, in the order in which load_assets receives them.
  virtual std::vector<std::string> asset_names() const { return {}; }
  virtual void load_assets(const Assets&) {}
};

// Mixin for layers that have such parts.
class HasSavedParts {
 public:
  virtual ~HasSavedParts() = default;
  virtual std::shared_ptr<SavedParts> saved_parts() const = 0;
};

// Returns null when the layer has none.
inline std::shared_ptr<SavedParts> saved_parts_of(const Layer& layer) {
  const auto* owner = dynamic_cast<const HasSavedParts*>(&layer);
  return owner ? owner->saved_parts() : nullptr;
}

}  // namespace cornu
