// SPDX-License-Identifier: Apache-2.0
// doctest's main.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/support/device/test_device.h"

int main(int argc, char** argv) {
  cornu::test::use_device_of_environment();
  return doctest::Context(argc, argv).run();
}
