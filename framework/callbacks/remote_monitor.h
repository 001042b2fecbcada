// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct RemoteMonitorOptions {
  std::string root = "http://localhost:9000";
  std::string path = "/publish/epoch/end/";
  std::string field = "data";  // the form field with the JSON
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool send_as_json = false;  // send JSON as the whole body instead of a form
};

// Posts the epoch (counted from 0) and its logs as JSON to `root` + `path` at the end of each epoch
// (keras.callbacks.RemoteMonitor); with several workers, only the first one does. fit waits up to
// 30 seconds for a response, and continues whatever it is; a missing response logs a warning.
// Throws InvalidArgument for headers with several lines.
class RemoteMonitor final : public CallbackHandle {
 public:
  explicit RemoteMonitor(const RemoteMonitorOptions& options = {});
};

}  // namespace cornu::callbacks
