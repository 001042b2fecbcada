// SPDX-License-Identifier: Apache-2.0
// Files of elements in the format of cache, snapshot and save.
#include "data/readers/element_file.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  const std::string path = fuzz::scratch_file(".elements");
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data, size);
  return fuzz::attempt([&] {
    data::ElementFileReader reader(path, data::Compression::None);
    data::ElementFileReader skipper(path, data::Compression::None);
    data::Element element;
    while (reader.next(element)) {
      fuzz::require(reader.spec().admits(element), "elements are of the kind that the file names");
      fuzz::require(skipper.skip(), "what can be read can be skipped");
    }
    fuzz::require(!skipper.skip(), "both end together");
  });
}
