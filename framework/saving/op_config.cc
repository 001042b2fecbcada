// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/op_config.h"

namespace cornu {

const Json* OpConfig::find(const char* key) const {
  const Json* found = json.find(key);
  return found && !found->is_null() ? found : nullptr;
}
const Json& OpConfig::need(const char* key) const {
  const Json* found = find(key);
  check<InvalidArgument>(found != nullptr, "expected '{}' in its config.", key);
  return *found;
}
int64_t OpConfig::integer(const char* key, int64_t otherwise) const {
  return maybe(key).value_or(otherwise);
}
double OpConfig::number(const char* key, double otherwise) const {
  return maybe_number(key).value_or(otherwise);
}
bool OpConfig::flag(const char* key, bool otherwise) const {
  const Json* found = find(key);
  return found ? found->as_bool() : otherwise;
}
std::string OpConfig::text(const char* key, const std::string& otherwise) const {
  const Json* found = find(key);
  return found ? found->as_string() : otherwise;
}
std::optional<int64_t> OpConfig::maybe(const char* key) const {
  const Json* found = find(key);
  return found ? std::optional(found->as_int()) : std::nullopt;
}
std::optional<int64_t> OpConfig::axis_or_none(int64_t otherwise) const {
  return json.find("axis") ? maybe("axis") : std::optional(otherwise);
}
std::optional<double> OpConfig::maybe_number(const char* key) const {
  const Json* found = find(key);
  return found ? std::optional(found->as_double()) : std::nullopt;
}
std::vector<int64_t> OpConfig::integers(const char* key) const { return integers_of(need(key)); }
std::optional<DTypeLike> OpConfig::dtype() const {
  const Json* found = find("dtype");
  return found ? std::optional<DTypeLike>(dtype_from_string(found->as_string())) : std::nullopt;
}
Axes OpConfig::axes(const Axes& otherwise) const {
  const Json* axis = find("axis");
  if (!axis) return otherwise;
  return axis->is_array() ? Axes(axis->as_ints()) : Axes(axis->as_int());
}

void require_moderate_numbers(const Json& config) {
  constexpr int64_t kMax = int64_t{1} << 53;
  if (config.is_int()) {
    check<InvalidArgument>(-kMax <= config.as_int() && config.as_int() <= kMax,
                           "expected whole numbers of at most 2^53 in its config, got {}.",
                           config.as_int());
  } else if (config.is_array()) {
    for (const Json& element : config.as_array()) require_moderate_numbers(element);
  } else if (config.is_object()) {
    for (const auto& entry : config.as_object()) require_moderate_numbers(entry.second);
  }
}

std::vector<int64_t> integers_of(const Json& value) {
  return value.is_array() ? value.as_ints() : std::vector{value.as_int()};
}

}  // namespace cornu
