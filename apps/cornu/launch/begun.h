// SPDX-License-Identifier: Apache-2.0
// How workers notify the launcher that they begin to compute together.
#pragma once

#include <string>

#include "framework/io/file_descriptor.h"

namespace apps {

// A named pipe that other processes write to.
class BegunFile {
 public:
  // Throws LaunchError.
  BegunFile();
  // The path to open, valid as long as this process is alive.
  std::string name() const;
  // Becomes readable when somebody has written.
  int file() const { return read_.get(); }
  // Whether somebody has written since the last call.
  bool take();

 private:
  cornu::FileDescriptor read_;
  cornu::FileDescriptor write_;
};

}  // namespace apps
