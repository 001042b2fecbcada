// SPDX-License-Identifier: Apache-2.0
// What layers that draw random numbers share. Internal: their .cc files include it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

// A layer that draws in training only, from a seed generator.
template <class Options>
class RandomLayer : public KerasLayerOf<Options> {
 public:
  bool supports_masking() const override { return true; }

 protected:
  using Base = KerasLayerOf<Options>;

  // Without `draws`, the layer never draws and has no state, as in Keras.
  RandomLayer(const std::string& class_name, const Options& options, bool draws)
      : Base(class_name, options) {
    if (!draws) return;
    generator_.emplace(
        this->add_state("seed_generator_state", random::SeedGenerator::initial_state(options.seed)),
        options.seed);
  }

  bool draws(const CallArgs& args) const { return generator_ && args.training; }

  // The key of the next draw.
  Tensor next_key() const { return generator_->next(); }

  void require_rate(double rate) const {
    this->require(rate >= 0 && rate <= 1, "expected a rate in [0, 1], got {}.", rate);
  }

 private:
  std::optional<random::SeedGenerator> generator_;
};

}  // namespace cornu::layers
