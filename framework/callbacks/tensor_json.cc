// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/tensor_json.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

namespace cornu::callbacks {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < count ? std::to_integer<uint32_t>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

uint32_t digit_value(char digit) {
  static const std::array<int8_t, 256> kValues = [] {
    std::array<int8_t, 256> values;
    values.fill(-1);
    for (size_t i = 0; i < kDigits.size(); ++i) {
      values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
    }
    return values;
  }();
  const int8_t value = kValues[static_cast<uint8_t>(digit)];
  check<DataLoss>(value >= 0, "saved tensor: {:?} isn't a base64 digit.", digit);
  return static_cast<uint32_t>(value);
}

void from_base64(std::string_view text, std::span<std::byte> bytes) {
  check<DataLoss>(text.size() == (bytes.size() + 2) / 3 * 4,
                  "saved tensor: expected {} bytes, got {} characters of base64.", bytes.size(),
                  text.size());
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    const std::string_view group = text.substr(i / 3 * 4, 4);
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; ++k) bits = bits << 6 | (k <= count ? digit_value(group[k]) : 0);
    for (size_t k = 0; k < count; ++k) bytes[i + k] = std::byte(bits >> (16 - 8 * k) & 255);
  }
}

}  // namespace

Json tensors_to_json(const std::vector<Tensor>& tensors) {
  Json::Array list;
  for (const Tensor& tensor : tensors) {
    list.push_back(Json::object({{"shape", tensor.shape()},
                                 {"dtype", to_string(tensor.dtype())},
                                 {"data", to_base64({tensor.raw(), tensor.bytes()})}}));
  }
  return list;
}

std::vector<Tensor> tensors_from_json(const Json& json) {
  std::vector<Tensor> tensors;
  for (const Json& item : json.as_array()) {
    const std::string& data = item.at("data").as_string();
    const Shape shape = item.at("shape").as_shape();
    const DType dtype = dtype_from_string(item.at("dtype").as_string());
    // Nothing is allocated for a shape that the data doesn't fill.
    const double bytes_held = static_cast<double>(data.size()) / 4 * 3;
    double bytes_needed = static_cast<double>(size_of(dtype));
    for (int64_t dim : shape) bytes_needed *= static_cast<double>(dim);
    check<DataLoss>(0 <= bytes_needed && bytes_needed <= bytes_held,
                    "saved tensor: expected {} bytes for {} of shape {}, got {}.", bytes_needed,
                    dtype, shape, bytes_held);
    Tensor& tensor = tensors.emplace_back(Tensor::empty(shape, dtype));
    from_base64(data, {tensor.mutable_raw(), tensor.bytes()});
  }
  return tensors;
}

}  // namespace cornu::callbacks
