// SPDX-License-Identifier: Apache-2.0
// What models for ImageNet share. Internal: applications' .cc files include it. Reference:
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
  int64_t default_size = 224;  // height and width where none are given
  int64_t min_size = 32;
  bool include_top = true;
  bool imagenet = false;
};

// The shape of one picture that a model takes: the given one, checked (InvalidArgument, beginning
// with `who`), or the default.
Shape obtain_input_shape(const std::string& who, const OptionalShape& given,
                         const InputShapeOptions& options);

// What to add above and below, left and right of a picture so that a convolution of stride 2 by a
// `kernel` begins at the pixel where Keras's does.
struct Padding2 {
  std::pair<int64_t, int64_t> rows;
  std::pair<int64_t, int64_t> columns;
};
Padding2 correct_pad(const Tensor& x, int64_t kernel);

// With weights that were trained, the classifier's activation is softmax or none.
void check_classifier(const std::string& who, const Activation& activation, const Weights& weights);

// The path of a file that Keras downloads: in ~/.keras/models, or $KERAS_HOME/models.
std::string cached_file(const std::string& name);

// InvalidArgument unless `weights` is None, "imagenet" or a file that is there.
void check_weights(const std::string& who, const Weights& weights);

// The Input placeholders that `x` is computed from.
Tensors source_inputs(const Tensor& x);

// 8 times a whole number near `value`, at most 10 % below it.
int64_t make_divisible(double value, int64_t divisor = 8);

}  // namespace cornu::applications
