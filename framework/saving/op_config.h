// SPDX-License-Identifier: Apache-2.0
// The config of one of Keras's ops, as files have it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu {

// Reads a config that outlives it. What is None counts as not there.
class OpConfig {
 public:
  explicit OpConfig(const Json& config) : json(config) {}

  const Json& json;

  const Json* find(const char* key) const;  // null where it isn't there
  const Json& need(const char* key) const;  // InvalidArgument
  int64_t integer(const char* key, int64_t otherwise) const;
  double number(const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const std::string& otherwise) const;
  std::optional<int64_t> maybe(const char* key) const;
  // "axis" of an op that takes None for all elements, and whose default is `otherwise`.
  std::optional<int64_t> axis_or_none(int64_t otherwise) const;
  std::optional<double> maybe_number(const char* key) const;
  std::vector<int64_t> integers(const char* key) const;  // of one number, too
  std::optional<DTypeLike> dtype() const;
  Axes axes(const Axes& otherwise = {}) const;  // of "axis": one, or several
};

// InvalidArgument for a whole number beyond 2^53 anywhere in it: no axis, count or distance is, and
// ops compute with them.
void require_moderate_numbers(const Json& config);

// Of one number, or a list.
std::vector<int64_t> integers_of(const Json& value);

}  // namespace cornu
