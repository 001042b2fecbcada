// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"
#include "framework/saving/onnx/reading/windows.h"

namespace cornu::onnx::reading {
namespace {

Tensor pooled(NodeReader& n, const char* kind, const Tensor& x, const Windows& w) {
  const Json config = Json::object({{"pool_size", w.kernel},
                                    {"strides", w.strides},
                                    {"padding", w.same ? "same" : "valid"},
                                    {"data_format", "channels_first"}});
  return n.layer(class_of_axes(fmt::format("{}Pooling", kind), w.axes()), config, x).single();
}

// With ceil_mode, adds padding at the end for a last, partial window; returns false if none was
// needed. A window that would start beyond the input is omitted.
bool add_last_windows(NodeReader& n, const Tensor& x, Windows& w) {
  if (n.integer("ceil_mode", 0) == 0 || w.same) return false;
  bool added = false;
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const int64_t size = x.dim(static_cast<int64_t>(axis) + 2);
    const int64_t stride = w.strides[axis];
    if (stride == 1) continue;
    if (size == kUnknown)
      n.refuse("its windows (ceil_mode) follow the size of an axis that isn't known");
    const int64_t room = size + w.before[axis] + w.after[axis] - w.kernel[axis];
    int64_t last = room <= 0 ? 0 : (room + stride - 1) / stride;
    if (last * stride >= size + w.before[axis]) --last;
    const int64_t missing = last * stride - room;
    if (missing <= 0) continue;
    w.after[axis] += missing;
    added = true;
  }
  return added;
}

Windows pool_windows(NodeReader& n, const Tensor& x, bool may_be_same) {
  n.refuse_constants();
  Windows w = windows_of(n, x, {}, may_be_same);
  if (std::ranges::max(w.dilations) > 1) n.refuse("its windows have dilations above 1");
  return w;
}

Tensor lowest(DType dtype) {
  return dispatch_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      return ops::cast(dtype == DType::Float16 ? -65504.0 : -3.38953139e38, dtype);
    } else {
      return Tensor::scalar(std::numeric_limits<T>::lowest());
    }
  });
}

void read_max_pool(NodeReader& n) {
  Tensor x = n.in();
  Windows w = pool_windows(n, x, true);
  add_last_windows(n, x, w);
  if (!w.same && w.padded()) x = ops::pad(x, widths_of(w), lowest(x.dtype()));
  n.give(pooled(n, "Max", x, w));
}

// The fraction of each window that counts, along an axis: the input and the padding that is
// counted.
Tensor counted_along(int64_t size, const Windows& counting, const Windows& w, size_t axis) {
  const int64_t kernel = w.kernel[axis], stride = w.strides[axis];
  const int64_t room = size + w.before[axis] + w.after[axis] - kernel;
  Tensor parts = Tensor::empty({room < 0 ? 0 : room / stride + 1}, DType::Float32);
  int64_t begin = -w.before[axis];
  for (float& part : parts.mutable_data<float>()) {
    const int64_t inside = std::min(begin + kernel, size + counting.after[axis]) -
                           std::max(begin, -counting.before[axis]);
    part = static_cast<float>(inside) / static_cast<float>(kernel);
    begin += stride;
  }
  return parts;
}

// The fraction of each window that counts: (1, 1, spatial…).
Tensor counted(const Tensor& x, const Windows& counting, const Windows& w) {
  Tensor parts = ops::ones(Shape(Ints(static_cast<size_t>(x.rank()), 1)));
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const int64_t place = static_cast<int64_t>(axis) + 2;
    const Tensor counts = counted_along(x.dim(place), counting, w, axis);
    parts = ops::multiply(parts, ops::reshape(counts, along(place, x.rank())));
  }
  return ops::cast(parts, x.dtype());
}

void read_average_pool(NodeReader& n) {
  const Tensor x = n.in();
  const bool counts = n.integer("count_include_pad", 0) != 0;
  Windows w = pool_windows(n, x, !counts);
  if (w.same) return n.give(pooled(n, "Average", x, w));
  Windows counting = w;
  const bool more = add_last_windows(n, x, w);
  if (!w.padded()) return n.give(pooled(n, "Average", x, w));
  const Tensor y = pooled(n, "Average", with_zeros(n, x, w), w);
  if (counts && !more) return n.give(y);
  if (!x.shape().slice(2).is_static()) {
    n.refuse(
        "what it averages over (pads don't count) follows the size of an axis that isn't known");
  }
  if (!counts) counting.before = counting.after = Ints(w.axes(), 0);
  n.give(ops::divide(y, counted(x, counting, w)));
}

void read_global_pool(NodeReader& n, const char* kind) {
  const Tensor x = n.in();
  if (x.rank() < 3 || x.rank() > 5) {
    n.refuse(fmt::format("its input has {} axes; from 3 to 5 are read", x.rank()));
  }
  const std::string class_name =
      class_of_axes(fmt::format("Global{}Pooling", kind), static_cast<size_t>(x.rank()) - 2);
  const Json config = Json::object({{"data_format", "channels_first"}, {"keepdims", true}});
  n.give(n.layer(class_name, config, x).single());
}

void read_global_max_pool(NodeReader& n) { read_global_pool(n, "Max"); }
void read_global_average_pool(NodeReader& n) { read_global_pool(n, "Average"); }

const Rule kRulesOfPooling[] = {
    {"AveragePool", read_average_pool},
    {"GlobalAveragePool", read_global_average_pool},
    {"GlobalMaxPool", read_global_max_pool},
    {"MaxPool", read_max_pool},
};

}  // namespace

std::span<const Rule> pooling_rules() { return kRulesOfPooling; }

}  // namespace cornu::onnx::reading
