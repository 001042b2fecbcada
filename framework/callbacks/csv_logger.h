// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct CSVLoggerOptions {
  std::string filename = {};
  std::string separator = ",";  // one character
  bool append = false;          // to an existing file, without repeating the header
};

// Writes a line per epoch to a file (keras.callbacks.CSVLogger): the epoch, starting with 0,
// followed by the metrics of the first epoch, sorted by name; missing values are "NA". As in Keras,
// lines end with "\r\n". In a distributed job, only the chief writes the file. With append, a fit
// that starts over writes its lines again: one that was killed before any callback had saved its
// state, or that a program makes again after it was stopped in a later one. Throws InvalidArgument
// for an invalid separator, FailedPrecondition when the file can't be written.
class CSVLogger final : public CallbackHandle {
 public:
  explicit CSVLogger(const CSVLoggerOptions& options);
};

}  // namespace cornu::callbacks
