// SPDX-License-Identifier: Apache-2.0
// What a layer keeps in files beside its weights.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/layer.h"

namespace cornu {

// Keras's save_own_variables and save_assets. What is saved is asked for, and what was saved is
// given back when weights have been loaded: values first.
class SavedParts {
 public:
  using Values = std::vector<std::pair<std::string, Tensor>>;
  using Assets = std::vector<std::pair<std::string, std::string>>;  // name of a file, its bytes

  virtual ~SavedParts() = default;

  // Those of the layer's own weights that files have, in the files' order, and what they have of
  // each. Loading gives the value back to the weight, and says so when all weights are there.
  virtual std::vector<Variable> saved_weights(std::vector<Variable> own) const { return own; }
  virtual Tensor saved_value(const Variable& weight) const { return weight.stored(); }
  virtual void weights_loaded() {}
  // Values under names of their own ("idf_weights") beside the numbers of weights. A file must have
  // each, with this shape, and gives it with this dtype.
  virtual Values saved_values() const { return {}; }
  virtual void load_values(const Values&) {}
  // The files of the layer in a .keras archive; none for what its config has.
  virtual Assets saved_assets() const { return {}; }
  // The names of those that an archive must have, in the order that load_assets is given them in.
  virtual std::vector<std::string> asset_names() const { return {}; }
  virtual void load_assets(const Assets&) {}
};

// A layer that has such parts derives from this, too.
class HasSavedParts {
 public:
  virtual ~HasSavedParts() = default;
  virtual std::shared_ptr<SavedParts> saved_parts() const = 0;
};

// Null where it has none.
inline std::shared_ptr<SavedParts> saved_parts_of(const Layer& layer) {
  const auto* owner = dynamic_cast<const HasSavedParts*>(&layer);
  return owner ? owner->saved_parts() : nullptr;
}

}  // namespace cornu
