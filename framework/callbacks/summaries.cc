// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/summaries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "framework/core/proto_wire.h"
#include "framework/io/png.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"

namespace cornu::callbacks {
namespace {

// tensorflow.DataType.
constexpr int kFloat = 1;
constexpr int kDouble = 2;
constexpr int kString = 7;

// tensorflow.DataClass: how TensorBoard stores a tensor.
constexpr int kScalar = 1;
constexpr int kTensor = 2;
constexpr int kBlobs = 3;

constexpr int64_t kMaxPictures = 3;

// A tensorflow.TensorProto without its values.
std::string tensor_of(int type, const Shape& shape) {
  std::string dims;
  for (const int64_t size : shape) {
    std::string dim;
    wire::put_int(dim, 1, size);
    wire::put_bytes(dims, 2, dim);
  }
  std::string tensor;
  wire::put_int(tensor, 1, type);
  wire::put_bytes(tensor, 2, dims);
  return tensor;
}

template <class T>
std::string numbers_of(int type, const Shape& shape, const T* values, size_t count) {
  std::string tensor = tensor_of(type, shape);
  wire::put_bytes(tensor, 4, {reinterpret_cast<const char*>(values), count * sizeof(T)});
  return tensor;
}

std::string strings_of(const std::vector<std::string>& values, const Shape& shape) {
  std::string tensor = tensor_of(kString, shape);
  for (const std::string& value : values) wire::put_bytes(tensor, 8, value);
  return tensor;
}
std::string strings_of(const std::vector<std::string>& values) {
  return strings_of(values, {static_cast<int64_t>(values.size())});
}

// A value for one of TensorBoard's plugins.
std::string value_of(const std::string& tag, std::string_view tensor, std::string_view plugin,
                     int data_class, std::string_view content = {}) {
  std::string plugin_data;
  wire::put_bytes(plugin_data, 1, plugin);
  if (!content.empty()) wire::put_bytes(plugin_data, 2, content);
  std::string metadata;
  wire::put_bytes(metadata, 1, plugin_data);
  wire::put_int(metadata, 4, data_class);
  std::string value;
  wire::put_bytes(value, 1, tag);
  wire::put_bytes(value, 9, metadata);
  wire::put_bytes(value, 8, tensor);
  return value;
}

// A weight as images (count, height, width, channels), as in Keras; undefined if it can't be shown.
Tensor pictures_of(const Tensor& weight) {
  const Tensor x = ops::squeeze(weight);
  const Shape& shape = x.shape();
  switch (shape.rank()) {
    case 1:
      return ops::reshape(x, {1, shape[0], 1, 1});
    case 2: {
      const Tensor lying = shape[0] > shape[1] ? ops::transpose(x) : x;
      return ops::reshape(lying, {1, lying.shape()[0], lying.shape()[1], 1});
    }
    case 3:
      return ops::reshape(ops::transpose(x, {2, 0, 1}), {shape[2], shape[0], shape[1], 1});
    case 4:
      return shape[3] == 3 || shape[3] == 4 ? x : Tensor();
    default:
      return {};
  }
}

// Like tf.image.convert_image_dtype, with saturation.
uint8_t level_of(float value) {
  return static_cast<uint8_t>(std::isnan(value) ? 0 : std::clamp(value * 255.5f, 0.0f, 255.0f));
}

// Encodes images given as bytes (count, height, width, channels).
std::string blobs_of(const std::string& tag, const std::vector<uint8_t>& pixels, const Shape& shape,
                     int64_t most) {
  std::vector<std::string> parts = {std::to_string(shape[2]), std::to_string(shape[1])};
  const size_t each = pixels.size() / static_cast<size_t>(std::max<int64_t>(shape[0], 1));
  for (int64_t i = 0; i < std::min(shape[0], most); ++i) {
    const std::vector<std::byte> file =
        encode_png(std::span(pixels).subspan(static_cast<size_t>(i) * each, each),
                   {shape[1], shape[2], shape[3]});
    parts.emplace_back(reinterpret_cast<const char*>(file.data()), file.size());
  }
  return value_of(tag, strings_of(parts), "images", kBlobs);
}

std::vector<uint8_t> levels_of(const Tensor& values) {
  const std::vector<float> numbers = ops::cast(values, DType::Float32).to_vector<float>();
  std::vector<uint8_t> pixels(numbers.size());
  std::transform(numbers.begin(), numbers.end(), pixels.begin(), level_of);
  return pixels;
}

}  // namespace

std::string scalar_summary(const std::string& tag, double value) {
  const auto number = static_cast<float>(value);
  return value_of(tag, numbers_of(kFloat, {}, &number, 1), "scalars", kScalar);
}

Buckets histogram_buckets(const std::vector<double>& values) {
  Buckets buckets{};
  if (values.empty()) return buckets;
  constexpr size_t kLast = std::tuple_size_v<Buckets> - 1;
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  double from = *least;
  double to = *most;
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); })) {
    from = to = std::numeric_limits<double>::quiet_NaN();
  }
  if (from == to && std::isfinite(from)) {
    for (auto& bucket : buckets) bucket = {from, from, 0};
    buckets[kLast][2] = static_cast<double>(values.size());
    return buckets;
  }
  const double width = (to - from) / (kLast + 1);
  for (size_t i = 0; i <= kLast; ++i) {
    buckets[i][0] = i == 0 ? from : buckets[i - 1][1];
    buckets[i][1] = i == kLast ? to : from + width * static_cast<double>(i + 1);
  }
  for (const double value : values) {
    const double place = std::floor((value - from) / width);
    if (!std::isfinite(place)) continue;
    ++buckets[std::min(static_cast<size_t>(place), kLast)][2];
  }
  return buckets;
}

