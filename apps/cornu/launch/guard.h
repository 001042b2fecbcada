// SPDX-License-Identifier: Apache-2.0
// A process that ends tasks whose launcher was killed.
#pragma once

#include <sys/types.h>

#include "framework/io/file_descriptor.h"

namespace apps {

// Tasks die with the launcher (PR_SET_PDEATHSIG), but the processes they have started don't. A
// small separate process therefore waits for the launcher's end, then kills the remaining groups.
class Guard {
 public:
  // Forks: must be constructed before there are threads. Throws LaunchError.
  Guard();
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void watch(pid_t group);
  void forget(pid_t group);

 private:
  void tell(pid_t group);

  cornu::FileDescriptor pipe_;
  pid_t process_ = -1;
};

}  // namespace apps
