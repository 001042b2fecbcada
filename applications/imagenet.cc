// SPDX-License-Identifier: Apache-2.0
#include "applications/imagenet.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unordered_set>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/model/functional.h"

namespace cornu::applications {
namespace {

void check_sizes(const std::string& who, const Shape& shape, const InputShapeOptions& options) {
  check<InvalidArgument>(shape.rank() == 3,
                         "{}: expected input_shape (height, width, channels), got {}.", who, shape);
  check<InvalidArgument>(
      !options.imagenet || shape[2] == 3,
      "{}: expected 3 channels with the weights of ImageNet, got input_shape {}.", who, shape);
  for (const int64_t size : {shape[0], shape[1]}) {
    check<InvalidArgument>(size == kUnknown || size >= options.min_size,
                           "{}: expected an input of at least {} x {} pixels, got input_shape {}.",
                           who, options.min_size, options.min_size, shape);
  }
}

}  // namespace

Shape obtain_input_shape(const std::string& who, const OptionalShape& given,
                         const InputShapeOptions& options) {
  Shape standard = {options.default_size, options.default_size, 3};
  if (!options.imagenet && given && given->rank() == 3) {
    standard[2] = given->back();
    if (given->back() != 1 && given->back() != 3) {
      logging::warn(fmt::format("{}: it usually has 1 or 3 input channels, but got input_shape {}.",
                                who, *given));
    }
  }
  if (options.imagenet && options.include_top) {
    check<InvalidArgument>(!given || *given == standard,
                           "{}: expected input_shape {} with include_top and the weights of "
                           "ImageNet, got {}.",
                           who, standard, given.value_or(standard));
    return standard;
  }
  if (given) check_sizes(who, *given, options);
  if (!given && !options.include_top) return {kUnknown, kUnknown, 3};
  const Shape shape = given.value_or(standard);
  check<InvalidArgument>(!options.include_top || shape.is_static(),
                         "{}: expected a static input_shape with include_top, got {}.", who, shape);
  return shape;
}

Padding2 correct_pad(const Tensor& x, int64_t kernel) {
  const Shape& shape = x.shape();
  const auto of_axis = [&](int64_t size) {
    const int64_t even = shape[1] == kUnknown ? 1 : 1 - size % 2;
    return std::pair(kernel / 2 - even, kernel / 2);
  };
  return {of_axis(shape[1]), of_axis(shape[2])};
}

void check_classifier(const std::string& who, const Activation& activation,
                      const Weights& weights) {
  const std::string name = activation.name();
  check<InvalidArgument>(!weights.given() || name == "softmax" || name == "linear",
                         "{}: expected classifier_activation 'softmax' or none with trained "
                         "weights, got '{}'.",
                         who, name);
}

std::string cached_file(const std::string& name) {
  const char* keras = std::getenv("KERAS_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path root = keras && *keras ? std::filesystem::path(keras)
                                     : home && *home ? std::filesystem::path(home) / ".keras"
                                                     : std::filesystem::path("/tmp/.keras");
  return (root / "models" / name).string();
}

void check_weights(const std::string& who, const Weights& weights) {
  if (!weights.given() || weights.imagenet()) return;
  std::error_code ignored;
  check<NotFound>(std::filesystem::exists(weights.path(), ignored),
                  "{}: expected weights to be the path of a file, \"imagenet\" or none (random "
                  "ones), but there is no file '{}'.",
                  who, weights.path());
}

Tensors source_inputs(const Tensor& x) {
  std::vector<Tensor> inputs;
  std::unordered_set<const KerasNode*> seen;
  std::vector<Tensor> todo = {x};
  while (!todo.empty()) {
    const auto node = keras_node(todo.back());
    const Tensor at = todo.back();
    todo.pop_back();
    if (!seen.insert(node.get()).second) continue;
    const std::vector<Tensor> operands = node->operands();
    if (operands.empty()) inputs.push_back(at);
    todo.insert(todo.end(), operands.rbegin(), operands.rend());
  }
  return Tensors(inputs);
}

int64_t make_divisible(double value, int64_t divisor) {
  const auto rounded =
      static_cast<int64_t>(value + static_cast<double>(divisor) / 2) / divisor * divisor;
  const int64_t result = std::max(divisor, rounded);
  return static_cast<double>(result) < 0.9 * value ? result + divisor : result;
}

}  // namespace cornu::applications
