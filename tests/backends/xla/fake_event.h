// SPDX-License-Identifier: Apache-2.0
// What a test passes to fake_plugin.cc as an event.
#pragma once

namespace cornu::test {

struct FakeEvent {
  int code = 0;  // of the error that the event ends with; 0: none
  int awaited = 0;
  int destroyed = 0;
  int errors = 0;  // that currently exist
};

}  // namespace cornu::test
