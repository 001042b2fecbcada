// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are loaded on first use, so that programs which don't need them start
// without them.
#pragma once

#include <initializer_list>
#include <string>

namespace cornu {

// A loaded library; it stays loaded until the process exits.
class DynamicLibrary {
 public:
  // Loads the first of `names` that is installed. Throws Unavailable, naming them, `purpose` and
  // the Debian `package` to install, when none is.
  DynamicLibrary(std::initializer_list<const char*> names, const std::string& purpose,
                 const std::string& package);

  // The library's function `name`, of type F*. Throws Unavailable when it doesn't exist.
  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace cornu
