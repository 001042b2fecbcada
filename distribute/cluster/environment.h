// SPDX-License-Identifier: Apache-2.0
// The environment variables that describe a process's cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cornu::distribute {

// Returns a variable's value by name; nullopt when it isn't set.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

// Reads a variable of this process.
std::optional<std::string> process_variable(const std::string& name);

// Reads a number from `least` to `most`; nullopt when the variable isn't set. Throws
// InvalidArgument, with a message starting with `where`, for any other value.
std::optional<int64_t> read_number(const ReadVariable& read, const std::string& name,
                                   const std::string& where, int64_t least = 0,
                                   int64_t most = INT32_MAX);
// Throws FailedPrecondition when the variable isn't set.
int64_t require_number(const ReadVariable& read, const std::string& name, const std::string& where,
                       int64_t least = 0, int64_t most = INT32_MAX);
std::string require_text(const ReadVariable& read, const std::string& name,
                         const std::string& where);

}  // namespace cornu::distribute
