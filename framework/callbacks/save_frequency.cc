// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/save_frequency.h"

#include <cstring>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::callbacks {

SaveFrequency::SaveFrequency(const char* text) {
  check<InvalidArgument>(std::strcmp(given_text(text, "save_freq"), "epoch") == 0,
                         "save_freq: expected \"epoch\" or a number of batches, got \"{}\".", text);
}

SaveFrequency::SaveFrequency(int64_t batches) : batches_(batches) {
  check<InvalidArgument>(batches >= 1,
                         "save_freq: expected \"epoch\" or a number of batches, got {}.", batches);
}

bool BatchesSinceSave::is_due(int64_t batch, int64_t every) {
  const bool new_epoch = !last || batch <= *last;
  count += new_epoch ? batch + 1 : batch - *last;
  last = batch;
  if (count < every) return false;
  count = 0;
  return true;
}

}  // namespace cornu::callbacks
