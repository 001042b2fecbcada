// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/exchange_tensors.h"

#include <cstring>
#include <string>

#include "framework/core/error.h"
#include "framework/core/json.h"

namespace cornu {
namespace {

// A line that says what it is, then the elements.
std::string encode(const Tensor& tensor) {
  Json dims = Json::array();
  for (const int64_t dim : tensor.shape().dims()) dims.push_back(dim);
  std::string text =
      Json::object({{"dtype", fmt::format("{}", tensor.dtype())}, {"shape", std::move(dims)}})
          .dump() +
      "\n";
  if (tensor.bytes() > 0) text.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
  return text;
}

Tensor decode(const std::string& text) {
  const size_t line = text.find('\n');
  const Json type = Json::parse(text.substr(0, line));
  std::vector<int64_t> dims;
  for (const Json& dim : type.at("shape").as_array()) dims.push_back(dim.as_int());
  Tensor tensor = Tensor::empty(Shape(dims), dtype_from_string(type.at("dtype").as_string()));
  check<Internal>(text.size() - line - 1 == tensor.bytes(),
                  "Strategy: a worker gave {} bytes for {} of shape {}.", text.size() - line - 1,
                  tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0) {
    std::memcpy(tensor.mutable_raw(), text.data() + line + 1, tensor.bytes());
  }
  return tensor;
}

}  // namespace

std::vector<Tensor> exchange_tensors(StrategyImpl& strategy, const Tensor& own) {
  check<Unimplemented>(own.dtype() != DType::String,
                       "Strategy '{}': strings of several workers can't be brought together. Give "
                       "numbers that stand for them.",
                       strategy.name());
  std::vector<Tensor> result;
  for (const std::string& text : strategy.exchange("tensors", encode(own.host()))) {
    result.push_back(decode(text));
  }
  return result;
}

}  // namespace cornu
