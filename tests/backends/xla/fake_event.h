// SPDX-License-Identifier: Apache-2.0
// What a test gives to fake_plugin.cc as an event.
#pragma once

namespace cornu::test {

struct FakeEvent {
  int code = 0;  // of the error that it ends with; 0: none
  int awaited = 0;
  int destroyed = 0;
  int errors = 0;  // that are there
};

}  // namespace cornu::test
