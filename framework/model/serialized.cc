// SPDX-License-Identifier: Apache-2.0
#include "framework/model/serialized.h"

#include "framework/model/own_classes.h"

namespace cornu {

Json serialized_form(const char* module, const std::string& class_name, Json config) {
  const size_t separator = class_name.find('>');
  if (separator == std::string::npos) {
    return Json::object({{"module", module},
                         {"class_name", class_name},
                         {"config", std::move(config)},
                         {"registered_name", nullptr}});
  }
  return Json::object({{"module", module_of_own(class_name)},
                       {"class_name", class_name.substr(separator + 1)},
                       {"config", std::move(config)},
                       {"registered_name", class_name}});
}

const Json* name_of_function(const Json& json) {
  const Json* class_name = json.is_object() ? json.find("class_name") : nullptr;
  if (!class_name || !class_name->is_string() || class_name->as_string() != "function") {
    return nullptr;
  }
  const Json* registered = json.find("registered_name");
  const bool custom = registered && registered->is_string() &&
                      registered->as_string().find('>') != std::string::npos;
  const Json* name = json.find("config");
  return !custom && name && name->is_string() ? name : nullptr;
}

SerializedObject read_serialized(const Json& json, const std::string& kind) {
  if (json.is_string()) return {json.as_string(), Json::object()};
  const Json* class_name = json.find("class_name");
  check<InvalidArgument>(class_name != nullptr && class_name->is_string(),
                         "Config of the {}: expected a name or an object with a 'class_name', got "
                         "{}.",
                         kind, json.excerpt());
  const Json* registered = json.find("registered_name");
  const bool custom = registered && registered->is_string() &&
                      registered->as_string().find('>') != std::string::npos;
  const Json* config = json.find("config");
  return {custom ? registered->as_string() : class_name->as_string(),
          config && !config->is_null() ? *config : Json::object()};
}

Json config_value(const std::vector<double>& values) {
  return Json(Json::Array(values.begin(), values.end()));
}

Json config_value(const std::vector<std::string>& values) {
  return Json(Json::Array(values.begin(), values.end()));
}

void set_from_config(const Json& json, bool& value) { value = json.as_bool(); }
void set_from_config(const Json& json, int64_t& value) { value = json.as_int(); }
void set_from_config(const Json& json, double& value) { value = json.as_double(); }
void set_from_config(const Json& json, std::string& value) {
  value = json.is_null() ? std::string() : json.as_string();
}
void set_from_config(const Json& json, std::vector<int64_t>& values) {
  values.clear();
  if (json.is_null()) return;
  values = json.is_int() ? std::vector<int64_t>{json.as_int()} : json.as_ints();
}
void set_from_config(const Json& json, std::vector<double>& values) {
  values.clear();
  if (json.is_null()) return;
  if (json.is_number()) {
    values.push_back(json.as_double());
    return;
  }
  for (const Json& element : json.as_array()) values.push_back(element.as_double());
}

void set_from_config(const Json& json, std::vector<std::string>& values) {
  values.clear();
  if (json.is_null()) return;
  if (json.is_string()) {
    values.push_back(json.as_string());
    return;
  }
  values = json.as_strings();
}

}  // namespace cornu
