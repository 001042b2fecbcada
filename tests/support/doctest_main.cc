// SPDX-License-Identifier: Apache-2.0
// doctest's main. With CORNU_TEST_DEVICE=GPU:0 the tests' tensors lie on a device whose memory the
// host can't read.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/support/device/guarded_device.h"

int main(int argc, char** argv) {
  if (const char* device = std::getenv("CORNU_TEST_DEVICE")) {
    cornu::test::use_guarded_device(device);
  }
  return doctest::Context(argc, argv).run();
}
