// SPDX-License-Identifier: Apache-2.0
#include "optimizers/path_pattern.h"

#include "framework/core/error.h"

namespace cornu::optimizers {
namespace {

constexpr size_t kMaxSize = 1000;  // of patterns and paths, in bytes

const std::string& short_enough(const std::string& path) {
  check<InvalidArgument>(path.size() <= kMaxSize,
                         "Optimizer: expected a path of at most {} characters to compare with a "
                         "regular expression, got one of {}, '{}…'.",
                         kMaxSize, path.size(), path.substr(0, 50));
  return path;
}

}  // namespace

PathPattern::PathPattern(const std::string& text, const std::string& who) {
  check<InvalidArgument>(text.size() <= kMaxSize,
                         "{}: expected regular expressions of at most {} characters, got one of "
                         "{}, '{}…'.",
                         who, kMaxSize, text.size(), text.substr(0, 50));
  try {
    expression_.assign(text);
  } catch (const std::regex_error&) {
    raise<InvalidArgument>("{}: expected regular expressions, got '{}'.", who, text);
  }
}

bool PathPattern::matches_part(const std::string& path) const {
  return std::regex_search(short_enough(path), expression_);
}

bool PathPattern::matches_all(const std::string& path) const {
  return std::regex_match(short_enough(path), expression_);
}

}  // namespace cornu::optimizers
