// SPDX-License-Identifier: Apache-2.0
// How workers tell the launcher that they begin to compute together.
#pragma once

#include <string>

#include "framework/io/file_descriptor.h"

namespace apps {

// A pipe that other processes write into, by its name.
class BegunFile {
 public:
  // Throws LaunchError.
  BegunFile();
  // That they open, as long as this process is there.
  std::string name() const;
  // Can be read when somebody has written.
  int file() const { return read_.get(); }
  // Whether somebody has written since the last call.
  bool take();

 private:
  cornu::FileDescriptor read_;
  cornu::FileDescriptor write_;
};

}  // namespace apps
