// SPDX-License-Identifier: Apache-2.0
// The cases in the golden files.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "framework/core/error.h"
#include "framework/core/json.h"

namespace cornu::test {

// Returns all cases of one file, e.g. "progbar".
inline const Json& golden_cases(const std::string& group) {
  static std::map<std::string, Json> loaded;  // kept: callers hold references
  if (const auto it = loaded.find(group); it != loaded.end()) return it->second;
  const char* folder = std::getenv("CORNU_TEST_DATA");
  check<NotFound>(folder != nullptr, "Set CORNU_TEST_DATA to tests/golden/data.");
  std::ifstream file(std::string(folder) + "/" + group + ".json", std::ios::binary);
  check<NotFound>(file.good(), "no golden file {}/{}.json", folder, group);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return loaded[group] = Json::parse(text).at("cases");
}

inline const Json& golden_case(const Json& cases, const std::string& name) {
  for (const Json& item : cases.as_array()) {
    if (item.at("name").as_string() == name) return item;
  }
  raise<NotFound>("no golden case {}", name);
}

}  // namespace cornu::test
