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
  std::string field = "data";  // of the form that holds the JSON
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool send_as_json = false;  // JSON as the whole body, without a form
};

// Posts an epoch's number, from 0, and logs as JSON to `root` + `path` when the epoch ends
// (keras.callbacks.RemoteMonitor); of several workers, the first does. fit waits for the answer, up
// to 30 seconds, and goes on whatever it is: where there is none, that is a warning.
// InvalidArgument for headers of several lines.
class RemoteMonitor : public CallbackHandle {
 public:
  explicit RemoteMonitor(const RemoteMonitorOptions& options = {});
};

}  // namespace cornu::callbacks
