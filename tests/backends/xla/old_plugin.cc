// SPDX-License-Identifier: Apache-2.0
// A library with the function table of a PJRT plugin of another major version, but no functions.
#include "framework/backends/xla/pjrt_api.h"

extern "C" const cornu::xla::pjrt::Api* GetPjrtApi() {
  static const cornu::xla::pjrt::Api api = [] {
    cornu::xla::pjrt::Api made{};
    made.head.struct_size = offsetof(cornu::xla::pjrt::Api, functions) + 8 * sizeof(void*);
    made.version.major = 7;
    made.version.minor = 3;
    return made;
  }();
  return &api;
}
