// SPDX-License-Identifier: Apache-2.0
// Small models for the tests of files.
#pragma once

#include <cornu/cornu.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/golden/golden.h"

namespace cornu::test {

// Pseudo-random numbers between -1 and 1, always the same.
inline Tensor numbers(const Shape& shape, float scale = 1) {
  Tensor tensor = Tensor::empty(shape, DType::Float32);
  auto out = tensor.mutable_data<float>();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = scale * std::sin(static_cast<float>(i) * 12.9898F + 0.5F);
  }
  return tensor;
}

// The largest difference between two predictions of the same structure.
inline double distance(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape()) return INFINITY;
    const auto x = numbers_of(a[i]);
    const auto y = numbers_of(b[i]);
    for (size_t k = 0; k < x.size(); ++k) most = std::max(most, std::abs(x[k] - y[k]));
  }
  return most;
}

inline Tensors predictions(Model& model, const Tensors& x) {
  return model.predict(x, {.verbose = 0});
}

// A model like that of the mnist program: it has no Input, so its first batch builds it.
inline Sequential small_cnn() {
  return Sequential({
      layers::Reshape({.target_shape = {8, 8, 1}}),
      layers::Rescaling({.scale = 1.0 / 255}),
      layers::Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu"}),
      layers::MaxPooling2D(),
      layers::Flatten(),
      layers::Dense({.units = 6, .activation = "relu"}),
      layers::Dense({.units = 3}),
  });
}

// Two inputs, a shared layer, ops between layers.
inline Model op_model() {
  const Tensor left = Input({.shape = {3}, .name = "left"});
  const Tensor right = Input({.shape = {3}, .name = "right"});
  const layers::Dense shared({.units = 4, .activation = "tanh", .name = "shared"});
  const Tensor a = shared(left);
  const Tensor b = shared(right);
  const Tensor mixed = layers::Concatenate()({a + b, a * 2.0 - b / 4.0, ops::relu(1.0 - a)});
  const Tensor y = layers::Dense({.units = 2})(ops::maximum(mixed, -0.5));
  return Model({left, right}, {y, ops::sum(mixed, -1, true)}, {.name = "two_inputs"});
}

}  // namespace cornu::test
