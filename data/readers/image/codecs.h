// SPDX-License-Identifier: Apache-2.0
// The formats of pictures, each in a file of its own, and what they share.
#pragma once

#include <string>
#include <vector>

#include "data/readers/image/decode_image.h"

namespace cornu::data::codecs {

// A file to be decoded.
struct Picture {
  std::span<const std::byte> bytes;
  const DecodeImageOptions& options;
  const std::string& name;
};

// uint8 (height, width, channels) with the channels that are asked for, or others that
// with_channels makes those of.
Tensor decode_jpeg(const Picture& picture);
Tensor decode_png(const Picture& picture);
Tensor decode_bmp(const Picture& picture);
// (frames, height, width, 3), one frame unless all are wanted.
Tensor decode_gif(const Picture& picture);

// Refuses sizes of 0, and more than max_pixels.
void check_size(const Picture& picture, uint64_t width, uint64_t height, uint64_t frames = 1);

// DataLoss: "name: not a whole PNG file: what".
[[noreturn]] void raise_broken(const Picture& picture, const char* format, const std::string& what);

// The same of a file that is too small for the size that it claims.
[[noreturn]] void raise_too_small(const Picture& picture, const char* format, uint64_t width,
                                  uint64_t height);

// (…, channels) of an image with 1 to 4 channels; 0: as it is. Grey is 0.299 red + 0.587 green +
// 0.114 blue, opacity 255 where there was none.
Tensor with_channels(const Tensor& image, int64_t channels);

// What ResizeImageOptions::interpolation may be.
const std::vector<std::string>& interpolations();

}  // namespace cornu::data::codecs
