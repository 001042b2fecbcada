// SPDX-License-Identifier: Apache-2.0
// Keras's test_split option. Internal to the data sets.
#pragma once

#include <cstdint>

#include "framework/core/error.h"

namespace cornu::datasets {

// Throws InvalidArgument, naming `who`, when it isn't in [0, 1).
inline void check_test_split(double test_split, const char* who) {
  check<InvalidArgument>(test_split >= 0 && test_split < 1,
                         "{}: expected a test_split of 0 to 1 (exclusive of 1), got {}.", who,
                         test_split);
}

// How many of `count` rows Keras uses for training.
inline int64_t training_rows(int64_t count, double test_split) {
  return static_cast<int64_t>(static_cast<double>(count) * (1 - test_split));
}

}  // namespace cornu::datasets
