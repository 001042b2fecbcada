// SPDX-License-Identifier: Apache-2.0
// How to go on where a file names a class of the user's that this program hasn't registered.
#pragma once

#include <string>

#include "framework/core/error.h"
#include "framework/core/registry.h"
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
  return with_registration_advice(registry, read_serialized(json, registry.kind()).name,
                                  [&] { return make_from_serialized(registry, json); });
}

}  // namespace cornu
