// SPDX-License-Identifier: Apache-2.0
// Classes and functions of a program's own in files, as opposed to Keras's.
#pragma once

#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/registry.h"

namespace cornu {

// Whether a serialized form is of a class or function of Keras's, by its module, rather than of a
// user's. Forms without a module (HDF5 files have none) are Keras's unless they say by what name
// the class is registered.
bool is_of_keras(const Json& json);

// The "module" of a user's class in a serialized form: where the package of its registered name is
// the path of a Python module ("package.module>Name"), that module, so that Keras finds the class
// there; otherwise null.
Json module_of_own(const std::string& class_name);

// The members of a layer's serialized form that say of what class it is.
struct ClassMembers {
  Json module;
  std::string class_name;
  Json registered_name;  // null for classes that Keras exports
};
// `module` is the layer's own word, null for a user's class.
ClassMembers class_members(const Json& module, const std::string& class_name);

// A user's class or function in a file.
struct OwnClass {
  std::string name;    // "package>Name" if the file has it, else the name in the module
  std::string module;  // "" if the file has none
  std::vector<std::string> registered;  // by what names the program may have registered it
};
// Requires that `json` isn't of Keras. Throws InvalidArgument, naming `kind`, without a class name.
OwnClass read_own_class(const Json& json, const std::string& kind);

namespace internal {

[[noreturn]] void raise_unregistered(const OwnClass& own, const std::string& kind,
                                     const std::vector<std::string>& known);

}  // namespace internal

// Whether the program has registered this name.
template <class T>
bool is_own(const Registry<T>& registry, const std::string& name) {
  return registry.find(name) && !registry.is_builtin(registry.resolve(name));
}

// The name by which the program has registered a user's class, which is never one of Keras's.
// Throws InvalidArgument, with the name to register it by, if it hasn't. Reference:
// _retrieve_class_or_fn in keras/src/saving/serialization_lib.py.
template <class T>
std::string own_class(const Registry<T>& registry, const Json& json) {
  const OwnClass own = read_own_class(json, registry.kind());
  for (const std::string& name : own.registered) {
    if (is_own(registry, name)) return name;
  }
  internal::raise_unregistered(own, registry.kind(), registry.names());
}

}  // namespace cornu
