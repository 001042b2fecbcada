// SPDX-License-Identifier: Apache-2.0
// JPEG, PNG, BMP and GIF files as arrays of pixels, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::data {

// More pixels than this are refused unless an option allows them (Pillow's limit).
inline constexpr int64_t kMostPixels = 178'956'970;

struct DecodeImageOptions {
  // 1: grey, 3: red, green, blue, 4: with opacity; 0: what the file has (2: grey with opacity).
  int64_t channels = 0;
  // GIFs are (frames, height, width, channels); otherwise their first frame alone is read.
  bool expand_animations = true;
  // Of JPEGs: every 1, 2, 4 or 8 pixels of each axis become one, which is faster than resizing, but
  // gives other pixels than that (tf.io.decode_jpeg's ratio).
  int64_t dct_scale = 1;
  bool fancy_upscaling = true;              // colors of JPEGs are interpolated
  std::string dct_method = "INTEGER_FAST";  // TensorFlow's default, or "INTEGER_ACCURATE"
  int64_t max_pixels = kMostPixels;         // width * height (* frames)
};

// The picture in `file`, uint8 (height, width, channels), whatever of the formats it is in, with
// the values that TensorFlow gives: 16 bits become their upper 8, transparent colors become an
// opacity where that is asked for and are opaque where not, CMYK becomes red, green and blue.
// Unlike there, BMPs and GIFs may be asked for in any number of channels, JPEGs with an opacity
// (255), BMPs of 8 bits or less are given in the colors of their palette, and PNGs of fewer than 8
// bits without opacities get 255 (TensorFlow: the largest number of as many bits).
//
// `name` is for messages. DataLoss for what isn't a whole well-formed picture: memory is taken once
// a file is known to be able to hold what its header promises. ResourceExhausted for more than
// max_pixels. Unimplemented for rare kinds of BMPs. InvalidArgument for options. Thread-safe.
// Reference: tf.io.decode_image.
Tensor decode_image(std::span<const std::byte> file, const DecodeImageOptions& options = {},
                    const std::string& name = "image");

struct EncodeJpegOptions {
  int64_t quality = 95;  // 0 to 100
  bool progressive = false;
  bool optimize_size = false;       // smaller, slower, the same pixels
  bool chroma_downsampling = true;  // colors at half the resolution
};

// `image`: uint8 (height, width, 1 or 3) of up to 65,500 pixels a side (tf.io.encode_jpeg).
std::vector<std::byte> encode_jpeg(const Tensor& image, const EncodeJpegOptions& options = {});

struct EncodePngOptions {
  int64_t compression = -1;  // 0: none, 9: best, -1: zlib's default
};

// `image`: uint8 (height, width, 1 to 4) (tf.io.encode_png).
std::vector<std::byte> encode_png(const Tensor& image, const EncodePngOptions& options = {});

}  // namespace cornu::data
