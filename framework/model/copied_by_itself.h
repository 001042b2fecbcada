// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace cornu {

class Layer;

// A layer that clone_model copies as it is, where others are made of their configs: those can't
// say functions without names.
class CopiedByItself {
 public:
  virtual ~CopiedByItself() = default;
  // A new layer of the same name.
  virtual std::shared_ptr<Layer> copy() const = 0;
};

}  // namespace cornu
