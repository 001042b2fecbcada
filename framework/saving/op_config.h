// SPDX-License-Identifier: Apache-2.0
// The saved config of a Keras op.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu {

// Reads a config, which must outlive the reader. None values count as missing.
class OpConfig {
 public:
  explicit OpConfig(const Json& config) : json(config) {}

  const Json& json;

  const Json* find(const char* key) const;  // null if missing
  const Json& need(const char* key) const;  // throws InvalidArgument if missing
  int64_t integer(const char* key, int64_t otherwise) const;
  double number(const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const std::string& otherwise) const;
  std::optional<int64_t> maybe(const char* key) const;
  // The "axis" of an op for which None means all elements; `otherwise` is the default.
  std::optional<int64_t> axis_or_none(int64_t otherwise) const;
  std::optional<double> maybe_number(const char* key) const;
  std::vector<int64_t> integers(const char* key) const;  // also accepts a single number
  std::optional<DTypeLike> dtype() const;
  Axes axes(const Axes& otherwise = {}) const;  // "axis": one or several
};

// Throws InvalidArgument if the config contains an integer beyond 2^53: no axis, count or distance
// is that large, and ops compute with these numbers.
void require_moderate_numbers(const Json& config);

// Accepts a single number or a list.
std::vector<int64_t> integers_of(const Json& value);

}  // namespace cornu
