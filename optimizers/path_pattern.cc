// SPDX-License-Identifier: Apache-2.0
#include "optimizers/path_pattern.h"

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::optimizers {

PathPattern::PathPattern(const std::string& text, const std::string& who)
    : expression_(std::make_shared<const re2::RE2>(text, re2::RE2::Quiet)) {
  if (expression_->ok()) return;
  raise<InvalidArgument>("{}: expected regular expressions, got '{}': {}.", who, printable(text),
                         printable(expression_->error()));
}

bool PathPattern::matches_part(const std::string& path) const {
  return re2::RE2::PartialMatch(path, *expression_);
}

bool PathPattern::matches_all(const std::string& path) const {
  return re2::RE2::FullMatch(path, *expression_);
}

}  // namespace cornu::optimizers
