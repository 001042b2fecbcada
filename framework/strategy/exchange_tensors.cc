// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/exchange_tensors.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/strategy/reduce_elements.h"

namespace cornu {
namespace {

// A line with the type, followed by the elements; empty for an undefined tensor.
std::string encode(const Tensor& tensor) {
  if (!tensor.defined()) return "";
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
  if (text.empty()) return {};
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

std::vector<Tensor> exchange_tensors(StrategyImpl& strategy, const Tensor& own,
                                     const std::string& what) {
  if (own.defined() && own.dtype() == DType::String) {
    const Unimplemented error(fmt::format(
        "Strategy '{}': strings of several workers can't be brought together. Give numbers that "
        "stand for them.",
        strategy.name()));
    strategy.tell_of_failure(error, "can't give its values");
    throw error;
  }
  std::vector<Tensor> result;
  for (const std::string& text :
       strategy.exchange(what, encode(own.defined() ? own.host() : own))) {
    result.push_back(decode(text));
  }
  return result;
}

Tensor reduce_over_workers(StrategyImpl& strategy, ReduceOp op, const Tensor& own,
                           const std::string& what) {
  const std::vector<Tensor> all = exchange_tensors(strategy, own, what);
  const auto worker = static_cast<size_t>(strategy.worker());
  const size_t first =
      static_cast<size_t>(std::ranges::find_if(all, &Tensor::defined) - all.begin());
  check<InvalidArgument>(first < all.size(),
                         "Strategy '{}': reduce expected elements, got none on any worker.",
                         strategy.name());
  const size_t from = own.defined() ? worker : first;  // the worker whose types errors compare
  const Tensor& expected = all[from];
  std::vector<const void*> in;
  for (size_t w = 0; w < all.size(); ++w) {
    if (!all[w].defined()) continue;
    check<ValuesDiffer>(
        all[w].dtype() == expected.dtype() && all[w].shape() == expected.shape(),
        "Strategy '{}': reduce expected values of one type on all workers, got {} of shape {} on "
        "worker {} and {} of shape {} on worker {}.",
        strategy.name(), expected.dtype(), expected.shape(), from, all[w].dtype(), all[w].shape(),
        w);
    in.push_back(all[w].raw());
  }
  Tensor result = Tensor::empty(expected.shape(), expected.dtype());
  reduce_elements(result.mutable_raw(), in, 0, expected.num_elements(), expected.dtype(),
                  op == ReduceOp::Mean ? ReduceOp::Sum : op);
  return result;
}

}  // namespace cornu
