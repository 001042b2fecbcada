// SPDX-License-Identifier: Apache-2.0
// TensorBoard summaries, as serialized tensorflow.Summary.Value messages (for EventFile).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::callbacks {

// Like tf.summary.scalar; the value is stored as float32.
std::string scalar_summary(const std::string& tag, double value);

// Like tf.summary.histogram, with 30 buckets.
std::string histogram_summary(const std::string& tag, const Tensor& values);

// [left edge, right edge, count] of buckets of equal width, as in TensorBoard's histogram_v2:
// without values, everything is 0; if all values are equal, the last bucket has them; if any value
// is NaN, all counts are 0.
using Buckets = std::array<std::array<double, 3>, 30>;
Buckets histogram_buckets(const std::vector<double>& values);

// Like tf.summary.image for a layer's weight, laid out as in Keras: axes of size 1 are removed, a
// vector becomes a column, a matrix is transposed if it is taller than wide, three axes are images
// along the last one, and four axes are images if the last one has 3 or 4 channels. At most 3
// images; values are clipped to [0, 1]. nullopt for other weights.
std::optional<std::string> image_summary(const std::string& tag, const Tensor& weight);

// Like tf.summary.image: images (count, height, width, 1, 3 or 4), uint8 or floats in [0, 1], at
// most the first `most` of them. Throws InvalidArgument for others.
std::string pictures_summary(const std::string& tag, const Tensor& pictures, int64_t most);

// Like tf.summary.text: a text, or a list of texts.
std::string text_summary(const std::string& tag, const std::string& text);
std::string text_summary(const std::string& tag, const std::vector<std::string>& texts);

// A model's config, from which TensorBoard draws its conceptual graph. `json`: see Model::to_json.
std::string keras_model_summary(const std::string& tag, const std::string& json);

}  // namespace cornu::callbacks
