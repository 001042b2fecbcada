// SPDX-License-Identifier: Apache-2.0
// Checks what every layer must do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::test {

struct LayerCase {
  std::string name;
  std::function<LayerHandle()> make;
  std::vector<Tensor> inputs;  // values, batch first
  Shape output_shape;
  int trainable_weights = 0;
  int non_trainable_weights = 0;
  bool differs_in_training = false;
  bool random = false;  // uses random numbers in training
  bool differentiable = true;
  bool moves_without_rows = false;  // training changes weights regardless of the inputs
};

// Fails the running doctest case unless the layer
// - infers the same shapes and dtypes on placeholders that it returns for values, also with an
//   unknown batch size;
// - is restored from its config, also as text, with the same config and the same function;
// - has its weights, returns and accepts them, and keeps them from call to call;
// - does the same in inference as when `training` isn't given (unless it trains then), and
//   something else in training if it says so;
// - computes the same eagerly and compiled, random numbers included;
// - has finite gradients of the same shapes as the values they belong to, unless it returns
//   integers or isn't differentiable;
// - accepts a batch of no rows;
// - computes the same in float64.
void check_layer(const LayerCase& layer_case);

// A tensor of numbers in [-1, 1), the same for the same seed.
Tensor some_values(const Shape& shape, uint64_t seed = 1);

// The largest difference between two tensors' elements; infinity when their shapes differ.
double distance(const Tensor& a, const Tensor& b);

// The error that calling `f` throws: its kind's name and message, "InvalidArgument: …"; "" when it
// doesn't throw.
std::string error_of(const std::function<void()>& f);

// A factory of equal layers, for check_layer.
template <class Layer, class Options>
std::function<LayerHandle()> make(const Options& options) {
  return [options] { return Layer(options); };
}

}  // namespace cornu::test
