// SPDX-License-Identifier: Apache-2.0
#include "framework/io/dynamic_library.h"

#include <dlfcn.h>

#include <vector>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu {

DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> names, const std::string& purpose,
                               const std::string& package) {
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
      name_ = name;
      return;
    }
  }
  raise<Unavailable>("{} needs {}, which was not found. Install the Debian package {}.", purpose,
                     join(std::vector<std::string>(names.begin(), names.end()), " or "), package);
}

void* DynamicLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  check<Unavailable>(address != nullptr, "{} has no function {}: its version is not supported.",
                     name_, name);
  return address;
}

}  // namespace cornu
