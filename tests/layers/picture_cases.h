// SPDX-License-Identifier: Apache-2.0
// Checks what every layer that changes images must do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "framework/model/layer.h"

namespace cornu::test {

struct PictureCase {
  std::string name;
  std::function<LayerHandle(std::optional<int64_t> seed, std::string format)> make;
  size_t kinds = 16;        // minimum number of different results for 16 equal images
  bool random = true;       // uses random numbers in training
  bool in_training = true;  // only changes images in training
  bool differentiable = true;
  double largest = 228;  // the largest value in the comparison of float32 with float64
};

template <class Handle, class Options>
PictureCase drawing(const char* name, Options options, size_t kinds = 16) {
  return {name,
          [options](std::optional<int64_t> seed, std::string format) -> LayerHandle {
            Options given = options;
            given.seed = seed;
            given.data_format = std::move(format);
            return Handle(given);
          },
          kinds};
}

template <class Handle, class Options>
PictureCase fixed(const char* name, Options options = {}, bool in_training = false) {
  return {name,
          [options](std::optional<int64_t>, std::string format) -> LayerHandle {
            Options given = options;
            given.data_format = std::move(format);
            return Handle(given);
          },
          1, false, in_training};
}

// Byte images of shape (count, 4, 5, 3) with all kinds of colors.
Tensor colors(int64_t count);

// Fails the running doctest case unless the layer
// - does what every layer must (layer_conformance.h), unless `conforms` is false;
// - draws random values for each image of a batch, the same with the same seed and others with
//   another seed;
// - accepts single images, channels first, bytes and floats;
// - draws per element in a dataset's map, on any number of threads;
// - works in a model, only in training if it says so.
void check_pictures(const PictureCase& item, bool conforms = true);

}  // namespace cornu::test
