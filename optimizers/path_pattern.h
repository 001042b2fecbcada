// SPDX-License-Identifier: Apache-2.0
// Regular expressions that choose variables by their paths. Internal to optimizers.
#pragma once

#include <regex>
#include <string>

namespace cornu::optimizers {

// An ECMAScript regular expression, as in Keras's Python but for rare forms.
class PathPattern {
 public:
  // Throws InvalidArgument, whose text begins with `who`, for a text that is no regular expression,
  // or has more than 1,000 characters: the standard library recurses into them.
  PathPattern(const std::string& text, const std::string& who);

  // Whether it matches a part of the path, or all of it. Throws InvalidArgument for a path of more
  // than 1,000 characters.
  bool matches_part(const std::string& path) const;
  bool matches_all(const std::string& path) const;

 private:
  std::regex expression_;
};

}  // namespace cornu::optimizers
