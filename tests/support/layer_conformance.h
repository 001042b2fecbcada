// SPDX-License-Identifier: Apache-2.0
// What every layer must do.
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
  bool random = false;  // draws in training
  bool differentiable = true;
  bool moves_without_rows = false;  // training changes weights whatever the inputs are
};

// Fails the running doctest case unless the layer
// - infers the shapes and dtypes on placeholders that it gives on values, with an unknown batch
// too;
// - comes back from its config, also as text, with the same config and the same function;
// - has its weights, gives and takes them, and keeps them from call to call;
// - does the same in inference as when it isn't told (unless it trains then), and something else in
// training if it says so;
// - computes the same eagerly and compiled, random numbers included;
// - has finite gradients of the shapes of what they belong to, unless it gives integers or isn't
// differentiable;
// - takes a batch of no rows;
// - computes the same in float64.
void check_layer(const LayerCase& layer_case);

// A tensor of numbers in [-1, 1), the same for a seed.
Tensor some_values(const Shape& shape, uint64_t seed = 1);

// The largest difference between two tensors' elements; infinity when their shapes differ.
double distance(const Tensor& a, const Tensor& b);

// What calling `f` throws: its kind's name and text, "InvalidArgument: …"; "" when it doesn't.
std::string error_of(const std::function<void()>& f);

// A factory of equal layers, for check_layer.
template <class Layer, class Options>
std::function<LayerHandle()> make(const Options& options) {
  return [options] { return Layer(options); };
}

}  // namespace cornu::test
