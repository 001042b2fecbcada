// SPDX-License-Identifier: Apache-2.0
// Decoders for the image formats, each in its own file, and common functions.
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

// uint8 (height, width, channels), with the requested channels or others that with_channels can
// convert.
Tensor decode_jpeg(const Picture& picture);
Tensor decode_png(const Picture& picture);
Tensor decode_bmp(const Picture& picture);
// (frames, height, width, 3), a single frame unless all are requested.
Tensor decode_gif(const Picture& picture);

// Rejects sizes of 0, and more than max_pixels.
void check_size(const Picture& picture, uint64_t width, uint64_t height, uint64_t frames = 1);

// Throws DataLoss: "name: not a whole PNG file: what".
[[noreturn]] void raise_broken(const Picture& picture, const char* format, const std::string& what);

// The same for a file that is too small for the size in its header.
[[noreturn]] void raise_too_small(const Picture& picture, const char* format, uint64_t width,
                                  uint64_t height);

// Converts an image with 1 to 4 channels to (…, channels); 0 keeps them. Gray is 0.299 red + 0.587
// green + 0.114 blue; a new alpha channel is 255.
Tensor with_channels(const Tensor& image, int64_t channels);

// The values of ResizeImageOptions::interpolation.
const std::vector<std::string>& interpolations();

}  // namespace cornu::data::codecs
