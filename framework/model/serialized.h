// SPDX-License-Identifier: Apache-2.0
// Keras's serialized form of objects other than layers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/optional_list.h"
#include "framework/core/registry.h"

namespace cornu {

// {"module", "class_name", "config", "registered_name"}. `module` is Keras's ("keras.losses"); a
// user's class, named "package>Name", has no module.
Json serialized_form(const char* module, const std::string& class_name, Json config);

// The name of one of Keras's functions when `json` has the form {"class_name": "function",
// "config": "mean_squared_error"}; otherwise null.
const Json* name_of_function(const Json& json);

// The contents of a serialized form, or just a name.
struct SerializedObject {
  std::string name;  // as registered: "package>Name" for users' classes
  Json config;
};
// Throws InvalidArgument, naming `kind`, when `json` is neither a name nor a serialized form.
SerializedObject read_serialized(const Json& json, const std::string& kind);

// Creates the object described by `json`. Throws InvalidArgument when its class isn't registered.
template <class Factory>
auto make_from_serialized(const Registry<Factory>& registry, const Json& json) {
  const SerializedObject object = read_serialized(json, registry.kind());
  return registry.at(registry.resolve(object.name))(object.config);
}

// ---- options to configs and back ----
//
// An options struct lists its fields once, for both directions:
//   template <class Fields>
//   void visit_fields(Fields& fields, SGDOptions& options) {
//     fields("momentum", options.momentum);
//   }

template <class T>
Json config_value(const T& value) {
  return Json(value);
}
template <class T>
Json config_value(const std::optional<T>& value) {
  return value ? config_value(*value) : Json();
}
template <class T>
Json config_value(const OptionalList<T>& value) {
  return value ? config_value(*value) : Json();
}
Json config_value(const std::vector<double>& values);
Json config_value(const std::vector<std::string>& values);

void set_from_config(const Json& json, bool& value);
void set_from_config(const Json& json, int64_t& value);
void set_from_config(const Json& json, double& value);
void set_from_config(const Json& json, std::string& value);
// Lists: a single number is read as a list of one, null as an empty list.
void set_from_config(const Json& json, std::vector<int64_t>& values);
void set_from_config(const Json& json, std::vector<double>& values);
void set_from_config(const Json& json, std::vector<std::string>& values);
template <class T>
void set_from_config(const Json& json, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
  } else {
    set_from_config(json, value.emplace());
  }
}

// Appends fields to a config, in their order.
class ConfigWriter {
 public:
  explicit ConfigWriter(Json& config) : config_(config) {}
  template <class T>
  void operator()(const char* key, const T& value) {
    config_.set(key, config_value(value));
  }
  // A field that Keras's own config omits: written only when it differs from the default.
  template <class T>
  void unless_default(const char* key, const T& value, const T& otherwise) {
    if (value != otherwise) (*this)(key, value);
  }

 private:
  Json& config_;
};

// Sets fields from a config. Fields it lacks keep their defaults.
class ConfigReader {
 public:
  explicit ConfigReader(const Json& config) : config_(config) {}
  template <class T>
  void operator()(const char* key, T& value) {
    if (const Json* found = config_.find(key)) set_from_config(*found, value);
  }
  template <class T>
  void unless_default(const char* key, T& value, const T&) {
    (*this)(key, value);
  }

 private:
  const Json& config_;
};

// Reads options from a config.
template <class Options>
Options read_options(const Json& config) {
  Options options;
  ConfigReader reader(config);
  visit_fields(reader, options);
  return options;
}

// Appends the fields of `options` to `config`.
template <class Options>
void write_options(Json& config, Options options) {
  ConfigWriter writer(config);
  visit_fields(writer, options);
}

}  // namespace cornu
