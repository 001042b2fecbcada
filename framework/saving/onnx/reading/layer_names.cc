// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/layer_names.h"

#include <algorithm>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/core/utf8.h"

namespace cornu::onnx::reading {

std::string input_name(const std::string& name, const std::string& otherwise) {
  std::string result = is_utf8(name) ? name : printable(name);
  result.erase(0, result.find_first_not_of('/'));
  std::ranges::replace(result, '/', '_');
  return result.empty() ? otherwise : result;
}

std::string layer_name(const std::string& name, const std::string& otherwise) {
  std::string result = input_name(name, otherwise);
  std::ranges::replace(result, '.', '_');
  return result;
}

std::string LayerNames::unique(const std::string& name) {
  if (take(name)) return name;
  int64_t& number = numbers_[name];
  std::string result;
  do {
    result = fmt::format("{}_{}", name, ++number);
  } while (!take(result));
  return result;
}

}  // namespace cornu::onnx::reading
