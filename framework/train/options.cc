// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "framework/core/strings.h"
#include "framework/train/array_source.h"
#include "framework/train/model.h"

namespace cornu {

Verbose::Verbose(const char* text) {
  check<InvalidArgument>(std::strcmp(given_text(text, "verbose"), "auto") == 0,
                         "verbose: expected 0, 1, 2 or \"auto\", got '{}'.", text);
}

int Verbose::resolve() const {
  check<InvalidArgument>(!level_ || (0 <= *level_ && *level_ <= 2),
                         "verbose: expected 0, 1, 2 or \"auto\", got {}.", level_.value_or(0));
  return level_.value_or(1);
}

std::shared_ptr<BatchSource> ValidationData::source(std::optional<int64_t> batch_size,
                                                    std::optional<int64_t> steps) const {
  if (source_) return source_;
  return make_array_source(x_, y_, sample_weight_, {.batch_size = batch_size, .steps = steps});
}

bool ValidationFrequency::includes(int64_t epoch) const {
  if (every_) {
    check<InvalidArgument>(*every_ >= 1, "fit: expected a validation_freq of at least 1, got {}.",
                           *every_);
    return (epoch + 1) % *every_ == 0;
  }
  return std::find(epochs_.begin(), epochs_.end(), epoch + 1) != epochs_.end();
}

}  // namespace cornu
