// SPDX-License-Identifier: Apache-2.0
#include "framework/io/checked_path.h"

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu {

const std::string& checked_path(const std::string& path) {
  check<InvalidArgument>(path.find('\0') == std::string::npos,
                         "'{}': expected a path without zero bytes, which would end it. Choose "
                         "another name.",
                         printable(path));
  return path;
}

}  // namespace cornu
