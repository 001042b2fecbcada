// SPDX-License-Identifier: Apache-2.0
// The environment variables that tell a process of its cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cornu::distribute {

// A variable's value by its name; none where it isn't set.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

// Of this process.
std::optional<std::string> process_variable(const std::string& name);

// A number from `least` to `most`; none where the variable isn't set. InvalidArgument, beginning
// with `where`, where it is something else.
std::optional<int64_t> read_number(const ReadVariable& read, const std::string& name,
                                   const std::string& where, int64_t least = 0,
                                   int64_t most = INT32_MAX);
// FailedPrecondition where it isn't set.
int64_t require_number(const ReadVariable& read, const std::string& name, const std::string& where,
                       int64_t least = 0, int64_t most = INT32_MAX);
std::string require_text(const ReadVariable& read, const std::string& name,
                         const std::string& where);

}  // namespace cornu::distribute
