// SPDX-License-Identifier: Apache-2.0
// WAV files.
#include "data/readers/wav.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  const auto bytes = fuzz::bytes_of(fuzz::text_of(data, size));
  return fuzz::attempt([&] { data::decode_wav(bytes, "file"); });
}
