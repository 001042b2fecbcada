// SPDX-License-Identifier: Apache-2.0
// Zip archives: reads all members; uncompressed ones are read in both ways.
#include "framework/io/archive.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  static const std::string path = fuzz::scratch_file(".zip");
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data, size);
  return fuzz::attempt([&] {
    const ArchiveReader archive(path);
    for (const std::string& name : archive.names()) {
      fuzz::attempt([&] {
        const auto bytes = archive.read(name, size_t{1} << 24);
        const auto range = archive.stored_range(name);
        if (!range) return;
        fuzz::require(range->size == bytes.size() &&
                          std::equal(bytes.begin(), bytes.end(),
                                     fuzz::bytes_of(fuzz::text_of(data, size)).begin() +
                                         static_cast<std::ptrdiff_t>(range->offset)),
                      "a stored member is where it is said to be");
      });
    }
  });
}
