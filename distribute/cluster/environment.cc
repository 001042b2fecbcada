// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/environment.h"

#include <charconv>
#include <cstdlib>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::distribute {

std::optional<std::string> process_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<int64_t> read_number(const ReadVariable& read, const std::string& name,
                                   const std::string& where, int64_t least, int64_t most) {
  const std::optional<std::string> text = read(name);
  if (!text) return std::nullopt;
  int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  check<InvalidArgument>(error == std::errc() && rest == end && number >= least && number <= most,
                         "{}: expected a number from {} to {} in the environment variable {}, got "
                         "'{}'.",
                         where, least, most, name, printable(*text));
  return number;
}

std::string require_text(const ReadVariable& read, const std::string& name,
                         const std::string& where) {
  const std::optional<std::string> text = read(name);
  check<FailedPrecondition>(text && !text->empty(),
                            "{}: the environment variable {} must be set, and isn't.", where, name);
  return *text;
}

int64_t require_number(const ReadVariable& read, const std::string& name, const std::string& where,
                       int64_t least, int64_t most) {
  require_text(read, name, where);
  return *read_number(read, name, where, least, most);
}

}  // namespace cornu::distribute
