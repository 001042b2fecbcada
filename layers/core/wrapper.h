// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "framework/model/layer.h"
#include "framework/model/layer_registry.h"

namespace cornu::layers {

// A `Base` that wraps another layer.
template <class Base>
class WrapperOf : public Base {
 public:
  void build(const Shape& input_shape) override { layer_.get().ensure_built({input_shape}); }

  Json get_config() const override {
    Json config = Base::get_config();
    config.set("layer", serialize_layer(layer_.get()));
    return config;
  }

 protected:
  // Throws InvalidArgument when `layer` is empty. `base`: the arguments of the base class.
  template <class... Arguments>
  explicit WrapperOf(const LayerHandle& layer, Arguments&&... base)
      : Base(std::forward<Arguments>(base)...), layer_(layer) {
    if (!layer) {
      raise<InvalidArgument>("{}: expected a layer, got none.",
                             std::is_same_v<Base, Layer> ? "Wrapper" : this->class_name());
    }
    this->track("layer", layer_);
  }

  const LayerHandle& layer() const { return layer_; }

 private:
  LayerHandle layer_;
};

// keras.layers.Wrapper: base class of layers that wrap another layer. Override `call`, which calls
// layer(); the wrapped layer's weights are saved under "layer", and its config is part of the
// wrapper's config, from which `layer_from_json(config.at("layer"))` recreates it.
//
//   class Twice : public layers::Wrapper {
//    public:
//     explicit Twice(const LayerHandle& layer) : Wrapper(layer) {}
//     Tensor call(const Tensor& x, const CallArgs& args) override {
//       return layer()(layer()(x, args), args);
//     }
//   };
class Wrapper : public WrapperOf<Layer> {
 public:
  explicit Wrapper(const LayerHandle& layer, const LayerOptions& options = {})
      : WrapperOf(layer, options) {}
};

}  // namespace cornu::layers
