// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/save_frequency.h"

#include <cstring>

#include "framework/core/error.h"

namespace cornu::callbacks {

SaveFrequency::SaveFrequency(const char* text) {
  check<InvalidArgument>(text && std::strcmp(text, "epoch") == 0,
                         "save_freq: expected \"epoch\" or a number of batches, got \"{}\".",
                         text ? text : "");
}

SaveFrequency::SaveFrequency(int64_t batches) : batches_(batches) {
  check<InvalidArgument>(batches >= 1,
                         "save_freq: expected \"epoch\" or a number of batches, got {}.", batches);
}

}  // namespace cornu::callbacks
