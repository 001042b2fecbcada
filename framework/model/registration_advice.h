// SPDX-License-Identifier: Apache-2.0
// Error messages for files that name a user-defined class that this program hasn't registered.
#pragma once

#include <string>

#include "framework/core/error.h"
#include "framework/core/registry.h"
#include "framework/core/strings.h"
#include "framework/model/own_classes.h"
#include "framework/model/serialized.h"

namespace cornu {

template <class Factory>
bool is_registered(const Registry<Factory>& registry, const std::string& name) {
  try {
    registry.resolve(name);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

// Returns the result of make(). When the saved data of a class is incomplete, the error names the
// class.
template <class Make>
auto naming_class(const std::string& name, Make make) {
  try {
    return make();
  } catch (const DataLoss& error) {
    raise<DataLoss>("{}: {}", printable(name), error.what());
  } catch (const NotFound& error) {  // a missing member of its config
    raise<NotFound>("{}: {}", printable(name), error.what());
  }
}

// Returns the result of make(). When it fails because `name` isn't in the registry, the error says
// how to register it.
template <class Factory, class Make>
auto with_registration_advice(const Registry<Factory>& registry, const std::string& name,
                              Make make) {
  try {
    return make();
  } catch (InvalidArgument& error) {
    if (!is_registered(registry, name)) {
      error.add_advice(
          "Register a class or function of your own by register_serializable before loading.");
    }
    throw;
  }
}

// The name by which a function of a file is registered: `name`, for one of Keras's. Throws
// InvalidArgument for a user's function that isn't registered.
template <class T>
std::string function_in_file(const Registry<T>& registry, const Json& json,
                             const std::string& name) {
  return json.is_string() || is_of_keras(json) ? name : own_class(registry, json);
}

// Like make_from_serialized, for objects described by a file.
template <class Factory>
auto make_from_file(const Registry<Factory>& registry, const Json& json) {
  const SerializedObject object = read_serialized(json, registry.kind());
  if (!json.is_string() && !is_of_keras(json)) {
    const std::string own = own_class(registry, json);
    return naming_class(own, [&] { return registry.at(own)(object.config); });
  }
  return naming_class(object.name, [&] {
    return with_registration_advice(registry, object.name,
                                    [&] { return make_from_serialized(registry, json); });
  });
}

}  // namespace cornu
