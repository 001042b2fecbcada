// SPDX-License-Identifier: Apache-2.0
#include "framework/model/own_classes.h"

#include <string_view>

#include "framework/core/strings.h"
#include "framework/model/serialized.h"

namespace cornu {
namespace {

const std::string* text_at(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found && found->is_string() ? &found->as_string() : nullptr;
}

// "package>Name", if the form has such a name.
const std::string* registered_in_package(const Json& json) {
  const std::string* name = text_at(json, "registered_name");
  return name && name->find('>') != std::string::npos ? name : nullptr;
}

bool is_within(std::string_view module, std::string_view package) {
  return module == package || (module.starts_with(package) && module[package.size()] == '.');
}

}  // namespace

bool is_of_keras(const Json& json) {
  if (registered_in_package(json)) return false;
  const std::string* module = text_at(json, "module");
  if (!module) return !text_at(json, "registered_name");
  return *module == "builtins" || is_within(*module, "keras") || is_within(*module, "tf_keras");
}

Json module_of_own(const std::string& class_name) {
  const std::string package = class_name.substr(0, class_name.find('>'));
  const bool is_path = package.size() < class_name.size() && package.find('.') != std::string::npos;
  return is_path ? Json(package) : Json();
}

ClassMembers class_members(const Json& module, const std::string& class_name) {
  const size_t separator = class_name.find('>');
  if (separator != std::string::npos) {
    const Json own = module.is_null() ? module_of_own(class_name) : module;
    return {own, own.is_null() ? class_name : class_name.substr(separator + 1), class_name};
  }
  const bool exported = !module.is_null() && is_within(module.as_string(), "keras") &&
                        !is_within(module.as_string(), "keras.src");
  return {module, class_name, exported ? Json(nullptr) : Json(class_name)};
}

OwnClass read_own_class(const Json& json, const std::string& kind) {
  if (const std::string* registered = registered_in_package(json)) {
    return {*registered, "", {*registered}};
  }
  OwnClass own = {read_serialized(json, kind).name, "", {}};
  if (const Json* function = name_of_function(json)) own.name = function->as_string();
  if (const std::string* module = text_at(json, "module")) {
    own.module = *module;
    own.registered.push_back(own.module + ">" + own.name);
  }
  own.registered.push_back(own.name);
  return own;
}

void internal::raise_unregistered(const OwnClass& own, const std::string& kind,
                                  const std::vector<std::string>& known) {
  const std::string name = printable(own.name);
  if (!own.module.empty()) {
    raise<InvalidArgument>(
        "Unknown {} '{}' of the module '{}', which isn't Keras's. Register a class or function of "
        "your own as \"{}\" by register_serializable before loading.",
        kind, name, printable(own.module), printable(own.registered.front()));
  }
  if (own.name.find('>') == std::string::npos) {
    raise<InvalidArgument>(
        "Unknown {} '{}', which isn't Keras's. Give a class or function of your own a name with a "
        "package, \"package>{}\", and register that by register_serializable before loading.",
        kind, name, name);
  }
  raise<InvalidArgument>(
      "Unknown {} '{}'.{} Register a class or function of your own by register_serializable before "
      "loading.",
      kind, name, did_you_mean(own.name, known));
}

}  // namespace cornu
