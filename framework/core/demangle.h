// SPDX-License-Identifier: Apache-2.0
// Names of C++ classes, for errors and files.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

namespace cornu {

// "shop::Residual"; the mangled name if the runtime can't tell.
inline std::string demangled(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : type.name();
}

}  // namespace cornu
