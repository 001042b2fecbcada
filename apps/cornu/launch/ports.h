// SPDX-License-Identifier: Apache-2.0
// A port of 127.0.0.1 for each task, which nobody else can take.
#pragma once

#include "framework/io/file_descriptor.h"

namespace apps {

// Has a port for as long as it lives: by a socket that is bound to it and never listens. Other
// sockets can be bound to it besides, with SO_REUSEADDR, while none of them listens.
class ReservedPort {
 public:
  ReservedPort();  // of none
  // A port that is free. Throws LaunchError.
  static ReservedPort reserve();

  int number() const { return number_; }
  // A socket for one life of the task, bound and not listening. When that task has ended and the
  // socket is closed, peers are refused until the next one listens. (With one socket for all lives,
  // they would wait in its queue for nobody.) Throws LaunchError while another one listens.
  cornu::FileDescriptor socket() const;
  // Whether nobody listens.
  bool is_free() const;

 private:
  cornu::FileDescriptor reservation_;
  int number_ = 0;
};

}  // namespace apps
