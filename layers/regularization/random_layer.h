// SPDX-License-Identifier: Apache-2.0
// What layers that draw random numbers share. Internal: their .cc files include it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cornu/core/random.h"
#include "cornu/layers/keras_layer.h"
#include "cornu/ops/ops.h"

namespace cornu::layers {

// A layer that draws in training only, from a Keras seed generator: state of two words, the seed
// and the number of draws so far.
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
    const auto seed = static_cast<uint32_t>(seed_or_next(options.seed));
    state_ = this->add_state("seed_generator_state", Tensor::from<uint32_t>({seed, 0}));
  }

  bool draws(const CallArgs& args) const { return state_.defined() && args.training; }

  // The key of the next draw.
  Tensor next_key() const {
    const Tensor key = state_.value();
    state_.assign(ops::add(key, Tensor::from<uint32_t>({0, 1})));
    return key;
  }

  void require_rate(double rate) const {
    this->require(rate >= 0 && rate <= 1, "expected a rate in [0, 1], got {}.", rate);
  }

 private:
  Variable state_;
};

}  // namespace cornu::layers
