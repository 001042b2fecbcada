// SPDX-License-Identifier: Apache-2.0
// Made-up environment variables of a process.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "distribute/cluster/environment.h"

namespace cornu::test {

using Variables = std::map<std::string, std::string>;

inline distribute::ReadVariable reads(Variables variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

// Returns `variables` with some of them replaced.
inline Variables with(Variables variables, const Variables& others) {
  for (const auto& [name, value] : others) variables[name] = value;
  return variables;
}

inline Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

}  // namespace cornu::test
