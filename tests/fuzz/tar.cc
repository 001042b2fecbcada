// SPDX-License-Identifier: Apache-2.0
// Tar archives, plain and gzip-compressed: reads every second file and skips the others.
#include "data/readers/tar.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  const auto bytes = fuzz::bytes_of(fuzz::text_of(data, size));
  return fuzz::attempt([&] {
    data::TarReader tar(bytes, "file");
    data::TarEntry entry;
    for (int i = 0; tar.next(entry); ++i) {
      fuzz::require(!entry.name.starts_with('/'), "a member's name is relative");
      if (i % 2 == 0 && entry.kind == data::TarKind::File) {
        fuzz::require(tar.read()->bytes() == entry.size, "a member has the size it has");
      }
    }
  });
}
