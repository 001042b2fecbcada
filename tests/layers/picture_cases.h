// SPDX-License-Identifier: Apache-2.0
// What every layer that changes pictures must do.
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
  size_t kinds = 16;        // at least as many different results for 16 equal pictures
  bool random = true;       // draws in training
  bool in_training = true;  // changes nothing otherwise
  bool differentiable = true;
  double largest = 228;  // of the values that float32 and float64 are compared with
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

// (count, 4, 5, 3) of bytes, all kinds of colors.
Tensor colors(int64_t count);

// Fails the running doctest case unless the layer
// - does what every layer must (layer_conformance.h), unless `conforms` is false;
// - draws for each picture of a batch, alike with one seed and otherwise with another;
// - takes single pictures, channels first, bytes and floats;
// - draws in a dataset's map by element, on any number of threads;
// - works in a model, in training alone where it says so.
void check_pictures(const PictureCase& item, bool conforms = true);

}  // namespace cornu::test
