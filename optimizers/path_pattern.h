// SPDX-License-Identifier: Apache-2.0
// Regular expressions that choose variables by their paths. Internal to optimizers.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>

namespace cornu::optimizers {

// A regular expression in RE2's syntax: Python's, as in Keras, without look-around and back
// references, so that matching takes time proportional to the path.
class PathPattern {
 public:
  // Throws InvalidArgument, whose text begins with `who`, for a text that is no such expression.
  PathPattern(const std::string& text, const std::string& who);

  bool matches_part(const std::string& path) const;
  bool matches_all(const std::string& path) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace cornu::optimizers
