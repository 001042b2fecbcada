// SPDX-License-Identifier: Apache-2.0
// How to go on where a file names a class of the user's that this program hasn't registered.
#pragma once

#include <string>

#include "framework/core/error.h"
#include "framework/core/registry.h"
#include "framework/core/strings.h"
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

// What make() gives. Where what a file has of a class lacks something, the error names the class.
template <class Make>
auto naming_class(const std::string& name, Make make) {
  try {
    return make();
  } catch (const DataLoss& error) {
    raise<DataLoss>("{}: {}", printable(name), error.what());
  } catch (const NotFound& error) {  // a member of its config
    raise<NotFound>("{}: {}", printable(name), error.what());
  }
}

// What make() gives. Where it fails since `name` isn't in the registry, the error says how to add
// it.
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

// As make_from_serialized, for what a file describes.
template <class Factory>
auto make_from_file(const Registry<Factory>& registry, const Json& json) {
  const std::string name = read_serialized(json, registry.kind()).name;
  return naming_class(name, [&] {
    return with_registration_advice(registry, name,
                                    [&] { return make_from_serialized(registry, json); });
  });
}

}  // namespace cornu
