// SPDX-License-Identifier: Apache-2.0
// Images in all formats, with all numbers of channels.
#include "data/readers/image/decode_image.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  if (size == 0) return 0;
  constexpr int64_t kChannels[] = {0, 1, 3, 4};
  // The last byte selects the options.
  const uint8_t how = data[size - 1];
  const data::DecodeImageOptions options{.channels = kChannels[how & 3],
                                         .expand_animations = (how & 4) != 0,
                                         .dct_scale = int64_t{1} << (how >> 3 & 3),
                                         .max_pixels = 1 << 18};
  const auto file = fuzz::bytes_of(fuzz::text_of(data, size));
  return fuzz::attempt([&] { data::decode_image(file, options, "file"); });
}
