// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the ImageNet models. Internal: included by applications' .cc files. Reference:
// keras/src/applications/imagenet_utils.py.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "applications/weights.h"
#include "framework/core/tensors.h"
#include "framework/model/parts.h"

namespace cornu::applications {

struct InputShapeOptions {
  int64_t default_size = 224;  // default height and width
  int64_t min_size = 32;
  bool include_top = true;
  bool imagenet = false;
};

// Returns the shape of a single image that a model accepts: the given one, after checking it
// (InvalidArgument, prefixed by `who`), or the default.
Shape obtain_input_shape(const std::string& who, const OptionalShape& given,
                         const InputShapeOptions& options);

// Padding above and below, left and right of an image such that a convolution with stride 2 and
// this `kernel` starts at the same pixel as in Keras.
struct Padding2 {
  std::pair<int64_t, int64_t> rows;
  std::pair<int64_t, int64_t> columns;
};
Padding2 correct_pad(const Tensor& x, int64_t kernel);

// With trained weights, the classifier's activation must be softmax or none.
void check_classifier(const std::string& who, const Activation& activation, const Weights& weights);

// Returns the path of a file that Keras downloads: in ~/.keras/models, or $KERAS_HOME/models.
std::string cached_file(const std::string& name);

// Throws NotFound unless `weights` is None, "imagenet" or an existing file.
void check_weights(const std::string& who, const Weights& weights);

// Returns the Input placeholders from which `x` is computed.
Tensors source_inputs(const Tensor& x);

// Rounds `value` to the nearest multiple of `divisor`, or up if that is more than 10 % below it.
int64_t make_divisible(double value, int64_t divisor = 8);

}  // namespace cornu::applications
