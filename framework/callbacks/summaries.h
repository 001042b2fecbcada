// SPDX-License-Identifier: Apache-2.0
// What TensorBoard shows, as serialized tensorflow.Summary.Value messages (for EventFile).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::callbacks {

// As tf.summary.scalar; the value is stored as a float32.
std::string scalar_summary(const std::string& tag, double value);

// As tf.summary.histogram, with 30 buckets.
std::string histogram_summary(const std::string& tag, const Tensor& values);

// [left edge, right edge, count] of equally wide buckets, as TensorBoard's histogram_v2 has them:
// where there are no values all are 0, where all values are one the last bucket has them, and where
// one is not a number no bucket has any.
using Buckets = std::array<std::array<double, 3>, 30>;
Buckets histogram_buckets(const std::vector<double>& values);

// As tf.summary.image of a layer's weight, the way Keras lays it out: without axes of size 1, a
// vector is a column, a matrix lies down, the last axis of three tells pictures apart, four axes
// are pictures where the last one has 3 or 4 channels. At most 3 pictures; values are clipped to 0
// and 1. None for other weights.
std::optional<std::string> image_summary(const std::string& tag, const Tensor& weight);

// As tf.summary.image: pictures (count, height, width, 1, 3 or 4), uint8 or floats from 0 to 1, the
// first `most` of them. InvalidArgument for others.
std::string pictures_summary(const std::string& tag, const Tensor& pictures, int64_t most);

// As tf.summary.text: a text, or a list of them.
std::string text_summary(const std::string& tag, const std::string& text);
std::string text_summary(const std::string& tag, const std::vector<std::string>& texts);

// A model's config, of which TensorBoard draws its conceptual graph. `json`: as Model::to_json.
std::string keras_model_summary(const std::string& tag, const std::string& json);

}  // namespace cornu::callbacks
