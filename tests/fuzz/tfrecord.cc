// SPDX-License-Identifier: Apache-2.0
// TFRecord files, plain and compressed: each record is read by one reader and skipped by another.
#include "data/readers/tf_record.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  if (size == 0) return 0;
  const std::string path = fuzz::scratch_file(".tfrecord");
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data + 1, size - 1);
  const auto compression = static_cast<data::Compression>(data[0] % 3);
  return fuzz::attempt([&] {
    data::TFRecordReader reader(path, compression, 64);
    data::TFRecordReader skipper(path, compression, 64);
    std::string record;
    while (reader.next(record)) fuzz::require(skipper.skip(), "what can be read can be skipped");
    fuzz::require(!skipper.skip(), "both end together");
  });
}
