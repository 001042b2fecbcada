// SPDX-License-Identifier: Apache-2.0
// The interface behind handles with an adapt() method. Internal: layers.
#pragma once

#include "layers/preprocessing/adapt_data.h"

namespace cornu::layers {

class Adaptable {
 public:
  virtual ~Adaptable() = default;
  // Implements the handle's adapt.
  virtual void adapt(const AdaptData& data, const AdaptOptions& options) = 0;
  // Whether there is anything to learn, i.e. it wasn't given to the constructor.
  virtual bool learns() const = 0;
  // Whether it has been learned or loaded.
  virtual bool has_learned() const = 0;
};

}  // namespace cornu::layers
