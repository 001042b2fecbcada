// SPDX-License-Identifier: Apache-2.0
// Common parts of cache and snapshot, which keep elements in files.
#pragma once

#include <string>

#include "data/node.h"
#include "data/readers/tf_record.h"

namespace cornu::data {

// Keeps the elements of the first complete pass in the given file. `who`: for errors.
NodePtr make_kept_file(NodePtr input, std::string path, Compression compression, const char* who);

// The path where a worker keeps its part of the elements, derived from the path `given` by the
// user.
std::string path_of_part(const std::string& given, const Node& part);

[[noreturn]] void refuse_to_travel(const char* who);

}  // namespace cornu::data
