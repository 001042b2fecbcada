// SPDX-License-Identifier: Apache-2.0
// IDX files, plain and gzip-compressed.
#include "data/readers/idx.h"

#include <vector>

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  const auto bytes = fuzz::bytes_of(fuzz::text_of(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  return fuzz::attempt([&] { data::parse_idx(file, "file"); });
}
