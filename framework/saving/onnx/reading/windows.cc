// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/windows.h"

#include <algorithm>
#include <numeric>

#include "framework/ops/ops.h"

namespace cornu::onnx::reading {
namespace {

constexpr int64_t kMaxWindow = int64_t{1} << 31;

void require_each(const Ints& values, size_t axes, int64_t least, const char* what) {
  const bool fits = values.size() == axes && std::ranges::all_of(values, [&](int64_t value) {
                      return value >= least && value <= kMaxWindow;
                    });
  check<InvalidArgument>(fits, "expected {} from {} for {} spatial axes, got {}.", what, least,
                         axes, Shape(values));
}

// Total padding of an axis for Keras's "same"; kUnknown if it depends on an unknown size.
int64_t same_pads(const Windows& w, size_t axis, int64_t size) {
  if (w.strides[axis] == 1) return w.extent(axis) - 1;
  if (size == kUnknown) return kUnknown;
  const int64_t last = (size + w.strides[axis] - 1) / w.strides[axis] - 1;
  return std::max<int64_t>(last * w.strides[axis] + w.extent(axis) - size, 0);
}

bool pads_as_same(const Windows& w, const Tensor& x) {
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const int64_t pads = same_pads(w, axis, x.dim(static_cast<int64_t>(axis) + 2));
    if (pads == kUnknown || w.before[axis] != pads / 2 || w.after[axis] != pads - pads / 2) {
      return false;
    }
  }
  return true;
}

// As much padding as strides need, with the larger half at the start or at the end.
void pad_for_strides(NodeReader& n, const Tensor& x, Windows& w, bool at_begin) {
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const int64_t pads = same_pads(w, axis, x.dim(static_cast<int64_t>(axis) + 2));
    if (pads == kUnknown) n.refuse("its pads follow the size of an axis that isn't known");
    w.after[axis] = at_begin ? pads / 2 : pads - pads / 2;
    w.before[axis] = pads - w.after[axis];
  }
}

}  // namespace

bool Windows::padded() const {
  const auto some = [](int64_t pad) { return pad != 0; };
  return std::ranges::any_of(before, some) || std::ranges::any_of(after, some);
}

Windows windows_of(NodeReader& n, const Tensor& x, const Ints& kernel, bool may_be_same) {
  check<InvalidArgument>(x.rank() >= 3, "expected an input (batch, channels, spatial…), got {}.",
                         x.shape());
  const auto axes = static_cast<size_t>(x.rank()) - 2;
  if (axes > 3) n.refuse(fmt::format("it has {} spatial axes; at most 3 are read", axes));
  Windows w;
  w.kernel = kernel.empty() ? n.integers("kernel_shape") : kernel;
  w.strides = n.integers("strides", Ints(axes, 1));
  w.dilations = n.integers("dilations", Ints(axes, 1));
  require_each(w.kernel, axes, 1, "a kernel");
  require_each(w.strides, axes, 1, "strides");
  require_each(w.dilations, axes, 1, "dilations");
  const Ints pads = n.integers("pads", Ints(2 * axes, 0));
  require_each(pads, 2 * axes, 0, "pads");
  const std::string automatic = auto_pad_of(n);
  w.before.assign(axes, 0);
  w.after.assign(axes, 0);
  if (automatic == "NOTSET") {
    w.before.assign(pads.begin(), pads.begin() + static_cast<int64_t>(axes));
    w.after.assign(pads.begin() + static_cast<int64_t>(axes), pads.end());
  } else if (automatic == "SAME_LOWER" || (automatic == "SAME_UPPER" && !may_be_same)) {
    pad_for_strides(n, x, w, automatic == "SAME_LOWER");
  } else {
    w.same = automatic == "SAME_UPPER";
  }
  w.same = w.same || (may_be_same && w.padded() && pads_as_same(w, x));
  if (w.same) w.before = w.after = {};
  return w;
}

std::string auto_pad_of(NodeReader& n) {
  return n.choice("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
}

std::string class_of_axes(const std::string& name, size_t axes, const char* ending) {
  return fmt::format("{}{}D{}", name, axes, ending);
}

Json windows_config(const Windows& w, const char* padding) {
  return Json::object({{"kernel_size", w.kernel},
                       {"strides", w.strides},
                       {"padding", padding},
                       {"data_format", "channels_first"},
                       {"dilation_rate", w.dilations}});
}

Tensor with_zeros(NodeReader& n, const Tensor& x, const Windows& w) {
  Json::Array pads;
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    pads.push_back(Json::array({w.before[axis], w.after[axis]}));
  }
  const Json config = Json::object({{"padding", w.axes() == 1 ? pads[0] : Json(std::move(pads))},
                                    {"data_format", "channels_first"}});
  return n.layer(class_of_axes("ZeroPadding", w.axes()), config, x, {}, "pad").single();
}

Tensor spatial_first(const Tensor& kernel, const Ints& then) {
  Ints order(static_cast<size_t>(kernel.rank()) - then.size());
  std::iota(order.begin(), order.end(), static_cast<int64_t>(then.size()));
  order.insert(order.end(), then.begin(), then.end());
  return ops::transpose(kernel, order);
}

std::vector<std::pair<int64_t, int64_t>> widths_of(const Windows& w) {
  std::vector<std::pair<int64_t, int64_t>> widths(2);
  for (size_t axis = 0; axis < w.axes(); ++axis) widths.emplace_back(w.before[axis], w.after[axis]);
  return widths;
}

}  // namespace cornu::onnx::reading
