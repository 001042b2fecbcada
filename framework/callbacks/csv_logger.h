// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct CSVLoggerOptions {
  std::string filename = {};
  std::string separator = ",";  // one character
  bool append = false;          // to an existing file, without another header
};

// Writes a line an epoch to a file (keras.callbacks.CSVLogger): the epoch counted from 0, then the
// metrics of the first epoch sorted by name; "NA" where one is missing. Lines end as Keras ends
// them, with "\r\n". Of the processes of a distributed job the chief alone writes.
// With append, a run that is killed before any callback has kept its state begins anew and writes
// its lines once more. InvalidArgument for another separator, FailedPrecondition when the file
// can't be written.
class CSVLogger : public CallbackHandle {
 public:
  explicit CSVLogger(const CSVLoggerOptions& options);
};

}  // namespace cornu::callbacks
