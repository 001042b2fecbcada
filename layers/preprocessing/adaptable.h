// SPDX-License-Identifier: Apache-2.0
// What layers that have an adapt() are behind their handles. Internal: layers.
#pragma once

#include "layers/preprocessing/adapt_data.h"

namespace cornu::layers {

class Adaptable {
 public:
  virtual ~Adaptable() = default;
  // As the handle's adapt says.
  virtual void adapt(const AdaptData& data, const AdaptOptions& options) = 0;
  // Is there anything to learn? Not where it was given when the layer was made.
  virtual bool learns() const = 0;
  // Has it been learned, or loaded?
  virtual bool has_learned() const = 0;
};

}  // namespace cornu::layers
