// SPDX-License-Identifier: Apache-2.0
// Dictionaries of tensors in Keras's configs. Entries of nested dictionaries are named by their
// paths, "bounding_boxes/boxes".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/json.h"

namespace cornu {

// The path of `key` in the dictionary at `path`, which is empty for the outermost one.
std::string path_in(const std::string& path, const std::string& key);

// The nested objects in which `values` have these paths.
Json nested_object(const std::vector<std::string>& paths, const std::vector<Json>& values);
// The other way round: what isn't an object itself in such objects, by path.
std::vector<Json::Member> values_by_path(const Json& nested);
// The values that such objects have at these paths, null where they have none.
Json::Array values_at(const Json& nested, const std::vector<std::string>& paths);

// Keras numbers the entries of nested dictionaries in the order of their sorted keys: the number of
// the entry at this place of `paths`, and the place of the entry with this number. Without paths,
// both are the same.
size_t number_of_entry(const std::vector<std::string>& paths, size_t place);
size_t place_of_entry(const std::vector<std::string>& paths, size_t number);

}  // namespace cornu
