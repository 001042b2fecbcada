// SPDX-License-Identifier: Apache-2.0
#include "layers/spatial.h"

#include <algorithm>
#include <cmath>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::layers {
namespace {

constexpr const char* kAxisNames[] = {"(batch, steps, channels)",
                                      "(batch, height, width, channels)",
                                      "(batch, depth, height, width, channels)"};
constexpr const char* kTargets[] = {"{steps, channels}", "{height, width, channels}",
                                    "{depth, height, width, channels}"};

// The target_shape that would most likely make an input of `shape` valid: adds a missing channel
// axis, or unflattens a square image.
std::string likely_target(const Shape& shape, int64_t axes) {
  auto braces = [](const Shape& target) {
    const std::string tuple = target.to_string();
    return "{" + tuple.substr(1, tuple.size() - (target.rank() == 1 ? 3 : 2)) + "}";
  };
  const bool known = shape.rank() > 1 && shape.slice(1).is_static();
  if (known && shape.rank() == axes + 1) return braces(shape.slice(1).concat({1}));
  if (known && shape.rank() == 2 && axes == 2) {
    for (const int64_t channels : {1, 3}) {
      const auto side = std::llround(std::sqrt(static_cast<double>(shape[1] / channels)));
      if (side > 1 && side * side * channels == shape[1]) return braces({side, side, channels});
    }
  }
  return kTargets[axes - 1];
}

}  // namespace

void require_spatial(const std::string& who, const Shape& shape, int64_t axes) {
  check<InvalidArgument>(
      shape.rank() == axes + 2,
      "{}: expected {}-D input {}, got {}. Reshape it first, for example with layers::Reshape({}).",
      who, axes + 2, kAxisNames[axes - 1], shape, likely_target(shape, axes));
}

std::string check_padding(const std::string& who, const std::string& padding,
                          const std::vector<std::string>& known) {
  const std::string lower = lower_case(padding);
  check<InvalidArgument>(std::find(known.begin(), known.end(), lower) != known.end(),
                         "{}: unknown padding '{}'.{}", who, padding, did_you_mean(lower, known));
  return lower;
}

void require_positive(const std::string& who, const char* what, const std::vector<int64_t>& sizes) {
  check<InvalidArgument>(!sizes.empty(), "{}: expected {}, got none.", who, what);
  check<InvalidArgument>(std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s > 0; }),
                         "{}: expected {} > 0, got {}.", who, what, Shape(sizes));
}

void require_window(const std::string& who, const Shape& shape, const std::vector<int64_t>& window,
                    const std::string& padding) {
  if (padding != "valid") return;
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t size = shape[static_cast<int64_t>(i) + 1];
    check<InvalidArgument>(size == kUnknown || size >= window[i],
                           "{}: expected spatial axes of at least {}, the window, got {}. Use "
                           "padding \"same\" or a smaller window.",
                           who, Shape(window), shape);
  }
}

}  // namespace cornu::layers
