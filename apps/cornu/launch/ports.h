// SPDX-License-Identifier: Apache-2.0
// A port of 127.0.0.1 for each task that nobody else can take.
#pragma once

#include "framework/io/file_descriptor.h"

namespace apps {

// Reserves a port for the lifetime of the object, with a socket that is bound to it but never
// listens. Other sockets can also be bound to it, with SO_REUSEADDR, while none of them listens.
class ReservedPort {
 public:
  ReservedPort();  // without a port
  // Reserves a free port. Throws LaunchError.
  static ReservedPort reserve();

  int number() const { return number_; }
  // Returns a bound socket that isn't listening yet, for one life of the task. When that task has
  // ended and the socket is closed, peers are refused until the next task listens. (With a single
  // socket for all lives, they would wait in its queue for nobody.) Throws LaunchError while
  // another socket listens.
  cornu::FileDescriptor socket() const;
  // Whether no socket listens on the port.
  bool is_free() const;

 private:
  cornu::FileDescriptor reservation_;
  int number_ = 0;
};

}  // namespace apps