std::string histogram_summary(const std::string& tag, const Tensor& values) {
  const Buckets buckets =
      histogram_buckets(ops::cast(values.host(), DType::Float64).to_vector<double>());
  const Shape shape = {static_cast<int64_t>(buckets.size()), 3};
  return value_of(tag, numbers_of(kDouble, shape, buckets[0].data(), buckets.size() * 3),
                  "histograms", kTensor);
}

std::optional<std::string> image_summary(const std::string& tag, const Tensor& weight) {
  if (!is_floating(weight.dtype()) || weight.size() == 0) return std::nullopt;
  const Tensor pictures = pictures_of(weight.host());
  if (!pictures.defined()) return std::nullopt;
  return blobs_of(tag, levels_of(pictures), pictures.shape(), kMaxPictures);
}

std::string pictures_summary(const std::string& tag, const Tensor& pictures, int64_t most) {
  const Shape& shape = pictures.shape();
  const bool fits = shape.rank() == 4 && shape.num_elements() > 0 &&
                    (shape[3] == 1 || shape[3] == 3 || shape[3] == 4);
  const bool bytes = pictures.dtype() == DType::UInt8;
  check<InvalidArgument>(fits && (bytes || is_floating(pictures.dtype())),
                         "image '{}': expected images (count, height, width, 1, 3 or 4) of uint8 "
                         "or floats from 0 to 1, got {} of {}.",
                         tag, shape, pictures.dtype());
  check<InvalidArgument>(most >= 1, "image '{}': expected max_outputs >= 1, got {}.", tag, most);
  const Tensor host = pictures.host();
  return blobs_of(tag, bytes ? host.to_vector<uint8_t>() : levels_of(host), shape, most);
}

std::string text_summary(const std::string& tag, const std::string& text) {
  return value_of(tag, strings_of({text}, {}), "text", kTensor);
}

std::string text_summary(const std::string& tag, const std::vector<std::string>& texts) {
  return value_of(tag, strings_of(texts), "text", kTensor);
}

std::string keras_model_summary(const std::string& tag, const std::string& json) {
  return value_of(tag, strings_of({json}), "graph_keras_model", kBlobs, "1");
}

}  // namespace cornu::callbacks
