// SPDX-License-Identifier: Apache-2.0
// Code shared by layers that draw random numbers. Internal: included by their .cc files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

// A layer that draws random numbers from a seed generator, in training only.
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
  void require_noise_shape(const OptionalShape& shape) const {
    if (!shape) return;
    for (const int64_t size : *shape) {
      this->require(size > 0 || size == kUnknown,
                    "expected noise_shape of axes > 0 or None, got {}.", *shape);
    }
  }
  void require_rank_of(const OptionalShape& noise_shape, const Shape& input) const {
    this->require(!noise_shape || noise_shape->rank() == input.rank(),
                  "expected an input of as many axes as noise_shape {}, got {}.",
                  noise_shape.value_or(Shape()), input);
  }

 private:
  std::optional<random::SeedGenerator> generator_;
};

}  // namespace cornu::layers
