// SPDX-License-Identifier: Apache-2.0
// Matches per-output values to a model's outputs, and converts them to and from configs.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/strings.h"
#include "framework/train/model.h"

namespace cornu {

// Returns the index of the output `name`. Throws InvalidArgument, naming `who` and `what`, for an
// unknown output.
inline size_t output_index(const std::string& who, const char* what, const std::string& name,
                           const std::vector<std::string>& output_names) {
  const auto it = std::find(output_names.begin(), output_names.end(), name);
  if (it == output_names.end()) {
    raise<InvalidArgument>("{}: {} is given for an output '{}', which it doesn't have.{}", who,
                           what, name, did_you_mean(name, output_names));
  }
  return static_cast<size_t>(it - output_names.begin());
}

// Returns one value per output; `standard` for outputs without one. Throws InvalidArgument when the
// number of values differs from that of outputs, and for unknown outputs.
template <class T>
std::vector<T> by_output(const std::string& who, const char* what, const PerOutput<T>& given,
                         const std::vector<std::string>& output_names, const T& standard) {
  std::vector<T> result(output_names.size(), standard);
  if (given.has_names()) {
    for (size_t i = 0; i < given.list().size(); ++i) {
      result[output_index(who, what, given.names()[i], output_names)] = given.list()[i];
    }
  } else if (given.is_for_all()) {
    std::fill(result.begin(), result.end(), given.list()[0]);
  } else if (!given.empty()) {
    check<InvalidArgument>(given.list().size() == output_names.size(),
                           "{}: expected {} for each of its {} outputs, got {} of them.", who, what,
                           output_names.size(), given.list().size());
    result = given.list();
  }
  return result;
}

// The form of Keras's configs: one value for all, a list, or an object with names; null if empty.
template <class T, class F>
Json per_output_to_json(const PerOutput<T>& values, const F& to_json) {
  if (values.empty()) return nullptr;
  if (values.has_names()) {
    Json named = Json::object();
    for (size_t i = 0; i < values.list().size(); ++i) {
      named.set(values.names()[i], to_json(values.list()[i]));
    }
    return named;
  }
  if (values.is_for_all()) return to_json(values.list()[0]);
  Json::Array list;
  for (const T& value : values.list()) list.push_back(to_json(value));
  return list;
}

inline bool is_serialized_object(const Json& json) {
  return json.is_object() && json.contains("config");
}

template <class T, class F>
PerOutput<T> per_output_from_json(const Json* json, const F& from_json) {
  PerOutput<T> result;
  if (!json || json->is_null()) return result;
  if (json->is_array()) {
    std::vector<T> list;
    for (const Json& element : json->as_array()) list.push_back(from_json(element));
    return PerOutput<T>(std::move(list));
  }
  if (!json->is_object() || is_serialized_object(*json)) {
    return PerOutput<T>(from_json(*json));
  }
  for (const auto& [name, value] : json->as_object()) result.add(name, from_json(value));
  return result;
}

}  // namespace cornu
