// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace cornu {

class Layer;

// A layer that clone_model duplicates with copy(). Other layers are recreated from their configs,
// which can't represent unnamed functions.
class CopiedByItself {
 public:
  virtual ~CopiedByItself() = default;
  // Returns a new layer with the same name.
  virtual std::shared_ptr<Layer> copy() const = 0;
};

}  // namespace cornu
