// SPDX-License-Identifier: Apache-2.0
// .npz files: reads each array as a tensor and as lists of integers.
#include "data/readers/npz.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  static const std::string path = fuzz::scratch_file(".npz");
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data, size);
  return fuzz::attempt([&] {
    const data::NpzReader file(path);
    for (const std::string& name : file.names()) {
      fuzz::attempt([&] { file.read(name); });
      fuzz::attempt([&] { file.read_ragged(name); });
    }
  });
}
