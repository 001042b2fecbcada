// SPDX-License-Identifier: Apache-2.0
// Zip archives: all that one holds is read.
#include "framework/io/archive.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  static const std::string path = fuzz::scratch_file(".zip");
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data, size);
  return fuzz::attempt([&] {
    const ArchiveReader archive(path);
    for (const std::string& name : archive.names()) {
      fuzz::attempt([&] { archive.read(name, size_t{1} << 24); });
    }
  });
}
