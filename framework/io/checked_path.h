// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cornu {

// Returns the path of a file to open. Throws InvalidArgument when it has a zero byte: the system
// would end it there, and open another file.
const std::string& checked_path(const std::string& path);

}  // namespace cornu
